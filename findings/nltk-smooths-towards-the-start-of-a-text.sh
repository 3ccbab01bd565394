#!/usr/bin/env bash
# Guess:   add-one smoothing divides by the count of the word before plus the number of words that can follow.
# Fact:    nltk adds the sign for the beginning and the unknown word: where three words and the end can follow, it
#          divides by six more. After a, which was met twice, one eighth is for the beginning of a text, and what can
#          follow sums to three quarters.
# Matters: notebook 01 has add-alpha smoothing written, over the tokens that there are. A comparison with nltk.lm is
#          off by that, and more so the smaller the vocabulary.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check nltk==3.10.4 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

from nltk.lm import Laplace
from nltk.lm.preprocessing import padded_everygram_pipeline

print("nltk", version("nltk"))
ngrams, words = padded_everygram_pipeline(2, [["a", "b"], ["a", "c"]])
model = Laplace(2)
model.fit(ngrams, words)
print("counted:", *sorted(model.vocab))
for word in sorted(model.vocab):
    print(f"{word} after a: {model.score(word, ['a'])}")
print("those that can follow:", sum(model.score(word, ["a"]) for word in ("a", "b", "c", "</s>")))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'counted: </s> <UNK> <s> a b c' "$folder/said"
grep -qxF 'b after a: 0.25' "$folder/said"
grep -qxF '<s> after a: 0.125' "$folder/said"
grep -qxF 'those that can follow: 0.75' "$folder/said"
