"""`DecoderBlock`: against nn.TransformerDecoderLayer, both masks, nothing that leaks, dropout on the three parts."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from autograder.spec.compare import a_tensor, close, same_gradients, same_output, shape_of, unchanged
from autograder.spec.course import given
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import (
    device_is_kept,
    future,
    generator_unchanged,
    gradients_of,
    normal,
    outline,
    parameters_unchanged,
    sliced,
    some_mask,
)
from autograder.spec.student import Answer, Student

for_torch = given("for_torch", __name__)

ATTENTIONS = ("self_attn", "cross_attn")
NORMS = ("norm1", "norm2", "norm3")
PROJECTIONS = ("q_proj", "k_proj", "v_proj")
TORCHS_NAMES = {"cross_attn": "multihead_attn", "up": "linear1", "down": "linear2"}

BLOCKS = (  # B, T, S, embed_dim, num_heads, ff_dim
    *((2, 4, 3, 6, 3, 9), (3, 2, 5, 8, 2, 5), (1, 1, 4, 4, 1, 7), (2, 5, 1, 6, 6, 10), (4, 3, 3, 10, 5, 8)),
    *((1, 7, 20, 4, 2, 16), (5, 6, 2, 12, 4, 1)),
    *((1, 300, 520, 4, 2, 16), (16, 2, 3, 264, 12, 40)),  # as in real use
)


def _weights(C: int, F_: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Weights for a block under names of ours."""
    layers = [(f"{attn}.{name}", C, C, 1.5 / C**0.5, 1.0) for attn in ATTENTIONS for name in (*PROJECTIONS, "out_proj")]
    state = {}
    for name, rows, columns, scale, shift in (*layers, ("up", F_, C, 0.5, 0.5), ("down", C, F_, 0.5, 0.5)):
        state[f"{name}.weight"] = normal(rows, columns, scale=scale, dtype=dtype)
        state[f"{name}.bias"] = normal(rows, scale=shift, dtype=dtype)
    for name in NORMS:
        state[f"{name}.weight"] = 1 + normal(C, scale=0.5, dtype=dtype)
        state[f"{name}.bias"] = normal(C, scale=0.5, dtype=dtype)
    return state


def _layout(parameters: dict[str, Any], C: int, F_: int) -> dict[str, list[str]]:
    """For each parameter of a student's block, which of ours it is made of, one below the other.

    The attentions may keep their projections in three layers (q_proj, k_proj, v_proj) or stacked, as
    nn.MultiheadAttention does; ff may have any names inside: its layers are found by their shapes (C and F differ).
    """
    layout: dict[str, list[str]] = {}

    def put(beginning: str, ending: str, shape: tuple[int, ...], *ours: str) -> bool:
        for name, value in parameters.items():
            bias = name.removesuffix("weight") + "bias"
            fits = shape_of(value) == shape and shape_of(parameters.get(bias)) == shape[:1]
            if fits and name.startswith(beginning) and name.endswith(ending):
                layout[name], layout[bias] = [f"{one}.weight" for one in ours], [f"{one}.bias" for one in ours]
                return True
        return False

    wanted: list[tuple[str, bool]] = []
    for attn in ATTENTIONS:
        stacked = any(name.startswith(f"{attn}.") and "in_proj" in name for name in parameters)
        single = ("out_proj",) if stacked else (*PROJECTIONS, "out_proj")
        hint = f"{attn} has not the parameters of an attention of width {C}: make it Attention(embed_dim, num_heads)."
        wanted += [(hint, put(f"{attn}.", f".{name}.weight", (C, C), f"{attn}.{name}")) for name in single]
        if stacked:
            parts = [f"{attn}.{name}" for name in PROJECTIONS]
            wanted.append((hint, put(f"{attn}.", ".in_proj_weight", (3 * C, C), *parts)))
    for role, rows, columns in (("up", F_, C), ("down", C, F_)):
        hint = f"With embed_dim = {C}, ff_dim = {F_}, ff should have a layer nn.Linear({columns}, {rows}) with a bias."
        # PyTorch names a layer by the attribute that it was given to first, which may be another one than ff.
        wanted.append((hint, put("ff.", "weight", (rows, columns), role) or put("", "weight", (rows, columns), role)))
    for norm in NORMS:
        hint = f"The block has no `{norm}` with weight and bias ({C},): self.{norm} = nn.LayerNorm(embed_dim)."
        wanted.append((hint, put(f"{norm}.weight", f"{norm}.weight", (C,), norm)))
    for hint, found in wanted:
        if not found:
            raise Wrong(hint)
    return layout


