#!/usr/bin/env bash
# Guess:   do_sample=True with top_k=1 is greedy decoding, and top_k=5 draws from five tokens.
# Fact:    all tokens that score as much as the k-th are kept. In bfloat16, which tells numbers near 10 apart by
#          sixteenths, that is no rare case: 10.03 and 10.00 are one number, and top_k=1 draws either. top_p does cut
#          between them.
# Matters: notebook 09 has next_token_distribution written, which may break ties as it likes; a check against
#          transformers must not tie.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

import torch
import transformers
from transformers import TopKLogitsWarper, TopPLogitsWarper

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
print(*(f"{name} {version(name).partition('+')[0]}" for name in ("transformers", "torch")))
logits = torch.tensor([[10.03, 10.0, 9.98, 3.0]])
for dtype in (torch.float32, torch.bfloat16):
    given = logits.to(dtype)
    kept = [warper(None, given).isfinite().sum().item() for warper in (TopKLogitsWarper(1), TopPLogitsWarper(0.3))]
    print(f"{dtype}: top_k=1 keeps {kept[0]}, top_p=0.3 keeps {kept[1]}; topk(1) would keep {given.topk(1).values.numel()}")
PY
python "$folder/probe.py" 2> "$folder/log" | tee "$folder/said"
grep -qxF 'torch.float32: top_k=1 keeps 1, top_p=0.3 keeps 1; topk(1) would keep 1' "$folder/said"
grep -qxF 'torch.bfloat16: top_k=1 keeps 3, top_p=0.3 keeps 1; topk(1) would keep 1' "$folder/said"
