#!/usr/bin/env bash
# Guess:   the pattern \w+ means the same in Python and in tokenizers, whose Whitespace documents it as its own.
# Fact:    in Python a combining mark is no word character: \w+ cuts Bangla words at their vowel signs and decomposed Igbo
#          words at their dots. In tokenizers, and in the package regex, marks belong to the word.
# Matters: notebook 02 cuts words with Python's re before it counts pairs, and says that this slip reappears in published
#          vocabularies; with tokenizers' Whitespace, which looks like the same pattern, the reader does not see it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3 regex==2026.11.19 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import re
import unicodedata
from importlib.metadata import version

import regex
from tokenizers.pre_tokenizers import Whitespace

print(*(f"{name} {version(name)}" for name in ("tokenizers", "regex")))
for text in ("সকালে বাজার", unicodedata.normalize("NFD", "ụtụtụ ọma")):
    pieces = [piece for piece, _ in Whitespace().pre_tokenize_str(text)]
    print(text, "re:", len(re.findall(r"\w+", text)), "regex:", len(regex.findall(r"\w+", text)), "tokenizers:", len(pieces))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qx "সকালে বাজার re: 5 regex: 2 tokenizers: 2" "$folder/said"
grep -q "re: 5 regex: 2 tokenizers: 2$" <(tail -n 1 "$folder/said")
