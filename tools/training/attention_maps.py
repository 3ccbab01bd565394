"""Writes what the heads of first-gpt, notebook 01's model, look at, for the explorer in notebook 05.

    python -m tools.training.attention_maps

The notebook reads the stored maps, so it needs neither the model nor transformers. Run this after first-gpt is trained.
"""

import json
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from autograder.files import write_atomically
from transformer_exercises.stories import sample

from .gpt2 import END, VALIDATION_SEED

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
MODEL = SOLUTIONS / "01-language-modelling" / "first-gpt"
KEPT = SOLUTIONS / "05-attention" / "trained_heads.json"
STORY = 'On Monday, Ada lost her old blue net. "Look, it is on the bed!" said Tuli. Who found the net?'
STORIES = 20_000  # to find some that ask such a question
QUESTION = re.compile(r"(.* Who found the \w+\?) (\w+) did\.")  # in a story, and its answer


class Heads:
    """The model, run on texts that begin a story."""

    def __init__(self) -> None:
        # Only the plain form of attention returns its weights
        self.model: Any = AutoModelForCausalLM.from_pretrained(MODEL, attn_implementation="eager", dtype=torch.float32)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(MODEL)

    @torch.no_grad()
    def read(self, text: str) -> tuple[list[str], Tensor, Tensor]:
        """Return the text's tokens, the weights [L, H, T, T], and the probabilities of the next token [V]."""
        ids = self.tokenizer(END + text, return_tensors="pt").input_ids
        output = self.model(ids, output_attentions=True)
        tokens = [self.tokenizer.decode([token]).strip() for token in ids[0].tolist()]
        return tokens, torch.cat(output.attentions), output.logits[0, -1].softmax(-1)


def maps() -> dict[str, Any]:
    """Return one story's maps and likeliest answer, and each head's mean weight on the answer over many stories."""
    heads = Heads()
    tokens, weights, next_token = heads.read(STORY)
    answer = int(next_token.argmax())
    matches = map(QUESTION.match, sample("english", stories=STORIES, seed=VALIDATION_SEED).splitlines())
    on_answer = []
    for match in filter(None, matches):
        read, looks, _ = heads.read(match[1])
        places = [place for place, token in enumerate(read) if token == match[2]]
        on_answer.append(looks[:, :, -1, places].sum(-1))
    return {
        "tokens": ["<s>", *tokens[1:]],
        "weights": _rounded(weights),
        "answer": heads.tokenizer.decode([answer]).strip(),
        "probability": round(next_token[answer].item(), 3),
        "stories": len(on_answer),
        "weight_on_answer": _rounded(torch.stack(on_answer).mean(0)),
    }


def _rounded(numbers: Any) -> Any:
    """Return a tensor's numbers as nested lists, with three decimals."""
    if isinstance(numbers, Tensor):
        numbers = numbers.tolist()
    return [_rounded(part) for part in numbers] if isinstance(numbers, list) else round(numbers, 3)


if __name__ == "__main__":
    write_atomically(KEPT, (json.dumps(maps(), separators=(",", ":")) + "\n").encode())
