#!/usr/bin/env bash
# Guess:   model.to(torch.bfloat16) gives the model that from_pretrained(dtype=torch.bfloat16) loads.
# Fact:    all weights are equal in bits, and the frequencies of its rotary positions are not: a cast rounds them to
#          bfloat16, loading keeps float32. Far from the beginning the angles are off by radians, the two models part,
#          and going back to float32 does not mend it. Saved and loaded anew, the model is right again.
# Matters: notebook 08-further has RoPE written, and 12 tells of training in bfloat16. A model that is cast for speed
#          loses its sense of far places, which no test on short texts shows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder TMPDIR=$folder
cat > "$folder/probe.py" <<'PY'
import copy
import tempfile
from importlib.metadata import version

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
print(*(f"{name} {version(name).partition('+')[0]}" for name in ("transformers", "torch")))
torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=11, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1
)
model, folder = LlamaForCausalLM(config), tempfile.mkdtemp()
model.save_pretrained(folder)
cast = copy.deepcopy(model).to(torch.bfloat16)
loaded = LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
print("weights equal:", all(map(torch.equal, cast.parameters(), loaded.parameters())))


def angles(model, position):
    return position * model.model.rotary_emb.inv_freq.double()


for name, other in (("loaded", loaded), ("cast", cast), ("cast and back", copy.deepcopy(cast).float())):
    off = [(angles(other, p) - angles(model, p)).abs().max().item() for p in (10, 1000, 4000)]
    print(f"{name}: radians off at 10, 1000 and 4000 tokens:", *(f"{x:.2f}" for x in off))
PY
python "$folder/probe.py" 2> "$folder/log" | tee "$folder/said"
grep -qxF 'weights equal: True' "$folder/said"
grep -qxF 'loaded: radians off at 10, 1000 and 4000 tokens: 0.00 0.00 0.00' "$folder/said"
grep -qxF 'cast: radians off at 10, 1000 and 4000 tokens: 0.00 0.18 0.71' "$folder/said"
grep -qxF 'cast and back: radians off at 10, 1000 and 4000 tokens: 0.00 0.18 0.71' "$folder/said"
