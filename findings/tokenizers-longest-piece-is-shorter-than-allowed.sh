#!/usr/bin/env bash
# Guess:   BpeTrainer(max_token_length=4) learns pieces of up to 4 letters, and max_token_length=1 none of more than one.
# Fact:    the longest has 3: a new pair must be shorter than the number. Below 3 the longest has 2, since the pairs that
#          are counted before the first merge are not looked at. Letters are counted, not bytes.
# Matters: a reader of notebook 02 who bounds the pieces of the library to compare them with an own training, which stops
#          at the length itself, gets two vocabularies and looks for the mistake in the own one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

print("tokenizers", version("tokenizers"))
for text in ("the weather in the northern harbour", "সকালে বাজার থেকে মাছ কিনেছি"):
    for longest in (1, 2, 3, 4, 6):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.train_from_iterator(
            [text] * 9, trainers.BpeTrainer(vocab_size=500, max_token_length=longest, show_progress=False)
        )
        print(f"max_token_length={longest}: longest piece", max(map(len, tokenizer.get_vocab())))
PY
python "$folder/probe.py" | tee "$folder/said"
for line in "1: longest piece 2" "2: longest piece 2" "3: longest piece 2" "4: longest piece 3" "6: longest piece 5"; do
    [ "$(grep -cx "max_token_length=$line" "$folder/said")" = 2 ]
done
