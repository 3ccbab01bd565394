#!/usr/bin/env bash
# Guess:   letters beyond BpeTrainer's limit_alphabet become the unknown token, or raise an error.
# Fact:    without an unk_token they vanish from every text that is encoded later, in the middle of words and without a
#          warning: "ahịa echi" becomes "aai". The ids are those of a shorter, other text.
# Matters: the languages of this course have more letters than English, Bangla three times as many. A loss per token over
#          texts that lost their rare letters is lower and means nothing.
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
texts = ["ana ina nai " * 9 + "ahịa echi"]
for limit in (3, 100):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=200, limit_alphabet=limit, show_progress=False)
    )
    print(f"limit_alphabet={limit}:", "".join(tokenizer.encode("ahịa echi").tokens))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qx "limit_alphabet=100: ahịaechi" "$folder/said"
grep -qx "limit_alphabet=3: aai" "$folder/said"
