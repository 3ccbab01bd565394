"""Trains small models in GPT-2's format on the course's English stories, by notebook 09's recipe.

`python -m tools.training.stories_gpt2` trains the one that notebook 10 falls back to without a network, and
`python -m tools.training.stories_gpt2 first-gpt` the one that opens notebook 01, which has the sizes of notebook 09's.
Each is saved with a model card beside its notebook. The token <|endoftext|> stands for the line break between two
stories, so the corpus's exact probability is the floor of the loss.
"""

import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import typer
from torch import Tensor
from tqdm import tqdm
from transformers import GPT2Tokenizer
from transformers.utils import logging

from autograder.files import WouldOverwrite, refuse_foreign
from transformer_exercises.stories import sample, true_nll

from . import gpt2
from .gpt2 import END, TRAIN_SEED, VALIDATION_SEED, Validation

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
SEED = 10  # of the weights and the windows


@dataclass(frozen=True)
class Plan:
    """A model, its training, and the notebook that opens it."""

    notebook: str
    use: str  # a sentence of the model card
    command: str
    layers: int
    context: int  # tokens; the longest story has about 70
    steps: int
    characters: int  # of stories to train on
    half: bool  # weights are stored in float16
    heads: int = 4
    width: int = 128
    batch: int = 24  # windows
    peak: float = 2e-3  # the highest learning rate


PLANS = {
    "gpt2-stories": Plan(
        notebook="10-hugging-face-gpt2",
        use="Notebook 10 uses it where the published GPT-2 cannot be loaded.",
        command="make model",
        layers=4,
        context=128,
        steps=4_000,
        characters=10_000_000,
        half=False,
    ),
    "first-gpt": Plan(
        notebook="01-language-modelling",
        use="Notebook 01 opens with it, and notebook 09 builds a model of these sizes.",
        command="python -m tools.training.stories_gpt2 first-gpt",
        layers=2,
        context=96,
        steps=1_500,
        characters=2_000_000,
        half=True,
    ),
}

app = typer.Typer(add_completion=False)


def learn_tokenizer(stories: Sequence[str], context: int) -> GPT2Tokenizer:
    """Train byte-level BPE on the stories. Merging ends when each word is one token."""
    return GPT2Tokenizer(tokenizer_object=gpt2.byte_level_bpe(stories, 2_000, [END]), model_max_length=context)


class Windows:
    """Windows of training text, each `context` + 1 tokens.

    Half of them begin with <|endoftext|>, a quarter with a story's first word, and a quarter with a sentence from its
    middle: users type such texts.
    """

    def __init__(self, stories: Sequence[str], tokenizer: GPT2Tokenizer, context: int, generator: random.Random):
        self.stories, self.tokenizer, self.context, self.generator = stories, tokenizer, context, generator
        tokens: list[int] = [tokenizer.eos_token_id]
        self.starts: list[int] = []  # position of each story's first token
        for ids in tokenizer(list(stories)).input_ids:
            self.starts.append(len(tokens))
            tokens += [*ids, tokenizer.eos_token_id]
        self.tokens = torch.tensor(tokens)  # (N,)
        last = len(tokens) - context - 1
        self.usable = sum(start <= last for start in self.starts[1:])  # stories with a whole window after their start

    def window(self) -> Tensor:
        """Draw one window [context + 1]."""
        number = self.generator.randrange(self.usable)
        start, way = self.starts[number], self.generator.random()
        if way < 0.5:
            return self.tokens[start - 1 : start + self.context]
        if way < 0.75:
            return self.tokens[start : start + self.context + 1]
        story = self.stories[number]
        later = [match.end() for match in re.finditer(r"[.?!]\"? (?=[A-Z\"])", story)]  # starts of its other sentences
        tail = self.tokenizer(story[self.generator.choice([0, *later]) :]).input_ids
        behind = self.starts[number + 1] - 1  # the <|endoftext|> after this story
        return torch.cat([torch.tensor(tail), self.tokens[behind : behind + self.context + 1 - len(tail)]])