class _Block:
    """A student's block with weights of ours: `state` holds them under our names, `layout` says where they went."""

    def __init__(self, student: Student, C: int, H: int, F_: int, *args: float, dtype: torch.dtype = torch.float32):
        self.student, self.sizes = student, (C, H, F_)
        self.module = student.build("DecoderBlock", C, H, F_, *args)
        if dtype == torch.float64:
            student.move(self.module, "float64")
        try:
            self.layout = _layout(student.state(self.module, record=False)["parameters"], C, F_)
        except Wrong:
            outline(student, self.module, 1)
            raise
        self.state = _weights(C, F_, dtype)
        student.load(self.module, self.own(self.state))

    def own(self, values: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Values of ours under the names of the student's parameters."""
        return {name: torch.cat([values[one] for one in ours]) for name, ours in self.layout.items()}

    def right(
        self, x: torch.Tensor, memory: torch.Tensor, mask: Any = None, memory_mask: Any = None, **other: Any
    ) -> Any:
        """Return what PyTorch's own block gives with the same weights, or with `other` ones."""
        C, H, F_ = self.sizes
        state, theirs = other or self.state, {}
        for name, value in state.items():
            first, _, rest = name.partition(".")
            theirs[f"{TORCHS_NAMES.get(first, first)}.{rest}"] = value
        for attn in ATTENTIONS:
            for part in ("weight", "bias"):
                stacked = torch.cat([state[f"{attn}.{name}.{part}"] for name in PROJECTIONS])
                theirs[f"{TORCHS_NAMES.get(attn, attn)}.in_proj_{part}"] = stacked
        block = nn.TransformerDecoderLayer(C, H, F_, dropout=0.0, batch_first=True, dtype=x.dtype)
        weights = {name: theirs[name] for name, _ in block.named_parameters()}
        masks = {"tgt_mask": for_torch(mask, x, x, H), "memory_mask": for_torch(memory_mask, x, memory, H)}
        return torch.func.functional_call(block, weights, (x, memory), masks)

    def agrees(self, where: str, *args: torch.Tensor, named: dict[str, Any] | None = None, **options: Any) -> Answer:
        """Call it, and compare its output with PyTorch's."""
        answer = self.student.call(self.module, list(args), named, where, **options)
        same_output(answer["value"], self.right(*args, **(named or {})), where)
        return answer


def _parts(student: Student) -> None:
    for C, H, F_ in ((6, 3, 9), (4, 1, 7)):
        with student.case():
            module = student.build("DecoderBlock", C, H, F_)
            outline(student, module, 1)
            state = student.state(module, record=False)
            parameters = state["parameters"]
            for name in (*ATTENTIONS, "ff", *NORMS):
                if name not in state["children"] and not any(p.startswith(name + ".") for p in parameters):
                    called = ", ".join((*ATTENTIONS, "ff", *NORMS))
                    raise Wrong(f"The block has no part `{name}`: its parts are called {called}.")
            layout = _layout(parameters, C, F_)
            if frozen := sorted(set(layout) - set(state["trainable"])):
                raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
            if extra := sorted(set(parameters) - set(layout)):
                raise Wrong(f"There are parameters that do not belong here: {', '.join(extra)[:120]}.")
    with student.case():
        student.build("DecoderBlock", embed_dim=4, num_heads=2, ff_dim=6, dropout=0.1)


def _values(student: Student) -> None:
    for B, T, S, C, H, F_ in BLOCKS:
        with student.case():
            where = f"for B = {B}, T = {T}, S = {S}, embed_dim = {C}, num_heads = {H}, ff_dim = {F_}, without masks"
            _Block(student, C, H, F_).agrees(where, normal(B, T, C), 2 * normal(B, S, C))


def _masks(student: Student) -> None:
    for B, T, S, C, H, F_ in ((2, 4, 5, 6, 3, 9), (3, 3, 3, 6, 2, 8)):
        block, inputs = _Block(student, C, H, F_), (normal(B, T, C), 2 * normal(B, S, C))
        padding = (torch.arange(S) >= torch.tensor([S, S - 2, S - 1])[:B, None])[:, None, None]
        nothing = torch.zeros(T, T, dtype=torch.bool), torch.zeros(T, S, dtype=torch.bool)
        for mask, memory_mask, what in (
            (future(T), None, "with a causal mask (T, T)"),
            (None, padding, "with a memory_mask (B, 1, 1, S) that blocks padding"),
            (future(T), padding, "with both masks, (T, T) and (B, 1, 1, S)"),
            (some_mask(B, 1, T, T), None, "with a mask (B, 1, T, T), one for each sequence"),
            (None, some_mask(T, S), "with a memory_mask (T, S)"),
            (some_mask(T, T), some_mask(B, 1, T, S), "with a mask (T, T) and a memory_mask (B, 1, T, S)"),
            (some_mask(B, H, T, T), None, "with a mask (B, H, T, T), one for each head"),
            (None, some_mask(B, H, T, S), "with a memory_mask (B, H, T, S), one for each head"),
            (some_mask(1, 1, T, T), some_mask(1, T, S), "with a mask (1, 1, T, T) and a memory_mask (1, T, S)"),
            (*nothing, "with masks that block nothing"),
            (None, None, "without masks, after calls with some"),
        ):
            with student.case():
                given = {"mask": mask, "memory_mask": memory_mask}
                named = {name: value for name, value in given.items() if value is not None}
                block.agrees(f"{what}, for B = {B}, T = {T}, S = {S}", *inputs, named=named)
    for B, T, S in ((1, 4, 5), (3, 1, 6)):
        with student.case():
            masks, where = (some_mask(B, 1, T, T), some_mask(B, 1, 1, S)), f"for B = {B}, T = {T}, S = {S}"
            block.agrees(f"with both masks, {where}", normal(B, T, 6), 2 * normal(B, S, 6), *masks)
    with student.case():
        block.agrees("with both masks given by position", *inputs, future(3), padding)


def _leaks(student: Student) -> None:
    """With masks, no output depends on later tokens or on padding of the source; all depend on the rest."""
    block, x, memory = _Block(student, 6, 2, 8), normal(2, 5, 6), normal(2, 4, 6)
    masks = future(5), torch.tensor([False, False, False, True]).expand(2, 1, 1, 4)
    before = block.agrees("", x, memory, *masks)["value"]
    tokens, positions = [("x", t, t) for t in range(1, 5)], [("memory", s, 0 if s < 3 else 5) for s in range(4)]
    for name, place, still in (*tokens, *positions):  # so many outputs must stay
        with student.case():
            given = {"x": x.clone(), "memory": memory.clone()}
            given[name][:, place] = 3 * normal(2, 6)
            after = a_tensor(student.value(block.module, *given.values(), *masks), "The output")
            if after.shape != before.shape or not close(after[:, :still], before[:, :still]):
                what = "the future" if name == "x" else "padding of the source"
                raise Wrong(f"Outputs that must stay move when {name}[:, {place}] is changed: {what} leaks in.")
            if still < 5 and close(after[:, still:], before[:, still:]):
                raise Wrong(f"Changing {name}[:, {place}] changes no output at all.")


def _dropout(student: Student) -> None:
    """Where (nearly) everything is dropped, three norms of x are left.

    With p = 1 − 1e-9 the few hundred numbers that are drawn survive with a probability below 1e-6.
    """
    where = "in training with a dropout close to 1"
    for B, T, S in ((2, 4, 3), (1, 6, 5)):
        with student.case():
            block, expected = _Block(student, 6, 3, 8, 1 - 1e-9), (x := normal(B, T, 6))
            for norm in NORMS:
                expected = F.layer_norm(expected, (6,), block.state[f"{norm}.weight"], block.state[f"{norm}.bias"])
            got = student.call(block.module, [x, normal(B, S, 6)], training=True, where=where)["value"]
            if shape_of(got) == shape_of(expected) and not close(got, expected):
                what = f"Only norm3(norm2(norm1(x))) should be left {where}"
                raise Wrong(f"{what}: dropout acts on what each of the three parts gives, never on x itself.")
            same_output(got, expected, where)


def _modes(student: Student) -> None:
    inputs = normal(2, 5, 6), normal(2, 3, 6)
    for args, training, where in (
        ([0.9], False, "in evaluation mode with dropout = 0.9"),
        ([0.0], True, "in training mode with dropout = 0.0"),
        ([], True, "in training mode with the default dropout of 0"),
    ):
        with student.case():
            answer = _Block(student, 6, 3, 8, *args).agrees(where, *inputs, training=training)
            if not training:
                generator_unchanged(answer)


def _gradient(student: Student) -> None:
    def ask(dtype: torch.dtype, where: str, *masks: torch.Tensor) -> None:
        block = _Block(student, 8, 2, 5, dtype=dtype)
        inputs = normal(2, 5, 8, dtype=dtype), normal(2, 3, 8, dtype=dtype)
        block.agrees(where, *inputs, *masks)

        def right(x: torch.Tensor, memory: torch.Tensor, *leaves: torch.Tensor) -> Any:
            return block.right(x, memory, *masks, **dict(zip(block.state, leaves, strict=True)))

        expected, upstream = gradients_of(right, [*inputs, *block.state.values()])
        got = student.call(block.module, [*inputs, *masks], upstream=upstream, where=where)["gradients"]
        rough = dtype == torch.float32
        ours = block.own(dict(zip(block.state, expected[2:], strict=True)))
        mine = [got.get("parameters", {}).get(name) for name in ours]
        student.note_gradients(dict(enumerate(mine)))  # whatever their names
        same_gradients(got.get("inputs", []), expected[:2], ["x", "memory"], where, rough)
        same_gradients(mine, list(ours.values()), [f"`{name}`" for name in ours], where, rough)

    with student.case():
        ask(torch.float32, "without masks")
    with student.case():
        ask(torch.float64, "with masks", future(5), some_mask(2, 1, 1, 3))


def _manners(student: Student) -> None:
    x, memory, masks = normal(2, 5, 6), normal(2, 3, 6), (future(5), some_mask(2, 1, 1, 3))
    with student.case():
        block, other = _Block(student, 6, 2, 9), _Block(student, 6, 2, 9)
        for given in ([x, memory], [x, memory, *masks]):
            unchanged(block.agrees("", *given)["inputs"], given, "x, memory or a mask")
        other.agrees("of a second block", x, memory)
        parameters_unchanged(student, block.module, block.own(block.state), record=False)
    with student.case():
        wide = _Block(student, 8, 2, 4, dtype=torch.float64)
        wide.agrees("in float64", normal(2, 4, 8, dtype=torch.float64), normal(2, 3, 8, dtype=torch.float64), future(4))
    with student.case():
        block, where = _Block(student, 6, 2, 9), "with slices of tensors, given by name"
        named = {"memory_mask": masks[1], "mask": masks[0], "memory": memory, "x": x}
        got = student.call(block.module, [], {name: sliced(student, t) for name, t in named.items()}, where)["value"]
        same_output(got, block.right(**named), where)
    with student.case():
        turned = normal(5, 2, 6).transpose(0, 1), normal(3, 2, 6).transpose(0, 1)
        _Block(student, 6, 2, 9).agrees("for tensors that are not contiguous", *turned)
    with student.case():
        module = student.build("DecoderBlock", 6, 2, 9)
        device_is_kept(student, module, [x, memory])
        device_is_kept(student, module, [x, memory, *masks])


EXERCISE = Exercise(
    Check("self_attn, cross_attn, ff, norm1 to norm3, and nothing else that trains", 1.0, _parts),
    Check("equals nn.TransformerDecoderLayer with the same weights", 2.5, _values),
    Check("mask for self-attention, memory_mask for cross-attention", 1.5, _masks, further=True),
    Check("nothing leaks from later tokens or from padding", 0.75, _leaks),
    Check("dropout acts on the three parts, not on x", 0.5, _dropout),
    Check("no dropout in evaluation, nor with dropout = 0", 0.5, _modes, further=True),
    Check("gradients reach x, memory and every parameter", 0.75, _gradient, further=True),
    Check("inputs unchanged, blocks independent, float64, device", 0.5, _manners, further=True),
)
