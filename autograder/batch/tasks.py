"""The data sent to a marking process and returned by it: plain, so that it works on another machine too."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from ..nbgrader_plugin.intake import size_limits, student_folder


@dataclass(frozen=True)
class Submission:
    """A student's submission: its files, by path in its folder, and the problems found with it."""

    assignment: str
    files: dict[str, bytes]
    troubles: tuple[str, ...] = ()  # as in student_folder.Submission, also the next two
    refused: dict[str, str] = field(default_factory=dict)
    whole: str | None = None
    secret: bytes = field(default=b"", repr=False)  # the class's, from which inputs are drawn; without it none are

    @classmethod
    def of(cls, found: student_folder.Submission, secret: bytes = b"") -> Self:
        """Read the usable files of a submission, without the timestamp, which only the gradebook needs."""
        files, refused = {}, dict(found.refused)
        for name in found.taken:
            if name != student_folder.STAMP:
                try:
                    files[name] = student_folder.read(found.folder / name, size_limits.MAX_TOTAL)
                except student_folder.NotAFile as reason:  # it changed after the folder was listed
                    refused[name] = str(reason)
        return cls(found.folder.name, files, tuple(found.troubles), refused, found.whole, secret)

    def found_in(self, folder: Path) -> student_folder.Submission:
        return student_folder.Submission(
            folder.parent.name, folder, list(self.troubles), self.refused, list(self.files), self.whole
        )


@dataclass(frozen=True)
class Marked:
    """The result of marking: the notebooks as nbgrader stores them, or the problem if there are none."""

    notebooks: dict[str, str] = field(default_factory=dict)  # by file name
    log: str = ""
    seconds: float = 0.0
    problem: str = ""
    hopeless: str = ""  # a sentence: why no submission can be marked there
