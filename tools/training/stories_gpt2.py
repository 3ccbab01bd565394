"""Trains a small model in GPT-2's format, so that notebook 10 works without the published weights and a network.

`python -m tools.training.stories_gpt2` trains it on the course's English stories and saves it with a model card beside
the notebook. The recipe is notebook 09's. The token <|endoftext|> stands for the line break between two stories, so the
corpus's exact probability is the floor of the loss.
"""

import random
import re
import time
from collections.abc import Sequence
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

FOLDER = Path(__file__).resolve().parents[2] / "solutions" / "10-hugging-face-gpt2" / "gpt2-stories"
CONTEXT = 128  # tokens; the longest story has about 70
LAYERS, HEADS, WIDTH = 4, 4, 128
STEPS, BATCH, PEAK = 4_000, 24, 2e-3  # PEAK: the highest learning rate
CHARACTERS = 10_000_000  # of stories to train on
SEED = 10  # of the weights and the windows

app = typer.Typer(add_completion=False)


def learn_tokenizer(stories: Sequence[str]) -> GPT2Tokenizer:
    """Train byte-level BPE on the stories. Merging ends when each word is one token."""
    return GPT2Tokenizer(tokenizer_object=gpt2.byte_level_bpe(stories, 2_000, [END]), model_max_length=CONTEXT)


class Windows:
    """Windows of training text, each CONTEXT + 1 tokens.

    Half of them begin with <|endoftext|>, a quarter with a story's first word, and a quarter with a sentence from its
    middle: users type such texts.
    """

    def __init__(self, stories: Sequence[str], tokenizer: GPT2Tokenizer, generator: random.Random):
        self.stories, self.tokenizer, self.generator = stories, tokenizer, generator
        tokens: list[int] = [tokenizer.eos_token_id]
        self.starts: list[int] = []  # position of each story's first token
        for ids in tokenizer(list(stories)).input_ids:
            self.starts.append(len(tokens))
            tokens += [*ids, tokenizer.eos_token_id]
        self.tokens = torch.tensor(tokens)  # (N,)
        last = len(tokens) - CONTEXT - 1
        self.usable = sum(start <= last for start in self.starts[1:])  # stories with a whole window after their start

    def window(self) -> Tensor:
        """Draw one window [CONTEXT + 1]."""
        number = self.generator.randrange(self.usable)
        start, way = self.starts[number], self.generator.random()
        if way < 0.5:
            return self.tokens[start - 1 : start + CONTEXT]
        if way < 0.75:
            return self.tokens[start : start + CONTEXT + 1]
        story = self.stories[number]
        later = [match.end() for match in re.finditer(r"[.?!]\"? (?=[A-Z\"])", story)]  # starts of its other sentences
        tail = self.tokenizer(story[self.generator.choice([0, *later]) :]).input_ids
        behind = self.starts[number + 1] - 1  # the <|endoftext|> after this story
        return torch.cat([torch.tensor(tail), self.tokens[behind : behind + CONTEXT + 1 - len(tail)]])


def against_floor(loss: float, floor: float) -> str:
    return f"validation {loss:.3f}, floor {floor:.3f} nats per token ({100 * (loss / floor - 1):+.1f} %)"


@app.command()
def main(out: Annotated[Path, typer.Option(help="The folder to write.")] = FOLDER) -> None:
    """Train a small GPT-2 on the course's English stories and save it in Hugging Face's format."""
    try:
        refuse_foreign(out, ["model.safetensors"], "model")
    except WouldOverwrite as reason:
        raise typer.BadParameter(str(reason), param_hint="--out") from None
    logging.disable_progress_bar()
    torch.set_num_threads(1)  # a second thread gains little for a model this small
    torch.manual_seed(SEED)
    stories = sample("english", characters=CHARACTERS, seed=TRAIN_SEED).splitlines()
    tokenizer = learn_tokenizer(stories)
    held, end = sample("english", characters=30_000, seed=VALIDATION_SEED), tokenizer.eos_token_id
    rows = [[*ids, end] for ids in tokenizer(held.splitlines()).input_ids]
    validation = Validation.of(rows, end, true_nll(held))
    # Without dropout: the model is too small to learn so many stories by heart
    model = gpt2.new_gpt2(gpt2.gpt2_config(len(tokenizer), CONTEXT, LAYERS, HEADS, WIDTH, end=end))
    gpt2.start_as_copier(model)
    print(f"{model.num_parameters():,} parameters, {len(tokenizer):,} tokens, {len(stories):,} stories")
    started = time.process_time()
    windows = Windows(stories, tokenizer, random.Random(SEED))
    rows_of_step = (torch.stack([windows.window() for _ in range(BATCH)]) for _ in range(STEPS))  # (B, T + 1) each
    batches = ((rows[:, :-1], rows[:, 1:]) for rows in rows_of_step)
    bar = tqdm(gpt2.fit(model, batches, STEPS, PEAK), total=STEPS, desc="training", unit="step")
    for step, training in enumerate(bar, 1):
        if step % max(STEPS // 20, 1) == 0:
            bar.set_postfix_str(f"training {training:.3f}, {against_floor(validation.loss(model), validation.floor)}")
    minutes = (time.process_time() - started) / 60  # CPU time, so that other programs do not count
    loss = validation.loss(model)
    words = len(set(re.findall(r"\w+", " ".join(stories))))
    characters = sum(len(story) + 1 for story in stories)
    facts = [
        ("architecture", f"`GPT2LMHeadModel`: {LAYERS} layers, {HEADS} heads, width {WIDTH}, context {CONTEXT} tokens"),
        ("parameters", f"{model.num_parameters():,} (output layer tied to the token table), float32"),
        ("tokenizer", f"byte-level BPE, {len(tokenizer):,} tokens; any text is encoded and comes back as it was"),
        ("training", f"{minutes:.0f} minutes of one CPU core; one step is {BATCH} windows of {CONTEXT} tokens"),
        ("text", f"{characters:,} characters of the course's English stories, {words} different words"),
        ("loss on validation stories", f"{loss:.3f} nats per token"),
        ("floor", f"{validation.floor:.3f} nats per token: the true entropy of these stories, which no model can beat"),
        ("licence", "MIT"),
        ("begin a text with", "`<|endoftext|>` (a new story) or words such as `The dog drank the water`"),
    ]
    made = "trained by `make model`. Notebook 10 uses it where the published GPT-2 cannot be loaded."
    gpt2.keep_model(out, model, tokenizer, made, facts)
    print(against_floor(loss, validation.floor))


if __name__ == "__main__":
    app()
