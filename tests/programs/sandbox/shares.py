"""Run a notebook in a pool's worker; print what the worker has, and what the notebook finds of it."""

import json
import os
import sys

from autograder.batch.pool import Local
from autograder.sandbox.session import Session, Template

SEARCH = """
import sys
found = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb") as memory:
    for line in maps:
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if "rw-p" in line:
            memory.seek(start)
            found += memory.read(end - start).count(bytes(reversed(TOKEN)))
print(found, "torch" in sys.modules, FOLDER in sys.path, [name for name in sys.modules if name.startswith("autograder.judge")])
"""


def run(folder: str) -> dict[str, object]:
    template = Template(sandboxed=False)
    with Session(template) as session:
        backwards = os.environ["CLASS_SECRET"].encode()[::-1]
        [output] = session.run(f"TOKEN, FOLDER = {backwards!r}, {folder!r}\n" + SEARCH).outputs
        own = {"token": os.environ["CLASS_SECRET"], "path": folder in sys.path}
        return own | {"forked": template._process is None, "notebook": output["text"]}


if __name__ == "__main__":
    pool = Local(1, ())
    print(json.dumps(pool.executor().submit(run, sys.argv[1]).result()))
    pool.close()
