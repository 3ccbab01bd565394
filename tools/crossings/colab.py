"""Rewrites a notebook as Colab saves it: python colab.py FILE.

Colab itself cannot be run here. This follows notebooks that were saved with it and published: format 4.0, no cell ids,
names of Colab's own in the metadata, an answer's other metadata kept.
"""

import json
import sys
import uuid
from pathlib import Path

path = Path(sys.argv[1])
notebook = json.loads(path.read_text("utf-8"))
for cell in notebook["cells"]:
    del cell["id"]
    cell["metadata"]["id"] = uuid.uuid4().hex[:12]
    if cell.get("outputs"):
        cell["metadata"] |= {"colab": {"base_uri": "https://localhost:8080/"}, "outputId": str(uuid.uuid4())}
notebook["nbformat_minor"] = 0
notebook["metadata"] = {
    "colab": {"provenance": [], "toc_visible": True},
    "kernelspec": {"name": "python3", "display_name": "Python 3"},
    "language_info": {"name": "python"},
}
path.write_text(json.dumps(notebook, indent=2, ensure_ascii=False), "utf-8")
