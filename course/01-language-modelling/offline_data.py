# Copy of transformer_exercises/shared_modules/offline_data.py: edit that file, then run `autograder release`.
"""Find the published model and word vectors that `make offline` fetches. They are optional: no answer needs them."""

from pathlib import Path


def offline(name):
    """Return the folder `name` of offline/, which is beside the course or above it; without it None, and say so."""
    here = Path.cwd()
    for place in (here, *here.parents):
        if (place / "offline" / "contents.json").is_file():  # it is written last, so the folder is whole
            return place / "offline" / name
    print("There is no folder offline/ here (make offline, in the course's repository, fetches it), so this cell "
          "goes on without it.")  # fmt: skip
    return None


def glove(excerpt):
    """Return GloVe's words and vectors, less the mean: 20,000 from offline/, else those of an excerpt."""
    import torch

    if folder := offline("glove"):
        import numpy as np

        words = (folder / "words.txt").read_text(encoding="utf-8").split("\n")[:20_000]  # the most frequent come first
        rows = torch.from_numpy(np.load(folder / "vectors.npy", mmap_mode="r")[:20_000].copy())
        return words, rows - rows.mean(0)
    return [*excerpt], torch.tensor([[int(number) for number in row.split()] for row in excerpt.values()]) / 10_000
