"""Trains a published small GPT for Bangla for as long as a CPU allows, for 09-gpt-further.

    python -m tools.training.bangla              train both models, measure them, save the results; resumes after a kill
    python -m tools.training.bangla --measure    measure the models in grown-bangla again

The size `laptop` is the control: it is trained on the same stories for a quarter of the time.
"""

import itertools
import json
import math
import re
import unicodedata
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from tokenizers import pre_tokenizers
from transformers import AutoTokenizer, GPT2LMHeadModel, PreTrainedTokenizerFast
from transformers.utils import logging

from autograder.files import write_atomically
from transformer_exercises.stories import bangla

from .gpt2 import TRAIN_SEED, VALIDATION_SEED, continued
from .grow import SEED, Recipe, grow
from .sizes import Size, size_named
from .texts import stories

KEPT = Path(__file__).resolve().parents[2] / "solutions" / "09-gpt-further" / "bangla.json"
FOLDER = Path("grown-bangla")
MINUTES = {"bangla": 36.0, "laptop": 9.0}  # by size; the second is the control
PRECISION = "bfloat16"  # under autocast: several times as fast on CPUs that support it
CHARACTERS = 10_000_000  # more than either model reads
WRITTEN = 200  # stories per model that are checked against the grammar
PROMPTS = ("", "এখন মা", "গতকাল রাফি", "আগামীকাল শিক্ষক", "এইমাত্র মেয়েটি", "অতিথিরা")
FORMS = ("পড়ছে", "পড়ছেন", "পড়েছে", "পড়েছেন")
SENTENCE = "এখন মিতু বাগানে একটি বই পড়ছে।"
# Texts before the verb of SENTENCE: only the subject changes, or only the adverb, or the people mentioned before
PLACES = (
    "এখন মিতু বাগানে একটি বই",
    "এখন মা বাগানে একটি বই",
    "এইমাত্র মিতু বাগানে একটি বই",
    "এইমাত্র মা বাগানে একটি বই",
    "মিতু বাগানে একটি বই",
    "মা বাগানে একটি বই",
    "এখন মা ভাত খাচ্ছেন। মায়ের পাশে মিতু একটি বই",
    "এখন মিতু ভাত খাচ্ছে। মিতুর পাশে মা একটি বই",
    "এখন মা ভাত খাচ্ছেন। মিতু কী করছে? সে একটি বই",
    "এখন মিতু ভাত খাচ্ছে। মা কী করছেন? তিনি একটি বই",
)

SHOWN = ("layers", "heads", "width", "context", "dropout", "peak", "tokens_per_step")  # of a size
COLUMNS = ("step", "tokens", "training", "validation", "minutes")  # of the curve

app = typer.Typer(add_completion=False)


def parts(size: Size, different: int) -> dict[str, int]:
    """Return the number of parameters in each part. `different` tokens occur in the text."""
    rows, C = size.rows_of_table(different), size.width
    return {
        "tokens that occur": different * C,
        "unused rows": (rows - different) * C,
        "positions": size.context * C,
        "blocks": size.layers * (12 * C * C + 13 * C),
        "last norm": 2 * C,
    }


def flops(size: Size, different: int) -> dict[str, int]:
    """Return the FLOP of training per token in each part: 6 for each weight that multiplies, and the scores."""
    found = {name: 6 * count for name, count in parts(size, different).items() if name != "positions"}
    return found | {"scores": 12 * size.layers * size.width * size.context}


def train(name: str, minutes: float, folder: Path) -> None:
    """Train a size as `make grow` does, or resume, and write its facts.json into the folder."""
    size = size_named(name).but(stories="bangla")
    material = stories(folder, size.vocabulary, size.context, CHARACTERS, "bangla")
    recipe = Recipe(size=size, minutes=minutes, steps=0, seed=SEED, device="cpu", precision=PRECISION, compiled=False)
    run = grow(material, recipe, folder)
    now, different = run.now, len(material.tokenizer)
    tokens = run.taken * size.tokens_per_step
    facts = {
        **{name: getattr(size, name) for name in SHOWN},
        "rows_of_table": size.rows_of_table(different),
        "precision": recipe.precision,
        "parts": parts(size, different),
        "flops_per_token": flops(size, different),
        "steps": run.taken,
        "tokens": tokens,
        "minutes": now.seconds / 60,
        "processor_minutes": now.processor / 60,
        "tokens_per_second": tokens / now.seconds,
        "tokens_per_processor_second": tokens / now.processor,
        "best": now.best,
        "points": [{name: point[name] for name in COLUMNS} for point in now.points],
        "samples": {str(point["tokens"]): text for point, text in zip(now.points, now.samples, strict=True)},
        "text": {
            "tokens": len(material.tokens),
            "different": different,
            "validation_tokens": material.validation.count,
            "characters_per_token": material.characters,
            "floor": material.validation.floor,
        },
    }
    save(folder / "facts.json", facts)


def save(path: Path, found: dict[str, Any]) -> None:
    write_atomically(path, (json.dumps(found, ensure_ascii=False, indent=1) + "\n").encode())


class Grown:
    """A saved model with its tokenizer."""

    def __init__(self, folder: Path):
        self.model: Any = GPT2LMHeadModel.from_pretrained(folder).eval()
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.end = int(self.tokenizer.eos_token_id)

    def ids(self, text: str) -> list[int]:
        """Return the end token and the ids of a story's beginning."""
        return [self.end, *self.tokenizer.backend_tokenizer.encode(text).ids]

    def written(self, prompt: str, stories: int) -> list[str]:
        """Sample stories that begin with the prompt, from the model's full distribution."""
        given = self.ids(prompt)
        made = continued(self.model, given, self.model.config.n_positions - len(given), SEED, rows=stories)
        rows = ([*given[1:], *itertools.takewhile(self.end.__ne__, row)] for row in made)
        return [str(self.tokenizer.decode(row)) for row in rows]

    @torch.no_grad()
    def next_words(self, prefix: str) -> torch.Tensor:
        """Return p(token | prefix) [rows of the table]."""
        return self.model(torch.tensor([self.ids(prefix)])).logits[0, -1].float().softmax(-1)

    def token(self, word: str) -> int:
        """Return the id of a word with the blank before it. Raise ValueError if that is not one token."""
        [one] = self.tokenizer.backend_tokenizer.encode(f" {word}").ids
        return one


