"""What goes to those who mark, and what comes back: plain data, the same on this machine and on another."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..nbgrader_plugin.intake import student_folder


@dataclass(frozen=True)
class Submission:
    """What somebody handed in for an assignment: files by their paths in its folder, and what was wrong with it."""

    assignment: str
    files: dict[str, bytes]
    troubles: tuple[str, ...] = ()  # as in handed_in.Submission
    refused: dict[str, str] = field(default_factory=dict)
    whole: str | None = None

    @classmethod
    def of(cls, found: student_folder.Submission) -> Submission:
        """What can be taken of it; the time stamp is the gradebook's business."""
        files, refused = {}, dict(found.refused)
        for name in found.taken:
            if name != student_folder.STAMP:
                try:
                    files[name] = student_folder.read(found.folder / name, student_folder.MAX_TOTAL)
                except student_folder.NotAFile as reason:  # it was something else a moment ago
                    refused[name] = str(reason)
        return cls(found.folder.name, files, tuple(found.troubles), refused, found.whole)

    def found_in(self, folder: Path) -> student_folder.Submission:
        """The same, laid out in a folder."""
        return student_folder.Submission(
            folder.parent.name, folder, list(self.troubles), self.refused, list(self.files), self.whole
        )


@dataclass(frozen=True)
class Marked:
    """What became of it: the marked notebooks as nbgrader keeps them, or why there are none."""

    notebooks: dict[str, str] = field(default_factory=dict)  # by file name
    log: str = ""
    seconds: float = 0.0
    problem: str = ""
