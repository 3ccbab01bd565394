"""Releases assignments into nbgrader's exchange. It is run as the teacher, in the course's folder: release.py NAME …"""

import stat
import sys
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.exchange import ExchangeError

from autograder.nbgrader_plugin.converters import register_assignments, settings

app = settings("classroom")
course = app.coursedir
api = NbGraderAPI(course, authenticator=app.authenticator, parent=app)
with Gradebook(course.db_url, course.course_id) as book:
    known = {assignment.name for assignment in book.assignments}
register_assignments(app, [name for name in sys.argv[1:] if name not in known])
for name in sys.argv[1:]:
    course.assignment_id = name
    try:  # by force, to update what an earlier start released
        release = api.exchange.ReleaseAssignment
        release(coursedir=course, authenticator=app.authenticator, parent=api, force=True).start()
    except ExchangeError as error:
        sys.exit(f"{name} could not be released: {error}")

# nbgrader's inbound folder lets everybody delete a submission whose name they know; this lets only its owner.
inbound = Path(api.exchange.ReleaseAssignment(coursedir=course, parent=api).root, course.course_id, "inbound")
inbound.chmod(stat.S_IMODE(inbound.stat().st_mode) | stat.S_ISVTX)
