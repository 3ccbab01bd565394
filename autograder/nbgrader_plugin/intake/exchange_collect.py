"""`nbgrader collect` that refuses a submission under another student's name, and writes for the owner only."""

import os
import shutil
import stat
from functools import partial
from pathlib import Path
from typing import Any

from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import ignore_patterns

from ...files import only_for_owner, private

try:
    import pwd
except ImportError:  # Windows, where nbgrader has no exchange
    pwd = None  # type: ignore[assignment]


def another_owner(folder: Path, student: str) -> str | None:
    """Return the account that owns a folder of the exchange if it is neither the student's nor the one that collects.

    All accounts may write into an exchange and name a folder as they like; only its owner is certain.
    """
    if pwd is None:
        return None
    for user in (os.lstat(folder).st_uid, os.stat(folder).st_uid):  # of a link, and of what it leads to
        try:
            name = pwd.getpwuid(user).pw_name
        except KeyError:
            name = f"user {user}"
        if user != os.geteuid() and name != student:
            return name
    return None


def refusal(folder: Path, owner: str) -> str:
    """Return the message about a folder that another account owns."""
    return (
        f"{folder} is owned by {owner}, not by the student whom its name means, so it was not collected: ask both, and "
        "remove it. Where accounts are called otherwise than students, set c.ExchangeCollect.check_owner = False."
    )


class Collect(ExchangeCollect):
    """nbgrader's command, except that it refuses submissions put there by another account, and skips links.

    Links could reach files that their owner may not read, such as another student's submission.
    """

    src_records: list[dict[str, Any]]

    def init_src(self) -> None:
        self.refused: dict[str, str] = {}  # owner by the name of a folder that is not its student's
        super().init_src()

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return a student's own submissions, the newest first; those of others if there is none."""
        newest: list[dict[str, Any]] = super()._sort_by_timestamp(records)
        for record in newest if self.check_owner else ():
            if (owner := another_owner(Path(self.inbound_path, record["filename"]), record["username"])) is not None:
                self.refused[record["filename"]] = owner
        return [record for record in newest if record["filename"] not in self.refused] or newest

    def copy_files(self) -> None:
        self.src_records = [record for record in self.src_records if record["filename"] not in self.refused]
        with only_for_owner(self.coursedir.groupshared):
            super().copy_files()
        self.report()

    def report(self) -> None:
        for name, owner in self.refused.items():
            self.log.error(refusal(Path(self.inbound_path, name), owner))
        if self.refused:
            self.fail(f"Submissions were not collected, as others own them ({len(self.refused)}).")

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        course = self.coursedir
        size = sum(os.lstat(path).st_size for path in Path(src).rglob("*"))
        if size > 1000 * course.max_dir_size:
            raise ExchangeError(f"{size} bytes are too many; {1000 * course.max_dir_size} are allowed")
        ignored = ignore_patterns(
            exclude=course.ignore, include=course.include, max_file_size=course.max_file_size, log=self.log
        )

        def left_out(folder: str, names: list[str]) -> set[str]:
            modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
            plain = [name for name, mode in modes.items() if stat.S_ISREG(mode) or stat.S_ISDIR(mode)]
            return set(names) - set(plain) | {*ignored(folder, plain)}

        part = Path(dest).with_name(f".{Path(dest).name}.new")  # what a full disk leaves would count as collected
        shutil.rmtree(part, ignore_errors=True)
        try:
            shutil.copytree(
                src, part, symlinks=True, ignore=left_out, copy_function=partial(shutil.copy2, follow_symlinks=False)
            )
            for path in [part, *part.rglob("*")]:
                path.chmod(0o700 if path.is_dir() else 0o600)  # the student's modes may lock the collector out
                private(path, course.groupshared)
            part.rename(dest)
        except shutil.Error as error:
            self.fail(f"{src} cannot be copied, so nothing of it was collected: {error.args[0][0][-1]}")
        finally:
            shutil.rmtree(part, ignore_errors=True)


Collect.__name__ = ExchangeCollect.__name__  # traitlets finds the settings of a class by its name