def against_floor(loss: float, floor: float) -> str:
    return f"validation {loss:.3f}, floor {floor:.3f} nats per token ({100 * (loss / floor - 1):+.1f} %)"


@app.command()
def main(
    name: Annotated[str, typer.Argument(help=f"The model: {' or '.join(PLANS)}.")] = "gpt2-stories",
    out: Annotated[Path | None, typer.Option(help="The folder to write.", show_default="beside its notebook")] = None,
) -> None:
    """Train a small GPT-2 on the course's English stories and save it in Hugging Face's format."""
    if name not in PLANS:
        raise typer.BadParameter(f"No model is called {name!r}; there are {', '.join(PLANS)}.", param_hint="name")
    plan = PLANS[name]
    folder = out or SOLUTIONS / plan.notebook / name
    try:
        refuse_foreign(folder, ["model.safetensors"], "model")
    except WouldOverwrite as reason:
        raise typer.BadParameter(str(reason), param_hint="--out") from None
    logging.disable_progress_bar()
    torch.set_num_threads(1)  # a second thread gains little for a model this small
    torch.manual_seed(SEED)
    stories = sample("english", characters=plan.characters, seed=TRAIN_SEED).splitlines()
    tokenizer = learn_tokenizer(stories, plan.context)
    held, end = sample("english", characters=30_000, seed=VALIDATION_SEED), tokenizer.eos_token_id
    rows = [[*ids, end] for ids in tokenizer(held.splitlines()).input_ids]
    validation = Validation.of(rows, end, true_nll(held))
    # Without dropout: the model is too small to learn so many stories by heart
    model = gpt2.new_gpt2(gpt2.gpt2_config(len(tokenizer), plan.context, plan.layers, plan.heads, plan.width, end=end))
    gpt2.start_as_copier(model)
    print(f"{model.num_parameters():,} parameters, {len(tokenizer):,} tokens, {len(stories):,} stories")
    started = time.process_time()
    windows = Windows(stories, tokenizer, plan.context, random.Random(SEED))
    rows_of_step = (torch.stack([windows.window() for _ in range(plan.batch)]) for _ in range(plan.steps))  # (B, T + 1)
    batches = ((rows[:, :-1], rows[:, 1:]) for rows in rows_of_step)
    bar = tqdm(gpt2.fit(model, batches, plan.steps, plan.peak), total=plan.steps, desc="training", unit="step")
    for step, training in enumerate(bar, 1):
        if step % max(plan.steps // 20, 1) == 0:
            bar.set_postfix_str(f"training {training:.3f}, {against_floor(validation.loss(model), validation.floor)}")
    minutes = (time.process_time() - started) / 60  # CPU time, so that other programs do not count
    if plan.half:
        model.half().float()  # the loss below is that of the weights as they are stored
    loss = validation.loss(model)
    words = len(set(re.findall(r"\w+", " ".join(stories))))
    characters = sum(len(story) + 1 for story in stories)
    shape = f"{plan.layers} layers, {plan.heads} heads, width {plan.width}, context {plan.context} tokens"
    stored = "float16" if plan.half else "float32"
    facts = [
        ("architecture", f"`GPT2LMHeadModel`: {shape}"),
        ("parameters", f"{model.num_parameters():,} (output layer tied to the token table), stored as {stored}"),
        ("tokenizer", f"byte-level BPE, {len(tokenizer):,} tokens; any text is encoded and comes back as it was"),
        ("training", f"{minutes:.0f} minutes of one CPU core; {plan.steps:,} steps of {plan.batch} windows"),
        ("text", f"{characters:,} characters of the course's English stories, {words} different words"),
        ("loss on validation stories", f"{loss:.3f} nats per token"),
        ("floor", f"{validation.floor:.3f} nats per token: the true entropy of these stories, which no model can beat"),
        ("licence", "MIT"),
        ("begin a text with", "`<|endoftext|>` (a new story) or words such as `The dog drank the water`"),
    ]
    made = f"trained by `{plan.command}`. {plan.use}"
    gpt2.keep_model(folder, model.half() if plan.half else model, tokenizer, made, facts)
    print(against_floor(loss, validation.floor))


if __name__ == "__main__":
    app()
