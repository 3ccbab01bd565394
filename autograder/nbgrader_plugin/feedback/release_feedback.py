"""`nbgrader release_feedback` for a class in which some students submitted outside the exchange."""

import shutil
from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseFeedback
from nbgrader.utils import notebook_hash

from ...files import listed
from ..intake.student_folder import folders_in

SECRET = "submission_secret.txt"  # file of a submission; a student's machine finds the page by the secret in it


class ReleaseFeedback(ExchangeReleaseFeedback):
    """nbgrader's command, except that it lists students who submitted otherwise; nbgrader's ends in a traceback."""

    def copy_files(self) -> None:
        left_out = set(self.coursedir.student_id_exclude.split(","))
        top = Path(self.coursedir.format_path(self.coursedir.feedback_directory, "x", "y")).parents[1]
        released, others = 0, []
        for student in folders_in(top, self.coursedir.student_id or "*"):
            pages = sorted((top / student / self.coursedir.assignment_id).glob("*.html"))
            if not pages or student in left_out:
                continue
            try:
                secret = (pages[0].parent / SECRET).read_text()
            except OSError:
                others.append(student)
                continue
            for page in pages:
                name = notebook_hash(secret=secret, notebook_id=page.stem)
                half = Path(self.dest_path, f"{name}-tmp.html")
                shutil.copyfile(page, half)
                half.chmod(0o644)  # the page is its owner's only; who has the secret may read this copy
                half.replace(Path(self.dest_path, f"{name}.html"))  # at once, so that nobody fetches half of it
            released += 1
        self.log.info("Feedback on %s is released: students reached: %s", self.coursedir.assignment_id, released)
        if others:
            self.log.warning(
                "%s did not hand in through the exchange, so it cannot bring them their pages. They lie in %s.",
                *(listed(others, 10), top),
            )


ReleaseFeedback.__name__ = ExchangeReleaseFeedback.__name__  # traitlets finds the settings of a class by its name
