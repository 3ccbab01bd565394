#!/usr/bin/env bash
# Guess:   the WordPiece decoder's cleanup takes away the space before the sign that ends a sentence.
# Fact:    before . ? ! and , it does, after any script; before the danda, which ends a Bangla sentence, it does not. So a
#          text that is decoded and compared with its original is never equal in Bangla, and often is in English.
# Matters: notebook 11 compares translations as strings and counts n-grams: a space more before each danda is a token more.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

from tokenizers.decoders import WordPiece

print("tokenizers", version("tokenizers"))
for tokens in (["it", "rains", "."], ["ভাত", "?"], ["ভাত", "।"]):
    print(repr(WordPiece(cleanup=True).decode(tokens)))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qx "'it rains.'" "$folder/said"
grep -qx "'ভাত?'" "$folder/said"
grep -qx "'ভাত ।'" "$folder/said"
