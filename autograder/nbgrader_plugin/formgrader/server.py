"""Formgrader's pages are part of a Jupyter server, with all its rights: what students hand in must neither run nor ask
for anything there.

nbgrader stays as it is. Formgrader reads nbgrader_config.py in the process of the server, and that file calls
`guard_server`: from then on each answer of Formgrader's has a content security policy. Only scripts that nbgrader's own
templates name run, by a word that is drawn for each answer, and pictures come from what students handed in. Files of
students are shown in a sandbox. Formgrader's button that marks somebody has a clerk do it, outside of the server.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from jinja2 import BaseLoader, Environment, pass_context
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import HTTPError, OutputTransform, authenticated

from ..feedback import rendering
from ..feedback.budget import Budget
from ..feedback.lexer import NotebookLexer
from . import written_answers
from .marking_queue import Clerk
from .script import HOW_FAR

HEADER = "Content-Security-Policy"
# What nbgrader's templates have on buttons. A script in an attribute has no place for a drawn word, so these are named.
ON_CLICK = (
    "toggle_name(true);",
    "toggle_name(false);",
    "toggleAllNames()",
    "createAssignmentModal();",
    "createStudentModal();",
)
OWN_SCRIPT = re.compile(r"<script\b")
A_FILE = re.compile(r"/formgrader/submissions/[^/]+/(?!(?:next|prev)(?:_incorrect)?/?$).+")
A_HOST = re.compile(r"[\w.\[\]:-]+")
# Where a text cell's answer ends in nbgrader's page of a submission: what it is measured by comes to stand beside it.
ANSWER = (
    "{{ cell.source  | markdown2html | strip_files_prefix }}\n      </div>\n    </div>\n    {{ nbgrader_footer(cell) }}"
)
MEASURED = ANSWER.replace("</div>", "</div>{{ autograder_beside(resources.assignment_id, cell) }}", 1)
# How nbgrader's lists call somebody who has no name yet ("None, None"), and how they do here: by what is known.
LISTS = r"(manage_students|manage_submissions)\.js"
NAMELESS = 'var name = last_name + ", " + first_name;'
KNOWN_AS = (
    'var name = [last_name, first_name].filter((one) => one && one !== "None").join(", ")'
    ' || this.model.get("student") || this.model.get("id");'
)
# MathJax would come from elsewhere, which the policy forbids, and formulas are set without it. But nbgrader's script
# waits for it to be done: without an answer it ends in an error and selects no cell for the keyboard to go on from.
MATHJAX = "{{ mathjax() }}"
DONE = '<script>var MathJax = {Hub: {Startup: {signal: {Interest: function (then) { then("End"); }}}}};</script>'
FILES_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox"

_drawn: ContextVar[str] = ContextVar("drawn")  # for the answer that is being made


# --- what is shown ----------------------------------------------------------------------------------------------------


@pass_context
def markdown2html(context: Any, source: str) -> str:
    """nbconvert's filter of this name: cleaned, with formulas set, as in a feedback page; within a page's budget."""
    attachments = context.get("cell", {}).get("attachments")
    return _budget(context).piece(lambda: rendering.markdown(source, attachments), source)


@pass_context
def highlight_code(context: Any, source: str, language: str | None = None, metadata: Any = None) -> str:
    """nbconvert's filter of this name."""
    return _budget(context).piece(lambda: _highlighted(source), source)


def _highlighted(source: str) -> Markup:
    return Markup(highlight(source or " ", NotebookLexer(), HtmlFormatter(cssclass=" highlight hl-ipython3")))


def _budget(context: Any) -> Budget:
    """One for each page: what nbconvert knows of a page is there while it is made."""
    return context["resources"].setdefault("autograder_budget", Budget())


# --- what may run -----------------------------------------------------------------------------------------------------


def policy(drawn: str, place: str) -> str:
    """`place` is where Formgrader is, without a scheme: that of the page counts."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(do.encode()).digest()).decode()}'" for do in ON_CLICK)
    parts = (
        "default-src 'none'",
        f"script-src 'nonce-{drawn}' 'unsafe-hashes' {hashes}",
        f"style-src {place}/static/ 'unsafe-inline'",
        f"img-src data: {place}/submissions/",
        f"font-src {place}/static/ data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
    )
    return "; ".join(parts)


def guard(prefix: str, settings: dict[str, Any]) -> type[OutputTransform]:
    """What tornado asks of each answer: one with the policy, below this prefix of addresses."""

    class Guard(OutputTransform):
        def __init__(self, request: HTTPServerRequest) -> None:
            self.policy = ""
            path = request.path.removeprefix(prefix)
            if path == "/formgrader" or path.startswith("/formgrader/"):
                drawn = secrets.token_urlsafe(16)
                _drawn.set(drawn)
                _teach(settings)
                host = request.host if A_HOST.fullmatch(request.host) else "localhost"
                self.policy = FILES_POLICY if A_FILE.match(path) else policy(drawn, f"{host}{prefix}/formgrader")

        def transform_first_chunk(
            self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
        ) -> tuple[int, HTTPHeaders, bytes]:
            if self.policy:
                headers[HEADER] = self.policy
            return status_code, headers, chunk

    return Guard


class Named(BaseLoader):
    """Another loader's templates; the scripts of nbgrader's own carry the drawn word.

    Not those of nbconvert's, which make scripts of what a notebook holds.
    """

    def __init__(self, inner: BaseLoader, folder: Path) -> None:
        self.inner, self.folder = inner, folder

    def get_source(self, environment: Environment, template: str) -> tuple[str, str | None, Callable[[], bool] | None]:
        source, filename, fresh = self.inner.get_source(environment, template)
        if filename is not None and Path(filename).resolve().is_relative_to(self.folder):
            source = source.replace(ANSWER, MEASURED).replace(MATHJAX, DONE)
            source = OWN_SCRIPT.sub('<script nonce="{{ autograder_drawn() }}"', source)
        return source, filename, fresh


def _beside(formgrader: Any, assignment: str, cell: Any) -> Markup:
    """The rubric and sample answers, if this is a written answer of the course's."""
    course = formgrader.coursedir
    folder = Path(course.format_path(course.source_directory, ".", assignment))
    return written_answers.beside(folder / f"{assignment}.ipynb", cell.metadata.nbgrader.grade_id)


