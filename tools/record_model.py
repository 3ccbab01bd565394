"""Record what a causal language model says: next tokens, texts, answers after examples, and the shapes of a block.

    python -m tools.record_model offline/smollm2 solutions/10-hugging-face-gpt2/smollm2.json

Notebook 10 shows such a record where the model itself is not there. The model is a folder, or a name on the hub;
`python -m tools.check_gpt2 --record FILE` records the published GPT-2. A sampled text may differ between machines.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

PROMPTS = (
    "Yesterday, Meg saw a dog near the river. The dog drank the water because it was",
    "The capital of France is",
    "Money can't buy",
)
SAMPLING = {"do_sample": True, "temperature": 0.8, "top_k": 50}
SIZES = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "hidden_size", "vocab_size")
# As in section 6 of notebook 10: what is asked, the right answer, and the end of an example
ANIMALS = ("dog", "cat", "cow", "goat", "lion", "pig")
STORY = "Meg saw a {0} near the river. The {0} drank the water because it was thirsty. Who was thirsty? The"
TASKS = {"plural": ("{0}:", " {0}s", "\n"), "question": (STORY, " {0}", " was. ")}
SHOTS = (0, 1, 3)  # solved examples before the task
SHOWN = ANIMALS.index("cow")  # whose answers are written out
IN_FIRST_BLOCK = re.compile(r"\.(?:layers|h)\.0\.(.*)")


@torch.no_grad()
def record(folder: str | Path, tokens: int = 24, likeliest: int = 10) -> dict[str, Any]:
    """Return what the model of a folder says after each of PROMPTS, and what it is made of."""
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    said = []
    for prompt in PROMPTS:
        inputs = tokenizer(prompt, return_tensors="pt")
        best = model(**inputs).logits[0, -1].softmax(-1).topk(likeliest)
        torch.manual_seed(0)
        greedy, sampled = (
            model.generate(**inputs, max_new_tokens=tokens, pad_token_id=tokenizer.eos_token_id, **how)
            for how in ({"do_sample": False}, SAMPLING)
        )
        new = inputs.input_ids.shape[1]
        said.append(
            {
                "prompt": prompt,
                "next": {
                    tokenizer.decode([i]): round(p, 4)
                    for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
                },
                "greedy": tokenizer.decode(greedy[0, new:], skip_special_tokens=True),
                "sampled": tokenizer.decode(sampled[0, new:], skip_special_tokens=True),
            }
        )
    return {
        "source": f"{Path(folder).name}, by tools/record_model.py, transformers {transformers.__version__}",
        "sampling": {**SAMPLING, "seed": 0},
        "parameters": model.num_parameters(),
        "sizes": {name: getattr(model.config, name) for name in SIZES if hasattr(model.config, name)},
        "first block": {found[1]: shape for name, shape in shapes.items() if (found := IN_FIRST_BLOCK.search(name))},
        "said": said,
        "few-shot": few_shot(model, tokenizer),
    }


@torch.no_grad()
def few_shot(model: Any, tokenizer: Any, tokens: int = 6) -> dict[str, Any]:
    """Return the mean −ln p of the right answers to TASKS after each number of examples, and what is written instead.

    "exchanged" is the loss after the most examples, each with the next one's answer, and the last with the first one's.
    The prompts are in the record, so that the notebook can assert that it asks the same.
    """

    def loss(task: str, shots: int, shift: int = 0) -> float:
        total = 0.0
        for i, animal in enumerate(ANIMALS):
            answer = tokenizer(TASKS[task][1].format(animal), return_tensors="pt").input_ids
            ids = torch.cat([tokenizer(_prompt(task, i, shots, shift), return_tensors="pt").input_ids, answer], 1)
            log_probs = model(ids).logits[0, -answer.shape[1] - 1 : -1].log_softmax(-1)
            total -= log_probs.gather(1, answer.T).sum().item()
        return round(total / len(ANIMALS), 4)

    def text(task: str, shots: int) -> str:
        inputs = tokenizer(_prompt(task, SHOWN, shots), return_tensors="pt")
        how = {"max_new_tokens": tokens, "do_sample": False, "pad_token_id": tokenizer.eos_token_id}
        return tokenizer.decode(model.generate(**inputs, **how)[0, inputs.input_ids.shape[1] :])

    return {
        "animals": ANIMALS,
        "tasks": TASKS,
        "shots": SHOTS,
        "shown": ANIMALS[SHOWN],
        "losses": {task: [loss(task, shots) for shots in SHOTS] for task in TASKS},
        "exchanged": {task: loss(task, SHOTS[-1], shift=1) for task in TASKS},
        "written": {task: [text(task, shots) for shots in SHOTS] for task in TASKS},
    }


def _prompt(task: str, i: int, shots: int, shift: int = 0) -> str:
    """Return a task for animal i after examples with other animals, whose answers are `shift` examples further on."""
    ask, right, end = TASKS[task]
    others = (ANIMALS * 2)[i + 1 : i + 1 + shots]
    answers = others[shift:] + others[:shift]
    examples = (ask.format(a) + (right + end).format(b) for a, b in zip(others, answers, strict=True))
    return "".join(examples) + ask.format(ANIMALS[i])


def write(folder: str | Path, file: Path) -> None:
    """Write the record of a model as JSON."""
    file.write_text(json.dumps(record(folder), indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
