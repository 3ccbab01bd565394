#!/usr/bin/env bash
# Guess:   torch.linalg.lstsq gives one answer for one pair of matrices, so a fit can be repeated.
# Fact:    in 2.13 its default driver on a CPU, gelsy, takes what happens to lie in memory for a choice of columns: of a
#          table of positions it finds rank 14 at one call and 8 or 13 at the next, and then predicts nothing. The driver
#          gelsd always finds the same, and so does gelsy in 2.14.
# Matters: notebook 04 fits the matrix that shifts positions, and a student may answer shift_matrix by a fit: in float32
#          such an answer earns other marks whenever it is marked anew, and no fault of the marker is behind it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
python3 -m venv "$folder/next"
"$folder/next/bin/pip" install --quiet --disable-pip-version-check torch==2.14.1 numpy==2.4.6 || exit 77
export PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch

torch.set_num_threads(1)
release = torch.__version__.partition("+")[0]
WIDTH, SHIFT, ROWS = 16, 7, 500

angles = torch.arange(ROWS + SHIFT)[:, None] * 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
before, after = table[:ROWS].clone(), table[SHIFT:].clone()
for driver in ("gelsy", "gelsd"):
    ranks, errors = set(), []
    for call in range(256):
        debris = [torch.arange(call % 64 * WIDTH) for _ in range(3)], torch.rand(ROWS * WIDTH + call % 64)
        del debris  # what a notebook's earlier cells leave behind
        fit = torch.linalg.lstsq(before, after, driver=driver)
        ranks.add(int(fit.rank))
        errors.append((before @ fit.solution - after).abs().max().item())
    print(f"torch {release}, {driver}: ranks {sorted(ranks)}, largest error {min(errors):.5f} to {max(errors):.5f}")
    print(f"torch {release}, {driver}: the same rank each time {len(ranks) == 1}")
PY
for release in env next; do
    "$folder/$release/bin/python" "$folder/probe.py" | tee -a "$folder/said"
done
grep -qxF 'torch 2.13.0, gelsy: the same rank each time False' "$folder/said"
grep -qxF 'torch 2.13.0, gelsd: the same rank each time True' "$folder/said"
grep -qxF 'torch 2.14.1, gelsy: the same rank each time True' "$folder/said"
grep -qxF 'torch 2.14.1, gelsd: the same rank each time True' "$folder/said"