def _teach(settings: dict[str, Any]) -> None:
    """Let both sets of Formgrader's templates say the drawn word."""
    from nbgrader.server_extensions.formgrader.handlers import template_path

    environments = [
        settings.get("nbgrader_jinja2_env"),
        getattr(settings.get("nbgrader_exporter"), "environment", None),
    ]
    for environment in environments:
        if environment is not None and not isinstance(environment.loader, Named):
            environment.loader = Named(environment.loader, Path(template_path).resolve())
            environment.globals["autograder_drawn"] = _drawn.get
            environment.globals["autograder_beside"] = functools.partial(_beside, settings["nbgrader_formgrader"])
            if environment.cache is not None:
                environment.cache.clear()


def entry() -> type:
    """Formgrader's first page, which runs the configuration of the folder that `?path=` names: of the course's only.

    A link in a notebook may name the folder in which a student handed in a file called nbgrader_config.py.
    """
    from nbgrader.server_extensions.formgrader.handlers import FormgraderHandler

    class Entry(FormgraderHandler):
        def get(self) -> Any:
            asked, own = self.get_argument("path", ""), self.settings["nbgrader_formgrader"]
            if asked and os.path.realpath(asked) not in map(os.path.realpath, (own.root_dir, own.coursedir.root)):
                raise HTTPError(403, "Formgrader reads the configuration of the folder in which Jupyter runs only.")
            return super().get()

    return Entry


def lists() -> type:
    """nbgrader's scripts that list students, so that those without a name are called by their id.

    That of submissions also shows how far marking is.
    """
    from nbgrader.server_extensions.formgrader.handlers import BaseHandler, static_path

    class Lists(BaseHandler):
        @authenticated
        def get(self, name: str) -> None:
            source = Path(static_path, "js", f"{name}.js").read_text("utf-8")
            source = source.replace(NAMELESS, KNOWN_AS).replace('email = "None"', 'email = ""')
            if name == "manage_submissions":
                source += HOW_FAR
            self.set_header("Content-Type", "text/javascript; charset=utf-8")
            self.finish(source)

    return Lists


def marks(clerk: Clerk) -> tuple[type, type]:
    """What marks one student, as nbgrader's own does, and what says how far that is."""
    from nbgrader.server_extensions.formgrader.base import BaseApiHandler, check_notebook_dir, check_xsrf

    class Mark(BaseApiHandler):
        @authenticated
        @check_xsrf
        @check_notebook_dir
        async def post(self, assignment: str, student: str) -> None:
            clerk.root = Path(self.coursedir.root)
            self.write(json.dumps(await clerk.mark(assignment, student)))

    class HowFar(BaseApiHandler):
        @authenticated
        @check_xsrf
        def get(self, assignment: str) -> None:
            self.write(clerk.under_way(assignment))

    return Mark, HowFar


def guard_server() -> None:
    """Let the Jupyter server in whose process this is run, if there is one, answer so; more than once does no harm."""
    from jupyter_server.serverapp import ServerApp

    if not ServerApp.initialized():
        return
    application = ServerApp.instance().web_app
    if application.settings.setdefault("autograder_guards_formgrader", False):
        return
    application.settings["autograder_guards_formgrader"] = True
    prefix = application.settings["base_url"].rstrip("/")
    application.add_transform(guard(prefix, application.settings))
    mark, how_far = marks(Clerk(Path.cwd()))
    own = [
        (f"{prefix}/formgrader/?", entry()),
        (f"{prefix}/formgrader/static/js/{LISTS}", lists()),
        (f"{prefix}/formgrader/api/submission/([^/]+)/([^/]+)/autograde", mark),
        (f"{prefix}/formgrader/api/marking/([^/]+)", how_far),
    ]
    application.add_handlers(".*$", own)  # before nbgrader's: the first one counts
