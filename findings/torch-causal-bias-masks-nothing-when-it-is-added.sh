#!/usr/bin/env bash
# Guess:   what torch.nn.attention.bias.causal_upper_left(T, T) returns is a tensor [T, T]: it prints as one, so that
#          scores + bias masks the future as attn_mask=bias does, or at least raises an error.
# Fact:    only scaled_dot_product_attention knows what it means. As a tensor it has a first dimension of 1 (of 2 if made
#          by causal_lower_right: the number of its kind, taken for a size) and memory that nobody has written. Added to
#          scores it raises nothing where the shapes broadcast, and hides no later token.
# Matters: notebooks 05, 06 and 09 ask for masks that are added or filled in by hand, and accept PyTorch's own attention
#          with this mask. Somebody who moves it from one to the other has no mask, and nothing says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/bias.py" <<'PY'
import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

print("torch", torch.__version__.partition("+")[0])
torch.manual_seed(0)
T = 5
x = torch.randn(2, 3, T, 8)
scores = x @ x.mT / 8**0.5
future = torch.ones(T, T, dtype=torch.bool).triu(1)
right = scores.masked_fill(future, -torch.inf).softmax(-1) @ x
bias = causal_upper_left(T, T)
attended = F.scaled_dot_product_attention(x, x, x, attn_mask=bias)
print("as attn_mask, the causal result:", torch.allclose(attended, right, atol=1e-5))
print("its printed form begins with:", repr(bias)[:28])
for make in (causal_upper_left, causal_lower_right):
    print(f"{make.__name__}({T}, {T}) has shape {tuple(make(T, T).shape)}")
added = torch.Tensor(scores + bias).as_subclass(torch.Tensor)
print("scores + bias has shape", tuple(added.shape))
print("every later token then has a score of -inf:", bool((added[..., future] == -torch.inf).all()))
PY
python -W ignore "$folder/bias.py" | tee "$folder/said"
grep -qx "as attn_mask, the causal result: True" "$folder/said"
grep -qF "its printed form begins with: tensor([[ True, False, False" "$folder/said"
grep -qxF "causal_upper_left(5, 5) has shape (1, 5, 5)" "$folder/said"
grep -qxF "causal_lower_right(5, 5) has shape (2, 5, 5)" "$folder/said"
grep -qxF "scores + bias has shape (2, 3, 5, 5)" "$folder/said"
grep -qx "every later token then has a score of -inf: False" "$folder/said"
