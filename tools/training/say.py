"""Translate sentences with a model that `make translate` saved. Needs only PyTorch, tokenizers and safetensors.

    python say.py "The dog drank the water."                  in the model's folder
    python say.py --model translator-igbo-english "…" "…"     from another folder
    python say.py < sentences.txt > translations.txt          one sentence per line

The model's folder has a copy of this file and all that it needs, so the folder can be moved anywhere.
"""

import argparse
import json
import runpy
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

PAD, BOS, EOS = 0, 1, 2


class SavedTranslator:
    """A saved model with its tokenizers."""

    def __init__(self, folder: Path):
        if not (folder / "model.safetensors").is_file():
            raise FileNotFoundError(
                f"{folder} holds no model. Train one with `make translate`, or name its folder with --model."
            )
        self.about: dict[str, Any] = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        self.parts = SimpleNamespace(**runpy.run_path(str(folder / "translator.py")))
        self.source, self.target = (Tokenizer.from_file(str(folder / f"{side}.json")) for side in ("source", "target"))
        sizes = self.about["sizes"]
        self.room = sizes["max_len"]
        self.model = self.parts.Translator(**sizes, pad_id=PAD, decoder_block=self.parts.DecoderBlock)
        self.model.load_state_dict(load_file(folder / "model.safetensors"))
        self.model.eval()

    def say(self, sentence: str, beam: int = 4) -> str:
        """Return the translation of one sentence, by beam search; `beam` 1 is greedy."""
        text = unicodedata.normalize("NFC", " ".join(sentence.split()))
        if not text:
            return ""
        ids = [*self.source.encode(text).ids[: self.room - 1], EOS]
        longest = min(len(ids) * 3 // 2 + 10, self.room - 1)
        source = torch.tensor([ids])
        written: Sequence[int] = self.parts.beam_search(self.model, source, BOS, EOS, beam, longest)
        return self.target.decode(list(written))


def main() -> None:
    parser = argparse.ArgumentParser(description="Translate with a model that `make translate` has kept.")
    parser.add_argument("text", nargs="*", help="sentences; none: each line of the standard input")
    parser.add_argument(
        "--model", type=Path, default=Path(__file__).parent, help="the model's folder (default: where this file lies)"
    )
    parser.add_argument("--beam", type=int, default=4, help="sentences looked at side by side; 1: greedy")
    chosen = parser.parse_args()
    try:
        translator = SavedTranslator(chosen.model)
    except FileNotFoundError as error:
        sys.exit(str(error))
    for sentence in chosen.text or map(str.strip, sys.stdin):
        print(translator.say(sentence, chosen.beam), flush=True)


if __name__ == "__main__":
    main()