def possible(text: str) -> bool:
    """Return True if the grammar can produce this story."""
    return bangla.true_nll(text + "\n") < math.inf


def at_the_verb(models: dict[str, Grown]) -> list[dict[str, Any]]:
    """Return the probabilities of FORMS at each of PLACES: the exact ones, and each model's."""
    found = []
    for prefix in PLACES:
        right = bangla.continuations(f"{prefix} ", [f"{form}।" for form in FORMS])
        row: dict[str, Any] = {"prefix": prefix, "grammar": [right[f"{form}।"] for form in FORMS]}
        for name, one in models.items():
            p = one.next_words(prefix)
            row[name] = [p[one.token(form)].item() for form in FORMS]
        found.append(row)
    return found


def agreement(one: Grown) -> dict[str, float]:
    """Return how often the right form is the likeliest of FORMS, and its mean share of their probability."""
    right, share, pairs = 0, 0.0, 0
    for who in bangla.WHO:
        for adverb, tense in (("এখন", 0), ("এইমাত্র", 2)):
            p = one.next_words(f"{adverb} {who.forms['bangla']['']} একটি বই")
            four = [p[one.token(form)].item() for form in FORMS]
            wanted = tense + who.facts["respect"]
            right += max(range(4), key=four.__getitem__) == wanted
            share += four[wanted] / sum(four)
            pairs += 1
    return {"pairs": pairs, "right": right, "share": share / pairs}


def dissected(one: Grown) -> dict[str, Any]:
    """Return SENTENCE's gloss, its tokens, and the merges that make one token of its verb's bytes."""
    verb = SENTENCE.split()[-1].strip("।")
    encoded = one.tokenizer.backend_tokenizer.encode(SENTENCE)
    return {
        "text": SENTENCE,
        "gloss": bangla.gloss(SENTENCE),
        "tokens": [SENTENCE[start:end] for start, end in encoded.offsets],
        "ids": encoded.ids,
        "cut_by_gpt2": len(pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(SENTENCE)),
        "verb": [
            {"sign": s, "code": f"U+{ord(s):04X}", "name": unicodedata.name(s), "bytes": s.encode().hex(" ")}
            for s in unicodedata.normalize("NFC", verb)
        ],
        "merges": merged(one.tokenizer, f" {verb}"),
    }


def merged(tokenizer: PreTrainedTokenizerFast, word: str) -> list[list[str]]:
    """Return the pieces of a word as hexadecimal bytes, before the first merge and after each one."""
    [(symbols, _)] = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(word)
    back = dict(zip(symbols, word.encode(), strict=True))
    text = " ".join(symbols)
    steps = [text]
    for left, right in json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]:  # in the order of their use
        pair = rf"(?<!\S){re.escape(left)} {re.escape(right)}(?!\S)"
        text = re.sub(pair, lambda found: found[0].replace(" ", ""), text)
        if text != steps[-1]:
            steps.append(text)
    return [[bytes(back[letter] for letter in piece).hex(" ") for piece in step.split()] for step in steps]


def told(text: str) -> dict[str, Any]:
    """Return a model's story with its gloss and True or False for "the grammar can produce it"."""
    return {"text": text, "possible": possible(text), "gloss": bangla.gloss(text)}


def measured(folders: dict[str, Path]) -> dict[str, Any]:
    """Return the notebook's results. Raise ValueError if the models were trained on different texts."""
    facts = {name: json.loads((folder / "facts.json").read_text("utf-8")) for name, folder in folders.items()}
    models = {name: Grown(folder) for name, folder in folders.items()}
    text = [one.pop("text") for one in facts.values()]
    if text[0] != text[1]:
        raise ValueError(f"The two models have not read the same text: {text}. Delete their folders and train again.")
    for name, one in models.items():
        stories = one.written("", WRITTEN)
        facts[name]["written"] = {"stories": WRITTEN, "possible": sum(map(possible, stories))}
        facts[name]["agreement"] = agreement(one)
        facts[name]["stories"] = [told(one.written(prompt, 1)[0]) for prompt in PROMPTS]
    return {
        "text": text[0],
        "seeds": {"training": TRAIN_SEED, "validation": VALIDATION_SEED, "model": SEED},
        "prompts": list(PROMPTS),
        "forms": list(FORMS),
        "models": facts,
        "at_the_verb": at_the_verb(models),
        "sentence": dissected(next(iter(models.values()))),
    }


@app.command()
def main(
    measure: Annotated[bool, typer.Option("--measure", help="Train nothing; measure what is in grown-bangla.")] = False,
) -> None:
    """Train the models that are not trained yet, measure both, and save the results."""
    logging.disable_progress_bar()
    torch.set_num_threads(1)  # so that times are those of one core
    folders = {name: FOLDER / name for name in MINUTES}
    for name, folder in folders.items():
        if not (folder / "facts.json").is_file():
            if measure:
                raise typer.BadParameter(f"{folder} holds no trained model", param_hint="--measure")
            train(name, MINUTES[name], folder)
    save(KEPT, measured(folders))
    typer.echo(f"Kept in {KEPT}.")


if __name__ == "__main__":
    app()
