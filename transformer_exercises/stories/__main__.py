"""Write the stories into the assignments' folders, and print the floor of the loss on each."""

import argparse
import json
import math
from pathlib import Path

from .write import write

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m transformer_exercises.stories", description=__doc__)
    parser.add_argument("solutions", nargs="?", type=Path, default=Path("solutions"), help="the assignments' folder")
    written = write(parser.parse_args().solutions)
    for path in written:
        print(path)
        if path.suffix == ".json":
            for part, facts in json.loads(path.read_text()).items():
                print(f"    {part}: {facts['characters']:,} characters, {facts['floor'] / math.log(2):.4f} bits each")
    if not written:
        print("No assignment that reads stories has a folder yet, so nothing was written.")
