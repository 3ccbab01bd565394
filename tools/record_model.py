"""Record what a causal language model says: its next tokens, a greedy and a sampled text, and the shapes of a block.

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
    }


def write(folder: str | Path, file: Path) -> None:
    """Write the record of a model as JSON."""
    file.write_text(json.dumps(record(folder), indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
