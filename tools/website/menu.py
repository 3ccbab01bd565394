"""The website's menu: its pages, in their order."""

from pathlib import Path

from autograder.handout import START, page_names

FIRST = ("docs/learning-alone.md", "docs/students.md", "docs/instructors.md")  # the others follow by name
LIST = "docs/README.md"  # a list of the guides, for the repository: the website's menu is one
AT_THE_TOP = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


def pages(root: Path) -> dict[str, str]:
    """Return the name of each guide's page, by the guide's path in the repository, in the order of the menu."""
    found = [path.relative_to(root).as_posix() for path in sorted((root / "docs").rglob("*.md"))]
    ordered = [path for path in dict.fromkeys([*FIRST, *found, *AT_THE_TOP]) if path != LIST]
    named = {path: Path(path).parent if Path(path).stem == "README" else Path(path) for path in ordered}
    return {path: file.stem.lower() for path, file in named.items()}


def around_notebooks() -> dict[str, str]:
    """Return the page of each file that students get beside the notebooks. The website has its own start page."""
    return {f"course/{name}": Path(name).stem.lower() for name in page_names() if name != START}


def entries(chapters: list[str], root: Path) -> str:
    """Return the menu as Sphinx reads it: the notebooks, then the guides."""
    parts = {"Notebooks": [*chapters, *around_notebooks().values()], "Guides": [*pages(root).values()]}
    lines = (("```{toctree}", ":hidden:", f":caption: {title}", *names, "```\n") for title, names in parts.items())
    return "\n".join("\n".join(tree) for tree in lines)
