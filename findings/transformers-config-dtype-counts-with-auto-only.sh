#!/usr/bin/env bash
# Guess:   a model made from a config has the dtype that the config names.
# Fact:    AutoModelForCausalLM.from_config does so; GPT2LMHeadModel(config) makes float32 from the same config. A model
#          that is saved in bfloat16 is loaded in bfloat16 by both, without a word.
# Matters: notebook 10 makes GPT-2 by its class and compares logits to a tolerance that bfloat16 misses by far.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
import transformers
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
print("transformers", transformers.__version__, "torch", torch.__version__.partition("+")[0])
config = GPT2Config(
    vocab_size=40, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0, dtype="bfloat16"
)

import tempfile

print("by its class:", GPT2LMHeadModel(config).dtype)
print("by Auto:", AutoModelForCausalLM.from_config(config).dtype)
with tempfile.TemporaryDirectory() as folder:
    GPT2LMHeadModel(config).bfloat16().save_pretrained(folder)
    print("saved and loaded:", GPT2LMHeadModel.from_pretrained(folder).dtype)
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'by its class: torch.float32' "$folder/said"
grep -qxF 'by Auto: torch.bfloat16' "$folder/said"
grep -qxF 'saved and loaded: torch.bfloat16' "$folder/said"
