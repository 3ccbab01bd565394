#!/usr/bin/env bash
# Guess:   targets of -100, which torch's cross_entropy leaves out, are left out or refused by torchmetrics'
#          Perplexity.
# Fact:    without ignore_index=-100 they are ids counted from the end, as in Python: token V - 100. Perplexity goes up
#          or down, and no error comes. With fewer than 100 tokens there is an error.
# Matters: notebooks 01, 09 and 11 compute perplexity, and the stories of 09 are padded with -100.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torchmetrics==1.9.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

import torch
import torch.nn.functional as F
from torchmetrics.text import Perplexity

print(*(f"{name} {version(name).partition('+')[0]}" for name in ("torchmetrics", "torch")))
logits = torch.zeros(1, 3, 200)
logits[0, :, 7] = 5.0  # the model is sure of token 7, which is right twice
targets = torch.tensor([[7, 7, -100]])
print(f"cross_entropy: {F.cross_entropy(logits[0], targets[0]).exp():.2f}")
print(f"told of -100: {Perplexity(ignore_index=-100)(logits, targets):.2f}")
print(f"by default: {Perplexity()(logits, targets):.2f}")
print(f"with 100 for -100: {Perplexity()(logits, torch.tensor([[7, 7, 100]])):.2f}")
try:
    Perplexity()(logits[..., :50], targets)
except (IndexError, RuntimeError):
    print("of 50 tokens: an error")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'cross_entropy: 2.34' "$folder/said"
grep -qxF 'told of -100: 2.34' "$folder/said"
grep -qxF 'by default: 12.39' "$folder/said"
grep -qxF 'with 100 for -100: 12.39' "$folder/said"
grep -qxF 'of 50 tokens: an error' "$folder/said"
