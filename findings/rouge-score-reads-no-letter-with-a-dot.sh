#!/usr/bin/env bash
# Guess:   ROUGE of a text with itself is 1, and of two texts with other words less.
# Fact:    the tokenizer of rouge-score takes a to z and digits for letters and everything else for space. Igbo loses
#          its dotted vowels, so that house and other words whose consonants agree are one token, and score 1; Bangla
#          loses all, and a text has 0 with itself.
# Matters: notebook 11 scores translations out of Igbo, and its readers will turn them round. ROUGE by this package, on
#          which other libraries build, ranks Igbo by its consonants.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check rouge-score==0.1.2 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

from rouge_score import rouge_scorer

print("rouge-score", version("rouge-score"))
scorer = rouge_scorer.RougeScorer(["rouge1", "rougeL"])
for name, reference, ours in (
    ("English, other vowels", "the house is big", "tha hoose us bog"),
    ("Igbo, other vowels", "ụlọ ya dị ụtọ", "ịlị ya dọ ọtị"),
    ("Bangla with itself", "আমি ভাত খাই", "আমি ভাত খাই"),
):
    scores = scorer.score(reference, ours)
    print(name, *(f"{scores[key].fmeasure:.2f}" for key in scores))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'English, other vowels 0.00 0.00' "$folder/said"
grep -qxF 'Igbo, other vowels 1.00 1.00' "$folder/said"
grep -qxF 'Bangla with itself 0.00 0.00' "$folder/said"
