#!/usr/bin/env bash
# Guess:   padding_idx keeps that row of an embedding at zero.
# Fact:    it only takes away the gradient of looking the row up. An initialization overwrites the zeros, AdamW's decay
#          moves the row though its gradient is zero, and with a tied output layer it gets that layer's gradient.
# Matters: notebook 11 pads sentences, notebook 09 ties weights and initializes all of them anew: with both, the row of
#          the padding is trained as any other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
import torch.nn.functional as F
from torch import nn

print("torch", torch.__version__.partition("+")[0])

torch.manual_seed(0)
for tied in (False, True):
    embedding = nn.Embedding(5, 4, padding_idx=0)
    output = nn.Linear(4, 5, bias=False)
    if tied:
        output.weight = embedding.weight
    zero = bool((embedding.weight[0] == 0).all())
    nn.init.normal_(embedding.weight)
    before = embedding.weight[0].detach().clone()
    optimizer = torch.optim.AdamW([embedding.weight], lr=0.1, weight_decay=0.1)
    F.cross_entropy(output(embedding(torch.tensor([0, 1, 2]))), torch.tensor([1, 2, 3])).backward()
    gradient = bool((embedding.weight.grad[0] != 0).any())
    optimizer.step()
    shrunk = torch.allclose(embedding.weight[0], before * 0.99)
    print(f"tied {tied}: zero at first {zero}, gradient {gradient}, only shrunk {shrunk}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'tied False: zero at first True, gradient False, only shrunk True' "$folder/said"
grep -qxF 'tied True: zero at first True, gradient True, only shrunk False' "$folder/said"
