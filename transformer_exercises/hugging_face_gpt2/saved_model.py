"""Read the folder of a saved GPT-2 as bytes: its configuration and its tensors, as `transformers` would take them.

A student's code wrote these files. So no library loads them here: sizes are bounded, the text is parsed as JSON, and
the numbers are read as numbers. Whatever is wrong with them is raised as `Wrong`, with a sentence.
"""

import json
import math
import re
from typing import Any

import torch

from autograder.spec import Reply, Wrong

CONFIG, WEIGHTS = FILES = ("config.json", "model.safetensors")
IGNORED = "generation_config.json"  # which `save_pretrained` writes, too
MOST_BYTES = 400_000  # of a file; the largest model of the checks has 60,000
MOST_TENSORS, MOST_DIMENSIONS, MOST_NUMBER, MOST_TEXT = 1000, 8, 2**40, 60
DTYPES = {  # the names that safetensors gives them
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}

DEFAULTS: dict[str, Any] = {  # what `transformers` takes for a setting that is missing: the published model's
    "vocab_size": 50257,
    "n_positions": 1024,
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_inner": None,
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "tie_word_embeddings": True,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
}
OTHER_NAMES = {  # under which `transformers` finds a setting, too
    "hidden_size": "n_embd",
    "max_position_embeddings": "n_positions",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
}
SAME_ACTIVATION = {  # other names of one function
    **dict.fromkeys(("gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "gelu_python_tanh"), "gelu_new"),
    "gelu_python": "gelu",
}
FULL_PRECISION = (None, "float32", "float64")
KINDS = {int: "a whole number above 0", float: "a number with a point", bool: "true or false", str: "a text"}

# Run in the student's process. The folder's parent is made for one call and removed after it.
PLACE = re.compile(r"[^'\"\s]*saved-\w+[\\/]+gpt2")  # as errors name it: another one in each run
FOLDER = """
def make(files, as_path=False):
    import os, pathlib, tempfile

    folder = os.path.join(tempfile.mkdtemp(prefix="saved-"), "gpt2")
    if files is not None:
        os.mkdir(folder)
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
    return pathlib.Path(folder) if as_path else folder

def read(folder, names, most):
    import os, stat

    found = {}
    for name in names:
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            about = os.lstat(path)
            found[name] = "no file" if not stat.S_ISREG(about.st_mode) else about.st_size
            if stat.S_ISREG(about.st_mode) and about.st_size <= most:
                with open(path, "rb") as file:
                    data = file.read(most)
                empty = torch.empty(0, dtype=torch.uint8)
                found[name] = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else empty
    others = sorted(set(os.listdir(folder)) - set(names)) if os.path.isdir(folder) else []
    return {"found": found, "others": [name[:60] for name in others[:20]]}

def remove(folder):
    import os, shutil

    shutil.rmtree(os.path.dirname(folder), ignore_errors=True)
"""


def shown(value: object) -> str:
    """Return a value of the student's as a sentence may show it."""
    if value is not None and not isinstance(value, (str, int, float)):
        return f"a {type(value).__name__}"
    plain = ascii(value[:MOST_TEXT])[1:-1] if isinstance(value, str) else ascii(value)
    return plain if len(plain) <= MOST_TEXT else f"{plain[:MOST_TEXT]}…"


def content(reply: Any, name: str) -> bytes:
    """Return the bytes of a file that was read in the student's process."""
    found = reply.get("found") if isinstance(reply, dict) else None
    held = found.get(name) if isinstance(found, dict) else None
    if held is None:
        raise Wrong(f"There is no file `{name}` in the folder afterwards.", "file_missing")
    if type(held) is int and MOST_BYTES < held < MOST_NUMBER:
        raise Wrong(f"`{name}` has {held:,} bytes: far too many for a model this small.")
    if not isinstance(held, torch.Tensor) or held.dtype != torch.uint8 or held.dim() != 1 or held.is_meta:
        raise Wrong(f"`{name}` is not a plain file (a link, or a folder?).")
    if len(held) > MOST_BYTES:
        raise Wrong(f"`{name}` has {len(held):,} bytes: far too many for a model this small.")
    return held.numpy().tobytes()


def others(reply: Any) -> list[str]:
    """Return the names of the other files in the folder, as a sentence may show them."""
    names = reply.get("others") if isinstance(reply, dict) else None
    return [shown(name) for name in names if name != IGNORED] if isinstance(names, list) else []


def settings(data: bytes) -> Reply:
    """Return the settings that decide the logits, as `transformers` understands a config.json.

    Raise `Wrong` if it cannot be read, or has a value of a type that `transformers` refuses.
    """
    try:
        whole = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Wrong("`config.json` is not JSON: `json.dumps` writes it.", "not_json") from None
    if not isinstance(whole, dict):
        raise Wrong("`config.json` should hold one JSON object: names and values in braces.", "not_json")
    given = whole | {own: whole[name] for name, own in OTHER_NAMES.items() if name in whole}  # these come first
    found = {name: given.get(name, default) for name, default in DEFAULTS.items()}
    for name, value in found.items():
        kind = int if name == "n_inner" and value is not None else type(DEFAULTS[name])
        if type(value) is not kind or (kind is int and not 0 < value < MOST_NUMBER):
            got = f'"{shown(value)}"' if isinstance(value, str) else shown(value)
            raise Wrong(f"`{name}` in `config.json` should be {KINDS[kind]}, and is {got}.")
    width = given.get("dtype", given.get("torch_dtype"))
    if width not in FULL_PRECISION:
        found["dtype"] = shown(width)
    activation = shown(found["activation_function"])
    found["activation_function"] = SAME_ACTIVATION.get(activation, activation)
    if found["n_inner"] is None:
        found["n_inner"] = 4 * found["n_embd"]
    return found


def tensors(data: bytes) -> dict[str, torch.Tensor]:
    """Return the tensors of a safetensors file by name. Raise `Wrong` if its format is not kept.

    It has eight bytes with the length of the header, the header (a JSON object with each tensor's dtype, shape and
    place), and the numbers without gaps.
    """
    if data[:2] in (b"PK", b"\x80\x02") and data[8:9] != b"{":
        raise Wrong("`model.safetensors` is a pickle, as `torch.save` writes it, and can run code.", "pickled")
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise _unreadable("its header is cut off")
    try:
        header = json.loads(data[8 : 8 + size].decode("utf-8"), object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError):
        raise _unreadable("its header is not JSON") from None
    if not isinstance(header, dict) or len(header) > MOST_TENSORS:
        raise _unreadable("its header is not an object, or too large a one")
    header.pop("__metadata__", None)
    numbers, end = data[8 + size :], 0
    found = {}
    places = {name: _place(name, about) for name, about in header.items()}
    for name, (dtype, shape, start, stop) in sorted(places.items(), key=lambda item: item[1][2:]):
        if start != end or stop > len(numbers):
            raise _unreadable(f"the numbers of `{shown(name)}` do not follow those before, or are cut off")
        if stop - start != math.prod(shape) * torch.empty((), dtype=dtype).element_size():
            raise _unreadable(f"the numbers of `{shown(name)}` do not fit its shape")
        found[name], end = _tensor(numbers[start:stop], dtype, shape), stop
    if end != len(numbers):
        raise _unreadable("there are numbers after the last tensor")
    return found


def _place(name: str, about: Any) -> tuple[torch.dtype, list[int], int, int]:
    """Return the dtype, the shape, and the first and last byte that a header gives for a tensor."""
    about = about if isinstance(about, dict) else {}
    kind, shape, offsets = (about.get(part) for part in ("dtype", "shape", "data_offsets"))
    if not isinstance(kind, str) or kind not in DTYPES:
        raise _unreadable(f"`{shown(name)}` has no dtype that PyTorch knows")
    if not _sizes(shape) or len(shape) > MOST_DIMENSIONS or not _sizes(offsets) or len(offsets) != 2:
        raise _unreadable(f"`{shown(name)}` has no shape or no place")
    if math.prod(size or 1 for size in shape) > MOST_NUMBER:  # torch cannot count it, even if one size is zero
        raise _unreadable(f"`{shown(name)}` has too large a shape")
    return DTYPES[kind], shape, *offsets


def _sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and 0 <= size < MOST_NUMBER for size in value)


def _tensor(data: bytes, dtype: torch.dtype, shape: list[int]) -> torch.Tensor:
    if not data:
        flat = torch.empty(0, dtype=dtype)
    else:
        raw = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        flat = raw != 0 if dtype == torch.bool else raw.view(dtype)  # a byte of 2 is no valid bool
    tensor = flat.reshape(shape)
    tensor.was_differentiable = False  # type: ignore[attr-defined]  # as if it had come over the wire
    return tensor


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands there twice")
    return dict(pairs)


def _unreadable(why: str) -> Wrong:
    return Wrong(f"`model.safetensors` is not in the format: {why}. `safetensors.torch.save_file` writes it.")
