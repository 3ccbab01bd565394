#!/usr/bin/env bash
# Guess:   nn.MultiheadAttention initializes the weights of queries, keys and values alike, however they are stored.
# Fact:    in one matrix of (3 C, C), as usual, they start with a spread of 0.71 times that of three matrices, which it
#          has with another kdim: Xavier's rule counts all the rows. nn.Linear would start in between, at 0.58 of the
#          latter.
# Matters: notebook 07 compares its own heads, of three nn.Linear each, with torch's. Equal shapes do not start equal.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
from torch import nn

print("torch", torch.__version__.partition("+")[0])

torch.manual_seed(0)
together = nn.MultiheadAttention(512, 8).in_proj_weight.std().item()
apart = nn.MultiheadAttention(512, 8, kdim=511, vdim=512).q_proj_weight.std().item()
linear = nn.Linear(512, 512).weight.std().item()
print(f"of three matrices: one matrix {together / apart:.2f}, nn.Linear {linear / apart:.2f}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'of three matrices: one matrix 0.71, nn.Linear 0.58' "$folder/said"
