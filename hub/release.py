"""Releases assignments into nbgrader's exchange. Run as the teacher, in the course's folder: release.py NAME …"""

import sys

from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI

from autograder.grading.convert import release, settings

app = settings("classroom")
api = NbGraderAPI(app.coursedir, authenticator=app.authenticator, parent=app)
with Gradebook(app.coursedir.db_url, app.coursedir.course_id) as book:
    known = {assignment.name for assignment in book.assignments}
for name in sys.argv[1:]:
    if name not in known:
        release("classroom", [name])
    answer = api.release_assignment(name)
    if not answer["success"]:
        sys.exit(f"{name} could not be released:\n{answer.get('log', '')}\n{answer.get('error', '')}")
