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
