#!/usr/bin/env bash
# Guess:   a table of sentences, one pair to a line, has as many pairs as lines; a quotation mark that never ends is an
#          error, or a letter.
# Fact:    pandas, pyarrow and Python's csv all take a mark that begins a field for the beginning of a quoted one, and
#          read on over tabs and ends of lines to the next mark. Speech over several lines begins so. Six pairs become
#          four, one of them with half of a dialogue as its source, and nothing is said. quoting=csv.QUOTE_NONE keeps
#          all six; quoted words in the middle of a line do no harm.
# Matters: notebook 11 and docs/translating.md train on tables of pairs, and news and stories are full of speech;
#          tools/training/translate.py takes each line by itself, and such a mark for a letter.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 pyarrow==26.0.1 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import csv
import io
from importlib.metadata import version

import pandas
import pyarrow.csv

print(*(f"{name} {version(name)}" for name in ("pandas", "pyarrow")))
table = """It rains.\tMmiri na-ezo.
"Come in," he said.\tO kwuru.
"Who is it?\tOnye?
Obi came.\tObi bịara.
She said "yes" and went.\tO kwetara wee gaa.
We eat.\tAnyị na-eri nri.
"""
found = {
    "pandas": pandas.read_csv(io.StringIO(table), sep="\t", header=None).values.tolist(),
    "csv": list(csv.reader(io.StringIO(table), delimiter="\t")),
    "pyarrow": pyarrow.csv.read_csv(
        io.BytesIO(table.encode()),
        read_options=pyarrow.csv.ReadOptions(column_names=["en", "ig"]),
        parse_options=pyarrow.csv.ParseOptions(delimiter="\t"),
    ).to_pylist(),
    "no quoting": list(csv.reader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE)),
}
for name, pairs in found.items():
    print(name, len(pairs), "of", len(table.splitlines()))
print(repr(found["pandas"][2][0]))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'pandas 4 of 6' "$folder/said"
grep -qxF 'csv 4 of 6' "$folder/said"
grep -qxF 'pyarrow 4 of 6' "$folder/said"
grep -qxF 'no quoting 6 of 6' "$folder/said"
