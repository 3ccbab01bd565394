#!/usr/bin/env bash
# Guess:   load_file gives the tensors in the order in which they were saved, as torch.load does; so a list of weights
#          can be copied by zip.
# Fact:    it sorts them: by dtype first, then by name as text, so that layer 10 comes between 1 and 2. From eleven
#          layers on, whose shapes agree, zip puts each weight into another layer, and nothing raises. Where single
#          layers are kept in float32, the order by name is gone, too.
# Matters: notebooks 07 and 10 copy weights between models, and GPT-2 has twelve layers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check safetensors==0.8.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder TMPDIR=$folder
cat > "$folder/probe.py" <<'PY'
import os
import tempfile
from importlib.metadata import version

import numpy
from safetensors.numpy import load_file, save_file

print(*(f"{name} {version(name)}" for name in ("safetensors", "numpy")))
file = os.path.join(tempfile.mkdtemp(), "model.safetensors")
for name, dtypes in (("one dtype", ["float16"] * 12), ("norm of 2 in float32", ["float16"] * 2 + ["float32"] + ["float16"] * 9)):
    save_file({f"h.{i}": numpy.zeros(2, dtype) for i, dtype in enumerate(dtypes)}, file)
    print(f"{name}:", *(key.removeprefix("h.") for key in load_file(file)))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'one dtype: 0 1 10 11 2 3 4 5 6 7 8 9' "$folder/said"
grep -qxF 'norm of 2 in float32: 2 0 1 10 11 3 4 5 6 7 8 9' "$folder/said"
