"""Open JupyterLab, with Formgrader in its menu, at the instructor's guide: `autograder teach`."""

import os
from pathlib import Path

SETTINGS = Path(__file__).parent / "lab_settings"
GUIDE = "docs/instructors.md"


def open_lab(root: Path, options: list[str]) -> None:
    """Start JupyterLab in a folder to teach from; where that has no guide, at JupyterLab's own first page."""
    os.chdir(root)
    paths = [str(SETTINGS), str(root), os.environ.get("JUPYTER_CONFIG_PATH")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))
    from jupyterlab.labapp import main

    main([*([] if Path(GUIDE).is_file() else ["--LabApp.default_url=/lab"]), *options])
