"""Guard Formgrader's pages, which show students' notebooks in a Jupyter server, by a content security policy.

It allows only scripts of nbgrader's templates, by a nonce, and pictures from submissions; files are in a sandbox.
"""

import base64
import functools
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from jinja2 import BaseLoader, Environment, pass_context
from markupsafe import Markup
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.server_extensions.formgrader.base import BaseApiHandler, check_notebook_dir, check_xsrf
from nbgrader.server_extensions.formgrader.handlers import BaseHandler, FormgraderHandler, static_path, template_path
from pygments import highlight
from pygments.formatters import HtmlFormatter
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import HTTPError, OutputTransform, authenticated

from ..feedback import rendering
from ..feedback.budget import Budget
from ..feedback.lexer import NotebookLexer
from ..intake.resubmission import handed_in_at
from . import rubric_page, written_answers
from .marking_queue import MarkingQueue

QUEUE = "autograder_marking_queue"  # key in the server's settings
HEADER = "Content-Security-Policy"
# The buttons' scripts in nbgrader's templates, allowed by their hashes: in an attribute they cannot carry a nonce.
ON_CLICK = (
    *("toggle_name(true);", "toggle_name(false);", "toggleAllNames()"),
    *("createAssignmentModal();", "createStudentModal();"),
)
OWN_SCRIPT = re.compile(r"<script\b")
STUDENT_FILE = re.compile(r"/formgrader/submissions/[^/]+/(?!(?:next|prev)(?:_incorrect)?/?$).+")
HOST = re.compile(r"[\w.\[\]:-]+")
# The end of a text cell's answer in nbgrader's page of a submission. The rubric and samples are inserted next to it.
ANSWER = (
    "{{ cell.source  | markdown2html | strip_files_prefix }}\n      </div>\n    </div>\n    {{ nbgrader_footer(cell) }}"
)
ANSWER_AND_PANEL = ANSWER.replace("</div>", "</div>{{ autograder_panel(resources, cell) }}", 1)
# Above nbgrader's list of a notebook's submissions: links to pages that mark its written answers by rubric.
LIST = '<button id="toggle_names"'
LINKS_AND_LIST = "{{ autograder_links(assignment_id, notebook_id) }}" + LIST
# nbgrader's lists show a student without a name as "None, None". Here they show the id.
SHOWN_NAME = 'var name = last_name + ", " + first_name;'
NAME_OR_ID = (
    'var name = [last_name, first_name].filter((one) => one && one !== "None").join(", ")'
    ' || this.model.get("student") || this.model.get("id");'
)
ADDED = {"manage_submissions": "marking_progress.js", "formgrade": "written_answers.js"}  # to nbgrader's scripts
# The policy forbids MathJax, which formulas do not need here. But nbgrader's script waits for its end.
MATHJAX = "{{ mathjax() }}"
NO_MATHJAX = '<script>var MathJax = {Hub: {Startup: {signal: {Interest: function (then) { then("End"); }}}}};</script>'
FILES_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox"

_nonce: ContextVar[str] = ContextVar("nonce")  # nonce of the current response


@pass_context
def markdown2html(context: Any, source: str) -> str:
    """Replace nbconvert's filter: return clean markup with formulas, as on feedback pages, within the page's budget."""
    attachments = context.get("cell", {}).get("attachments")
    return _budget(context).piece(lambda: rendering.markdown(source, attachments), source)


@pass_context
def highlight_code(context: Any, source: str, language: str | None = None, metadata: Any = None) -> str:
    """Replace nbconvert's filter: return the markup of highlighted code, within the page's budget."""
    formatter = HtmlFormatter(cssclass=" highlight hl-ipython3")
    return _budget(context).piece(lambda: Markup(highlight(source or " ", NotebookLexer(), formatter)), source)


def _budget(context: Any) -> Budget:
    """Return the page's budget. nbconvert's resources, which hold it, exist once per page."""
    budget: Budget = context["resources"].setdefault("autograder_budget", Budget())
    return budget


