#!/usr/bin/env bash
# Guess:   save_model writes a tied weight once, under the name under which the model has it first, the embedding's.
# Fact:    it keeps the name that comes first in the alphabet, lm_head.weight, whoever owns the weight; transformers
#          keeps the embedding's. load_state_dict refuses the file for the very model that wrote it, and with
#          strict=False a model whose layers are not tied keeps its random embedding. load_model reads it.
# Matters: notebook 09 ties its GPT, calling the two layers token_embedding and lm_head, and 10 saves one for
#          transformers. The next reader of the file looks for the other name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check safetensors==0.8.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder TMPDIR=$folder
cat > "$folder/probe.py" <<'PY'
import os
import tempfile
from importlib.metadata import version

import torch
from safetensors.torch import load_file, load_model, save_model
from torch import nn

print(*(f"{name} {version(name).partition('+')[0]}" for name in ("safetensors", "torch")))


class Model(nn.Module):
    def __init__(self, tied):
        super().__init__()
        self.token_embedding, self.lm_head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        if tied:
            self.lm_head.weight = self.token_embedding.weight


model = Model(tied=True)
print("in the model:", *(name for name, _ in model.named_parameters()))
file = os.path.join(tempfile.mkdtemp(), "model.safetensors")
save_model(model, file)
print("in the file:", *load_file(file))
try:
    Model(tied=True).load_state_dict(load_file(file))
except RuntimeError as error:
    print("load_state_dict:", str(error).splitlines()[1].strip())
apart = Model(tied=False)
print("apart, not strict, missing:", *apart.load_state_dict(load_file(file), strict=False).missing_keys)
print("its embedding is the file's:", torch.equal(apart.token_embedding.weight, model.token_embedding.weight))
again = Model(tied=True)
load_model(again, file)
print("load_model:", torch.equal(again.token_embedding.weight, model.token_embedding.weight))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'in the model: token_embedding.weight' "$folder/said"
grep -qxF 'in the file: lm_head.weight' "$folder/said"
grep -qxF 'load_state_dict: Missing key(s) in state_dict: "token_embedding.weight".' "$folder/said"
grep -qxF 'apart, not strict, missing: token_embedding.weight' "$folder/said"
grep -qxF "its embedding is the file's: False" "$folder/said"
grep -qxF 'load_model: True' "$folder/said"
