#!/usr/bin/env bash
# Guess:   a picture that was pasted into a cell of text stays, since jupytext keeps Markdown as it is.
# Fact:    the picture is an attachment, beside the text, and no text format has a place for it: the link comes back
#          and leads nowhere. With --update it is kept for a cell whose text is the same, or nearly, and for a notebook
#          that is there; a new notebook from the text file has none.
# Matters: answers in writing may be drawings: students paste a photograph. A class that hands in jupytext's files
#          hands in no pictures; marking by hand sees an empty frame.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check jupytext==1.19.6 nbformat==5.11.1 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import base64
from importlib.metadata import version

import jupytext
from nbformat.v4 import new_markdown_cell, new_notebook

print("jupytext", version("jupytext"))
picture = {"drawing.png": {"image/png": base64.b64encode(b"the picture").decode()}}
notebook = new_notebook(cells=[new_markdown_cell("My answer: ![](attachment:drawing.png)", attachments=picture)])
for form in ("py:percent", "md", "md:myst", "Rmd"):
    (cell,) = jupytext.reads(jupytext.writes(notebook, form), form).cells
    print(f"{form}: link {'attachment:drawing.png' in cell.source}, picture {'attachments' in cell}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'py:percent: link True, picture False' "$folder/said"
grep -qxF 'md: link True, picture False' "$folder/said"
grep -qxF 'md:myst: link True, picture False' "$folder/said"
grep -qxF 'Rmd: link True, picture False' "$folder/said"
