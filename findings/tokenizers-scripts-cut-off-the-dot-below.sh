#!/usr/bin/env bash
# Guess:   UnicodeScripts cuts a text where the script changes, so Igbo, all of it Latin, stays whole up to its spaces.
# Fact:    if the letters are decomposed, each dot below is cut off its vowel, and takes the space behind it along: a
#          combining mark has no script of its own ("inherited"), and tokenizers takes that for another one.
# Matters: this course writes Igbo in both forms, and a BPE never merges across such a cut. A learner who tries the
#          pre-tokenizers of notebook 02's library gets vocabularies without the letters of the language.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import unicodedata
from importlib.metadata import version

from tokenizers.pre_tokenizers import UnicodeScripts

print("tokenizers", version("tokenizers"))
for form in ("NFC", "NFD"):
    text = unicodedata.normalize(form, "ụlọ ọma")
    print(form, [unicodedata.normalize("NFC", piece) for piece, _ in UnicodeScripts().pre_tokenize_str(text)])
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qx "NFC \['ụlọ ọma'\]" "$folder/said"
grep -qx "NFD \['u', '̣', 'lo', '̣ ', 'o', '̣', 'ma'\]" "$folder/said"
