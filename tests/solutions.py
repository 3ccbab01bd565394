"""Run the solution notebooks through nbval: those of which anything has changed since they were proved, or all.

python tests/solutions.py [--prove]
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from proofs import ROOT, due, keep, state_of

from autograder.spec.course import notebooks

CONFIGURATION = ROOT / "tests" / "nbval.cfg"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prove", action="store_true", help="all of them, and write down what is proved")
    everything = parser.parse_args().prove
    states = {name: state_of(ROOT / "solutions" / name, test=CONFIGURATION.read_bytes()) for name in notebooks()}
    chosen = [name for name, state in states.items() if everything or due(_called(name), state)]
    for name in notebooks():
        print(f"{name}: {'is run' if name in chosen else 'nothing has changed since it was run (--prove runs it)'}")
    if not chosen:
        return 0
    options = ["--nbval", "--nbval-sanitize-with", CONFIGURATION, "-n", "2", "--dist", "loadfile"]
    command = [sys.executable, "-m", "pytest", *options, *(f"solutions/{name}" for name in chosen)]
    code = subprocess.run(command, cwd=ROOT).returncode
    if everything and code == 0:
        keep({_called(name): states[name] for name in chosen})
    return code


def _called(name: str) -> str:
    return f"nbval::{name}"


if __name__ == "__main__":
    sys.exit(main())
