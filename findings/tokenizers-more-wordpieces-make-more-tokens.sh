#!/usr/bin/env bash
# Guess:   a larger vocabulary makes a text shorter, or leaves it as it is.
# Fact:    so it is with BPE's merges. WordPiece takes the longest piece from the left: with the one piece "ab" more,
#          "abcd" grows from two tokens to three.
# Matters: notebook 02 plots the length of a text against the number of merges, which only falls; the curve of a WordPiece
#          vocabulary, which readers find in BERT, need not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

from tokenizers import Tokenizer, models

print("tokenizers", version("tokenizers"))
small = ["[UNK]", "a", "##b", "##c", "##d", "##bcd"]
for pieces in (small, [*small, "ab"]):
    model = models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    print(len(pieces), "pieces:", Tokenizer(model).encode("abcd").tokens)
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qx "6 pieces: \['a', '##bcd'\]" "$folder/said"
grep -qx "7 pieces: \['ab', '##c', '##d'\]" "$folder/said"