def policy(nonce: str, address: str) -> str:
    """Return the policy. `address` is Formgrader's, without a scheme: browsers take the page's own."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(do.encode()).digest()).decode()}'" for do in ON_CLICK)
    parts = (
        "default-src 'none'",
        f"script-src 'nonce-{nonce}' 'unsafe-hashes' {hashes}",
        f"style-src {address}/static/ 'unsafe-inline'",
        f"img-src data: {address}/submissions/",
        f"font-src {address}/static/ data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
    )
    return "; ".join(parts)


class Guard(OutputTransform):
    settings: ClassVar[dict[str, Any]]  # of the server

    def __init__(self, request: HTTPServerRequest) -> None:
        self.policy = ""
        prefix = self.settings["base_url"].rstrip("/")
        path = request.path.removeprefix(prefix)
        if path == "/formgrader" or path.startswith("/formgrader/"):
            nonce = secrets.token_urlsafe(16)
            _nonce.set(nonce)
            _extend_templates(self.settings)
            host = request.host if HOST.fullmatch(request.host) else "localhost"
            self.policy = FILES_POLICY if STUDENT_FILE.match(path) else policy(nonce, f"{host}{prefix}/formgrader")

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        if self.policy:
            headers[HEADER] = self.policy
        return status_code, headers, chunk


class NonceLoader(BaseLoader):
    """Load another's templates, and add the nonce to scripts in nbgrader's own; nbconvert's hold students' content."""

    def __init__(self, inner: BaseLoader, folder: Path) -> None:
        self.inner, self.folder = inner, folder

    def get_source(self, environment: Environment, template: str) -> tuple[str, str | None, Callable[[], bool] | None]:
        source, filename, fresh = self.inner.get_source(environment, template)
        if filename is not None and Path(filename).resolve().is_relative_to(self.folder):
            source = source.replace(ANSWER, ANSWER_AND_PANEL).replace(MATHJAX, NO_MATHJAX)
            source = source.replace(LIST, LINKS_AND_LIST)
            source = OWN_SCRIPT.sub('<script nonce="{{ autograder_nonce() }}"', source)
        return source, filename, fresh


def _panel_for(formgrader: Any, resources: Any, cell: Any) -> Markup:
    """Return the panel with rubric and sample answers; empty unless the cell is a written answer of the course."""
    course = formgrader.coursedir
    folder = Path(course.format_path(course.source_directory, ".", resources["assignment_id"]))
    solution, name = folder / f"{resources['notebook_id']}.ipynb", cell.metadata.nbgrader.grade_id
    here = "/".join(quote(part, safe="") for part in (resources["assignment_id"], resources["notebook_id"], name))
    return written_answers.panel_for(solution, name, f"{resources['base_url']}/formgrader/written/{here}")


def _links(settings: dict[str, Any], assignment: str, notebook: str) -> Markup:
    if settings["nbgrader_gradebook"] is None:  # as nbgrader's handlers do
        course = settings["nbgrader_formgrader"].coursedir
        settings["nbgrader_gradebook"] = Gradebook(course.db_url, course.course_id)
    formgrader = settings["base_url"].rstrip("/") + "/formgrader"
    return rubric_page.links(settings["nbgrader_gradebook"].engine, formgrader, assignment, notebook)


def _extend_templates(settings: dict[str, Any]) -> None:
    """Give both of Formgrader's template environments the nonce and the panel for written answers."""
    exporter = settings.get("nbgrader_exporter")
    for environment in (settings.get("nbgrader_jinja2_env"), getattr(exporter, "environment", None)):
        if environment is not None and not isinstance(environment.loader, NonceLoader):
            environment.loader = NonceLoader(environment.loader, Path(template_path).resolve())
            environment.globals["autograder_nonce"] = _nonce.get
            environment.globals["autograder_panel"] = functools.partial(_panel_for, settings["nbgrader_formgrader"])
            environment.globals["autograder_links"] = functools.partial(_links, settings)
            if environment.cache is not None:
                environment.cache.clear()


class FirstPage(FormgraderHandler):
    """Serve Formgrader's first page. It runs nbgrader_config.py in `?path=`, so refuse all but two trusted folders."""

    def get(self) -> Any:
        requested, own = self.get_argument("path", ""), self.settings["nbgrader_formgrader"]
        if requested and os.path.realpath(requested) not in map(os.path.realpath, (own.root_dir, own.coursedir.root)):
            raise HTTPError(403, "Formgrader reads the configuration of the folder in which Jupyter runs only.")
        return super().get()


class Scripts(BaseHandler):
    """Serve nbgrader's scripts with ids for missing names, the progress of marking, and links to written answers."""

    @authenticated
    def get(self, name: str) -> None:
        source = Path(static_path, "js", f"{name}.js").read_text("utf-8")
        source = source.replace(SHOWN_NAME, NAME_OR_ID).replace('email = "None"', 'email = ""')
        if (more := ADDED.get(name)) is not None:
            source += Path(__file__).with_name(more).read_text("utf-8")
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.finish(source)


class Mark(BaseApiHandler):
    """Mark a student's submission as nbgrader's handler does, but in the marking queue."""

    @authenticated
    @check_xsrf  # type: ignore[untyped-decorator]
    @check_notebook_dir  # type: ignore[untyped-decorator]
    async def post(self, assignment: str, student: str) -> None:
        queue = self.settings[QUEUE]
        queue.root = Path(self.coursedir.root)
        self.write(json.dumps(await queue.mark(assignment, student)))


class Progress(BaseApiHandler):
    @authenticated
    @check_xsrf  # type: ignore[untyped-decorator]
    def get(self, assignment: str) -> None:
        self.write(self.settings[QUEUE].progress(assignment))


def _handed_in_at(api: NbGraderAPI, assignment: str, student: str) -> datetime | None:
    """Return when a submission was handed in as marking reads it: Formgrader lists it as marked if this is the same."""
    course = api.coursedir
    return handed_in_at(course.format_path(course.submitted_directory, student, assignment))


def guard_server() -> None:
    """Install the guard and handlers in this process's Jupyter server, if there is one. Later calls do nothing."""
    from jupyter_server.serverapp import ServerApp  # its presence tells nbgrader_config.py that it runs in a server

    if not ServerApp.initialized() or QUEUE in ServerApp.instance().web_app.settings:
        return
    application = ServerApp.instance().web_app
    application.settings[QUEUE] = MarkingQueue(Path.cwd())
    Guard.settings = application.settings
    application.add_transform(Guard)
    NbGraderAPI.get_submitted_timestamp = _handed_in_at
    formgrader = application.settings["base_url"].rstrip("/") + "/formgrader"
    own = [  # before nbgrader's: the first match counts
        (f"{formgrader}/?", FirstPage),
        (rf"{formgrader}/static/js/({'|'.join(['manage_students', *ADDED])})\.js", Scripts),
        (f"{formgrader}/api/submission/([^/]+)/([^/]+)/autograde", Mark),
        (f"{formgrader}/api/marking/([^/]+)", Progress),
        (f"{formgrader}/written/([^/]+)/([^/]+)/([^/]+)/?", rubric_page.RubricPage, {"nonce": _nonce.get}),
        (f"{formgrader}/api/written/([^/]+)/([^/]+)/([^/]+)", rubric_page.SaveMarks),
    ]
    application.add_handlers(".*$", own)  # type: ignore[no-untyped-call]
