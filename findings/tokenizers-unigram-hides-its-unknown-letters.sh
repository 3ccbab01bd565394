#!/usr/bin/env bash
# Guess:   a letter that is not in the vocabulary is shown as the unknown token.
# Fact:    a Unigram model has its id, and shows the text instead: the tokens look perfect while the id is that of <unk>,
#          and decoding gives <unk>. Two unknown letters in a row are one token. A BPE shows <unk>, twice.
# Matters: notebook 02 has readers look at tokens to see what a vocabulary does not cover, in Igbo and Bangla above all.
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
unigram = models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -1.5)], 0, False)
bpe = models.BPE(vocab={"<unk>": 0, "a": 1, "b": 2}, merges=[], unk_token="<unk>")
for name, model in (("Unigram", unigram), ("BPE", bpe)):
    encoded = Tokenizer(model).encode("aịọb")
    print(name, encoded.tokens, encoded.ids)
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qx "Unigram \['a', 'ịọ', 'b'\] \[1, 0, 2\]" "$folder/said"
grep -qx "BPE \['a', '<unk>', '<unk>', 'b'\] \[1, 0, 0, 2\]" "$folder/said"
