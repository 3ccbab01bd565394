"""Tests what `make offline` keeps and refuses, with small wheels made here. The weekly job fetches the real ones."""

import hashlib
import json
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

from tools.offline import __main__ as offline
from tools.offline import parquet, wheels

DATA = b"twelve bytes"
HERE = ROOT / "tools" / "offline"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def wheel(folder: Path, licence: str = "License-Expression: MIT", data: bytes = DATA) -> Path:
    path = folder / "made_up-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("made_up/data.bin", data)
        archive.writestr(
            "made_up-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(
            "made_up-1.0.dist-info/METADATA", f"Metadata-Version: 2.4\nName: made-up\nVersion: 1.0\n{licence}\n"
        )
        archive.writestr("made_up-1.0.dist-info/licenses/LICENSE", "Do as you like.")
    return path


class Index:
    """A package index in a folder: what pip would download, without pip."""

    def __init__(self, folder: Path):
        self.made = wheel(folder)
        self.requirements = folder / "requirements.txt"
        self.pin(sha256(self.made.read_bytes()))
        self.says, self.code = "", 0

    def pin(self, hashed: str) -> None:
        self.requirements.write_text(f"made-up==1.0 --hash=sha256:{hashed}\n")

    def get(self, requirements: Path, into: Path) -> dict[str, Path]:
        return wheels.fetch(requirements, into, self.download)

    def download(self, _: Path, into: Path) -> subprocess.CompletedProcess[str]:
        if not self.code:
            (into / self.made.name).write_bytes(self.made.read_bytes())
        return subprocess.CompletedProcess([], self.code, "", self.says)


@pytest.fixture
def index(tmp_path):
    (tmp_path / "index").mkdir()
    return Index(tmp_path / "index")


def keep_data(found, part):
    (part / "data.bin").write_bytes(wheels.member(found["made-up"], "made_up/data.bin", sha256(DATA)))


def make(tmp_path, index, step=keep_data, **options):
    return offline.make(tmp_path / "offline", (step,), index.requirements, index.get, **{"needed": 0} | options)


def nothing_is_left(tmp_path) -> bool:
    return not list(tmp_path.glob("offline*"))


def test_the_folder_holds_checked_data_and_lists_licences(tmp_path, index):
    assert make(tmp_path, index) == [{"package": "made-up", "version": "1.0", "licence": "MIT"}]
    folder = tmp_path / "offline"
    assert (folder / "data.bin").read_bytes() == DATA
    assert (folder / "licences" / "made_up" / "LICENSE").read_text() == "Do as you like."
    assert not list(folder.rglob("*.whl"))
    assert not (tmp_path / "offline.part").exists()


def test_a_whole_folder_is_not_fetched_again(tmp_path, index):
    made = make(tmp_path, index)
    index.code = 1
    assert make(tmp_path, index) == made


def test_a_folder_of_other_pins_is_made_again(tmp_path, index):
    make(tmp_path, index)
    (tmp_path / "offline" / "old").touch()
    index.made = wheel(index.made.parent, "License: Apache-2.0")
    index.pin(sha256(index.made.read_bytes()))
    assert make(tmp_path, index)[0]["licence"] == "Apache-2.0"
    assert not (tmp_path / "offline" / "old").exists()


def test_a_wheel_with_another_hash_is_refused(tmp_path, index):
    index.pin("0" * 64)
    with pytest.raises(wheels.Stopped, match=r"^made_up-1.0-py3-none-any.whl is not the file that was pinned"):
        make(tmp_path, index)
    assert nothing_is_left(tmp_path)


def test_a_file_with_another_hash_is_refused(tmp_path, index):
    index.made = wheel(index.made.parent, data=b"other bytes")
    index.pin(sha256(index.made.read_bytes()))
    with pytest.raises(wheels.Stopped, match=r"made_up/data\.bin in .* is not the file that was pinned"):
        make(tmp_path, index)
    assert nothing_is_left(tmp_path)


def test_a_wheel_that_lacks_the_file_is_refused(tmp_path, index):
    with pytest.raises(wheels.Stopped, match=r"holds no file gone\.bin"):
        wheels.member(index.made, "gone.bin", sha256(DATA))


def test_a_wheel_without_a_licence_is_refused(tmp_path, index):
    index.made = wheel(index.made.parent, "Summary: none")
    index.pin(sha256(index.made.read_bytes()))
    with pytest.raises(wheels.Stopped, match="names no licence"):
        make(tmp_path, index)
    assert nothing_is_left(tmp_path)


def test_a_licence_is_read_from_a_classifier_too(tmp_path, index):
    made = wheel(index.made.parent, "Classifier: License :: OSI Approved :: MIT License")
    assert wheels.licence(made) == "MIT License"


MISMATCH = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE."
GONE = "ERROR: No matching distribution found for made-up==1.0"


@pytest.mark.parametrize(
    ("pip", "sentence"),
    [
        (f"ERROR: ... (from versions: none)\n{GONE}", "The package index cannot be reached. Is there a network?"),
        (f"ERROR: ... (from versions: 0.9, 1.1)\n{GONE}", "The package index no longer has a pinned version"),
        (MISMATCH, "A downloaded file is not the one that was pinned"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "The disk is full. Nothing was kept"),
    ],
)
def test_what_pip_says_becomes_a_sentence(tmp_path, index, pip, sentence):
    index.says, index.code = pip, 1
    with pytest.raises(wheels.Stopped) as caught:
        make(tmp_path, index)
    assert str(caught.value).startswith(sentence)
    assert nothing_is_left(tmp_path)


