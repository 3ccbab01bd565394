"""Remove a large notebook's outputs, from stdin to stdout: python -I -S remove_outputs.py MEMORY SECONDS MAX_BYTES."""

import json
import resource
import sys

KEPT = ("cell_type", "source", "metadata", "attachments")


def main() -> None:
    memory, seconds, max_bytes = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    notebook = json.loads(sys.stdin.buffer.read())
    for kept in (KEPT, KEPT[:-1]):  # pictures go too if there is no room for them
        if isinstance(notebook, dict):
            notebook["metadata"] = {}  # nobody reads it, and it may hold the state of large widgets
            cells = notebook.get("cells")
            for cell in cells if isinstance(cells, list) else []:
                if isinstance(cell, dict):
                    for key in [key for key in cell if key not in kept]:
                        del cell[key]
            for sheet in notebook.get("worksheets", []) if isinstance(notebook.get("worksheets"), list) else []:
                for cell in sheet.get("cells", []) if isinstance(sheet, dict) else []:
                    if isinstance(cell, dict):
                        cell["outputs"] = []
        if len(text := json.dumps(notebook).encode()) <= max_bytes:
            sys.stdout.buffer.write(text)
            return
    sys.exit(3)


if __name__ == "__main__":
    main()
