#!/usr/bin/env bash
# Guess:   a minor release of torch leaves what scaled_dot_product_attention keeps, and which calls it takes, as they are.
# Fact:    in 2.13 queries of three dimensions run as written out on a CPU, and all T x T weights are kept for the
#          backward pass; in 2.14 they run fused, as four dimensions do, and a linear amount is kept. A mask beside
#          is_causal=True is an error in three dimensions, as documented; in four 2.13 takes it, and 2.14 does not.
# Matters: notebook 05 measures what is kept, and 05 to 09 take this function for an answer's attention: a wrong call
#          that one release accepts stops in the next, and the catalogue is written for the pinned one.
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
import torch.nn.functional as F

release = torch.__version__.partition("+")[0]
T = 256
kept = set()


def keep(tensor):
    kept.add((tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes()))
    return tensor


torch.manual_seed(0)
for name, front in (("three", (1,)), ("four", (1, 1))):
    query, key, value = (torch.randn(*front, T, 8, requires_grad=True) for _ in range(3))
    kept.clear()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        F.scaled_dot_product_attention(query, key, value)
    weights = sum(size for _, size in kept) >= T * T * 4
    mask = torch.ones(T, T, dtype=torch.bool)
    both = "computed"
    try:
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=True)
    except RuntimeError:
        both = "an error"
    print(f"torch {release}, {name} dimensions: keeps T x T numbers {weights}, mask and is_causal {both}")
PY
for release in env next; do
    "$folder/$release/bin/python" "$folder/probe.py" | tee -a "$folder/said"
done
grep -qxF 'torch 2.13.0, three dimensions: keeps T x T numbers True, mask and is_causal an error' "$folder/said"
grep -qxF 'torch 2.13.0, four dimensions: keeps T x T numbers False, mask and is_causal computed' "$folder/said"
grep -qxF 'torch 2.14.1, three dimensions: keeps T x T numbers False, mask and is_causal an error' "$folder/said"
grep -qxF 'torch 2.14.1, four dimensions: keeps T x T numbers False, mask and is_causal an error' "$folder/said"
