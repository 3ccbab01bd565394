#!/usr/bin/env bash
# Guess:   a GPT exported by torch.export for any length takes texts of up to its context, as the model does.
# Fact:    its mask, cut from a buffer as in nanoGPT, gives the program a guard: any length up to 16 but 16 itself. The
#          full context, which training and long texts use, is refused. The dropout of the moment is part of the
#          program, too: exported in training, it stays at work, and eval() raises.
# Matters: notebook 06 cuts the mask from a buffer, and a text of exactly block_size tokens is allowed in notebook 09,
#          whose generate shows the model no fewer.
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


class Model(nn.Module):
    def __init__(self, block_size=16):
        super().__init__()
        self.tok, self.drop = nn.Embedding(11, 8), nn.Dropout(0.5)
        self.register_buffer("mask", torch.ones(block_size, block_size).triu(1).bool())

    def forward(self, ids):
        T = ids.shape[1]
        x = self.drop(self.tok(ids))
        scores = (x @ x.transpose(1, 2)).masked_fill(self.mask[:T, :T], float("-inf"))
        return scores.softmax(-1) @ x


def exported(model):
    length = {1: torch.export.Dim.DYNAMIC}
    return torch.export.export(model, (torch.zeros(1, 5, dtype=torch.long),), dynamic_shapes=(length,)).module()


model = Model().eval()
program = exported(model)
for T in (1, 2, 15, 16):
    ids = torch.arange(T)[None] % 11
    try:
        print(f"length {T}: equal", torch.allclose(program(ids), model(ids)))
    except AssertionError as error:
        print(f"length {T}:", str(error).splitlines()[0])
program = exported(model.train())
ids = torch.arange(9)[None]
print("exported in training, twice the same:", torch.equal(program(ids), program(ids)))
try:
    program.eval()
except NotImplementedError as error:
    print("eval():", error)
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'length 1: equal True' "$folder/said"
grep -qxF 'length 2: equal True' "$folder/said"
grep -qxF 'length 15: equal True' "$folder/said"
grep -qxF 'length 16: Guard failed: ids.size()[1] != 16' "$folder/said"
grep -qxF 'exported in training, twice the same: False' "$folder/said"
grep -qxF 'eval(): Calling eval() is not supported yet.' "$folder/said"
