#!/usr/bin/env bash
# Guess:   after load_state_dict(..., assign=True) the model is as after the same call without it, only quicker to make.
# Fact:    its parameters are new objects. Tied weights still share memory and are two parameters now: each gets a part
#          of the gradient, a count of parameters counts both. An optimizer built before moves the old ones: no step is
#          taken.
# Matters: notebook 09 ties its output layer to the embedding and resumes training from a file. The loss of such a model
#          is right at first, and `is` is the only check of the tie that notices.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.output = nn.Linear(4, 5, bias=False)
        self.output.weight = self.embedding.weight


print("torch", torch.__version__.partition("+")[0])

saved = Tied().state_dict()
for assign in (False, True):
    model = Tied()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.load_state_dict(saved, assign=assign)
    before = model.embedding.weight.detach().clone()
    same = model.output.weight is model.embedding.weight
    memory = model.output.weight.data_ptr() == model.embedding.weight.data_ptr()
    model.output(model.embedding(torch.tensor([1, 2]))).sum().backward()
    optimizer.step()
    moved = bool((model.embedding.weight != before).any())
    number = len(list(model.parameters()))
    print(f"assign={assign}: {number} parameters, tied {same}, same memory {memory}, moved {moved}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'assign=False: 1 parameters, tied True, same memory True, moved True' "$folder/said"
grep -qxF 'assign=True: 2 parameters, tied False, same memory True, moved False' "$folder/said"