def test_pip_itself_refuses_a_wheel_with_another_hash(tmp_path, index, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index.made.parent))
    (tmp_path / "into").mkdir()
    assert list(wheels.fetch(index.requirements, tmp_path / "into")) == ["made-up"]
    index.pin("0" * 64)
    with pytest.raises(wheels.Stopped, match="its hash differs"):
        wheels.fetch(index.requirements, tmp_path / "into")


def test_too_small_a_disk_is_noticed_before_anything_is_fetched(tmp_path, index):
    index.code = 1
    with pytest.raises(wheels.Stopped, match=r"^The disk has .* MB free, and this needs 1,000,000,000,000 MB"):
        make(tmp_path, index, needed=10**18)


def test_a_disk_that_fills_up_leaves_no_folder(tmp_path, index):
    def full(_, part):
        (part / "half").touch()
        raise OSError(28, "No space left on device")

    with pytest.raises(wheels.Stopped, match=r"could not be written .*No space left"):
        make(tmp_path, index, full)
    assert nothing_is_left(tmp_path)


def test_an_interrupted_run_leaves_no_folder(tmp_path, index):
    def stopped(_, part):
        (part / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path, index, stopped)
    assert nothing_is_left(tmp_path)


def test_what_a_killed_run_left_is_not_used(tmp_path, index):
    (tmp_path / "offline.part").mkdir()
    (tmp_path / "offline.part" / "half").touch()
    make(tmp_path, index)
    assert not (tmp_path / "offline" / "half").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_with_a_sentence(tmp_path, number):
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tools.offline import __main__ as offline\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs behind it\n"
        "def get(*_):\n"
        f"    os.kill(os.getpid(), {number:d})\n"
        f"sys.exit(offline.main(Path({str(tmp_path / 'offline')!r}), get=get, needed=0))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (130, "Stopped. Nothing was kept: run this again when you like.\n")
    assert nothing_is_left(tmp_path)


def test_a_notebook_finds_a_whole_folder_and_no_half_one(tmp_path, monkeypatch, capsys):
    from transformer_exercises.shared_modules.offline_data import offline as find

    notebook = tmp_path / "course" / "03-embeddings"
    notebook.mkdir(parents=True)
    (tmp_path / "offline" / "glove").mkdir(parents=True)
    monkeypatch.chdir(notebook)
    assert find("glove") is None
    assert capsys.readouterr().out.startswith("There is no folder offline/ here")
    (tmp_path / "offline" / offline.CONTENTS).write_text("{}")
    assert find("glove") == tmp_path / "offline" / "glove"
    assert capsys.readouterr().out == ""


def test_every_pinned_package_has_one_hash():
    lines = [line for line in (HERE / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(wheels.pinned(HERE / "requirements.txt")) == len(lines) == 4


def plain(words: list[str]) -> bytes:
    return b"".join(len(word.encode()).to_bytes(4, "little") + word.encode() for word in words)


def literal(data: bytes) -> bytes:
    """Snappy's way of writing bytes as they are: their number, then one piece."""
    return bytes([len(data), (len(data) - 1) << 2]) + data


def page(kind: int, field: int, encoding: int, data: bytes) -> bytes:
    """Return a page with a header of five numbers: its kind, its sizes, and how its values are written."""
    packed = literal(data)
    numbers = b"\x15%c\x15%c\x15%c" % (kind * 2, len(data) * 2, len(packed) * 2)
    inner = b"\x15\x02\x15%c\x00" % (encoding * 2)
    return numbers + bytes([(field - 3) << 4 | 12]) + inner + b"\x00" + packed


def test_strings_are_read_from_dictionary_and_plain_pages():
    pages = (
        page(2, 7, 0, plain(["the", "ụlọ"]))
        + page(0, 5, 8, b"places in the dictionary")
        + page(0, 5, 0, b"\x00\x00\x00\x00" + plain(["কুকুর"]))
    )
    assert parquet.strings(b"PAR1" + pages + b"\x00\x00\x00\x00PAR1") == ["the", "ụlọ", "কুকুর"]
    with pytest.raises(parquet.UnknownLayout):
        parquet.strings(b"no Parquet file at all")


def test_a_copy_of_snappys_may_reach_into_itself():
    assert parquet.snappy(bytes([9, 0]) + b"a" + bytes([(8 - 1) << 2 | 2, 1, 0])) == b"a" * 9
    assert parquet.snappy(bytes([8, 3 << 2]) + b"abcd" + bytes([0 << 2 | 1, 4])) == b"abcdabcd"
    with pytest.raises(parquet.UnknownLayout, match="1 bytes and should have 9"):
        parquet.snappy(bytes([9, 0]) + b"a")


def test_the_contents_are_written_last(tmp_path, index):
    def look(_, part):
        assert not (part / offline.CONTENTS).exists()

    make(tmp_path, index, look)
    held = json.loads((tmp_path / "offline" / offline.CONTENTS).read_text())
    assert [one["package"] for one in held["packages"]] == ["made-up"]
