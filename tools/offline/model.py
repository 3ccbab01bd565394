"""Turn a model's GGUF file into a folder that transformers opens by itself: python -m tools.offline.model GGUF FOLDER

gguf and accelerate must be importable. `make offline` puts their wheels on PYTHONPATH for this process alone, so they
are installed nowhere. The weights are kept as float16: rounding them costs far less than their four bits did.
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer


def convert(gguf: Path, folder: Path) -> None:
    where = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name, "local_files_only": True}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    del model.config.quantization_config  # the weights that are saved are plain numbers
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    weights = {name: one.to(torch.float16) for name, one in model.state_dict().items() if name not in tied}
    folder.mkdir()
    tokenizer.save_pretrained(folder)
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
