#!/usr/bin/env bash
# Guess:   an exported attention gives what torch gives, or NaN, in a row that may see nothing.
# Fact:    torch gives zeros. The export of today, opset 20, gives the mean of all values, those of the future and of
#          the padding among them; opset 23, which has an operator for attention, gives zeros. All other rows agree.
# Matters: notebook 06 shows what a softmax over nothing becomes, and asks for zeros. A padded sentence in an exported
#          model sees what no mask of the model allows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 onnx==1.23.2 onnxscript==0.7.2 onnxruntime==1.32.0 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder TMPDIR=$folder
cat > "$folder/probe.py" <<'PY'
import tempfile
from importlib.metadata import version

import onnxruntime
import torch
import torch.nn.functional as F

print(*(f"{name} {version(name).partition('+')[0]}" for name in ("torch", "onnx", "onnxscript", "onnxruntime")))


class Attention(torch.nn.Module):
    def forward(self, x, allowed):
        return F.scaled_dot_product_attention(x, x, x, attn_mask=allowed)


torch.manual_seed(0)
x = torch.randn(1, 1, 3, 4)
allowed = torch.tensor([[1, 0, 0], [0, 0, 0], [1, 1, 1]], dtype=torch.bool)
answers = {"torch": Attention()(x, allowed)}
for opset in (20, 23):
    file = f"{tempfile.mkdtemp()}/model.onnx"
    torch.onnx.export(Attention(), (x, allowed), dynamo=True, opset_version=opset, verbose=False).save(file)
    (out,) = onnxruntime.InferenceSession(file).run(None, {"x": x.numpy(), "allowed": allowed.numpy()})
    answers[f"opset {opset}"] = torch.tensor(out)
for name, out in answers.items():
    others = torch.allclose(out[0, 0, ::2], answers["torch"][0, 0, ::2], atol=1e-5)
    zeros, mean = out[0, 0, 1].eq(0).all().item(), torch.allclose(out[0, 0, 1], x[0, 0].mean(0), atol=1e-5)
    print(f"{name}: other rows agree {others}; the row that sees nothing is zeros {zeros}, the mean of all {mean}")
PY
python "$folder/probe.py" 2> "$folder/log" | tee "$folder/said"
grep -qxF 'torch: other rows agree True; the row that sees nothing is zeros True, the mean of all False' "$folder/said"
grep -qxF 'opset 20: other rows agree True; the row that sees nothing is zeros False, the mean of all True' "$folder/said"
grep -qxF 'opset 23: other rows agree True; the row that sees nothing is zeros True, the mean of all False' "$folder/said"
