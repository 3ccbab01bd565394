#!/usr/bin/env bash
# Guess:   most_similar(positive=[king, woman], negative=[man]) looks for the word nearest to king - man + woman.
# Fact:    it makes all three vectors equally long before it adds them, so it looks for another direction.
#          similar_by_vector(king - man + woman) is the sum that is written, finds another word, and does not leave out
#          the three.
# Matters: notebook 03 has analogy written as b - a + c over the vectors as they are, without the three. A comparison
#          with gensim finds other words in right answers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check gensim==4.4.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

import numpy
from gensim.models import KeyedVectors

print(*(f"{name} {version(name)}" for name in ("gensim", "numpy")))
words = {"king": [10.0, 1.0], "man": [1.0, 0.0], "woman": [0.0, 1.0], "queen": [0.2, 3.0], "duke": [9.0, 2.2]}
vectors = KeyedVectors(2)
vectors.add_vectors(list(words), numpy.array(list(words.values()), dtype=numpy.float32))
print("most_similar:", vectors.most_similar(positive=["king", "woman"], negative=["man"])[0][0])
nearest = [word for word, _ in vectors.similar_by_vector(vectors["king"] - vectors["man"] + vectors["woman"])]
print("the sum:", *nearest[:2])
equal = sum(sign * vectors.get_vector(word, norm=True) for word, sign in (("king", 1), ("woman", 1), ("man", -1)))
nearest = [word for word, _ in vectors.similar_by_vector(equal)]
print("the sum of equal lengths, without the three:", next(word for word in nearest if word not in ("king", "man", "woman")))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'most_similar: queen' "$folder/said"
grep -qxF 'the sum: duke king' "$folder/said"
grep -qxF 'the sum of equal lengths, without the three: queen' "$folder/said"
