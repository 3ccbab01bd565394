#!/usr/bin/env bash
# Guess:   each position has a rotation of its own, whatever the dtype of the queries; it is always the same one.
# Fact:    positions are counted in the dtype of the queries. In bfloat16, 256 and 257 are one position, and of 600
#          tokens 193 share theirs with a neighbour. Angles are then kept for later calls: a module that was called
#          with float32 first is right in bfloat16, and one that was called with bfloat16 first is wrong in float32.
# Matters: notebook 08-further has apply_rope written and compared. One short call in float32 to try a model out
#          decides whether its training in bfloat16 can count.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check rotary-embedding-torch==0.9.1 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

import torch
from rotary_embedding_torch import RotaryEmbedding

print(*(f"{name} {version(name).partition('+')[0]}" for name in ("rotary-embedding-torch", "torch")))
torch.manual_seed(0)
queries = torch.randn(32).expand(1, 1, 600, 32)  # 600 times the same vector: only its place can tell tokens apart


def places(rope, dtype):
    return len(rope.rotate_queries_or_keys(queries.to(dtype)).float()[0, 0].unique(dim=0))


for first, second in ((torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32)):
    rope = RotaryEmbedding(dim=32)
    print(f"{first} first: {places(rope, first)} places, then {second}: {places(rope, second)}")
rotated = RotaryEmbedding(dim=32).rotate_queries_or_keys(queries.bfloat16())[0, 0]
print("256 and 257 the same:", torch.equal(rotated[256], rotated[257]))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'torch.float32 first: 600 places, then torch.bfloat16: 600' "$folder/said"
grep -qxF 'torch.bfloat16 first: 407 places, then torch.float32: 407' "$folder/said"
grep -qxF '256 and 257 the same: True' "$folder/said"
