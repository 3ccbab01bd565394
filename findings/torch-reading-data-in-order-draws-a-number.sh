#!/usr/bin/env bash
# Guess:   a DataLoader with shuffle=False uses no chance, so going through one changes no random number that comes
#          later.
# Fact:    each pass draws one number from the global generator, as a seed for workers, with no workers either. With a
#          generator of its own it draws from that one.
# Matters: this course compares trainings from one seed. A validation between two steps that reads a DataLoader changes
#          all batches and dropout masks after it; the notebooks draw their batches from a generator of their own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
from torch.utils.data import DataLoader

print("torch", torch.__version__.partition("+")[0])

for name, arguments in (("no pass", None), ("a pass", {}), ("a pass, own generator", {"generator": torch.Generator()})):
    torch.manual_seed(0)
    if arguments is not None:
        list(DataLoader(list(range(4)), batch_size=2, shuffle=False, **arguments))
    print(f"{name}: {torch.rand(1).item():.4f}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'no pass: 0.4963' "$folder/said"
! grep -qx "a pass: 0.4963" "$folder/said"
grep -qxF 'a pass, own generator: 0.4963' "$folder/said"
