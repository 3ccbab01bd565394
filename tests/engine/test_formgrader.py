"""Tests that submissions run and load nothing in Formgrader's pages, and that Formgrader itself works as before."""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import nbformat
import pytest
from browsing import NEEDS_BROWSER, browser, kept, page  # noqa: F401 (fixtures)
from class_copies import copy_of_the_course, put, run
from conftest import NOTEBOOKS, ROOT, cell_of, graded_only, read, wait_for
from feedback_pages import EVIL, PIXEL
from nbgrader.api import Gradebook
from nbgrader.server_extensions.formgrader.handlers import template_path
from playwright.sync_api import expect
from submissions import ANSWERS

from autograder.nbgrader_plugin.formgrader.rubric_items import items_of
from autograder.nbgrader_plugin.formgrader.server import FILES_POLICY, HEADER, ON_CLICK
from autograder.nbgrader_plugin.formgrader.written_answers import rubrics
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.nbgrader_plugin.intake.sanitize import html
from autograder.sample_class import filled_in

pytestmark = [*NEEDS_BROWSER, pytest.mark.long]
NAME = "05-attention"
DOES = "window.hacked = 1; fetch('/hacked')"
RUNNING = [
    f"<script>{DOES}</script>",
    f"<script src='evil.js'></script><script src='/hacked.js'></script><script nonce=''>{DOES}</script>",
    f'<img src="nowhere.png" onerror="{DOES}"><body onload="{DOES}"><details open ontoggle="{DOES}">x</details>',
    f'<svg onload="{DOES}"><script>{DOES}</script><image href="/hacked.png"/></svg>',
    '<iframe srcdoc="<script>parent.hacked = 1</script>"></iframe><iframe src="/hacked"></iframe>',
    '<iframe src="javascript:parent.hacked = 1"></iframe><object data="/hacked"></object><embed src="/hacked">',
    f'<a id="link" href="javascript:{DOES}">x</a><input autofocus onfocus="{DOES}">',
    "<link rel=stylesheet href='/hacked.css'><style>@import '/hacked.css'; p { background: url(/hacked.png) }</style>",
    "<img src='/hacked.png'><img src='https://evil.example/hacked.png'><video src='/hacked' poster='/hacked.png'>",
    "<form id=form action='https://evil.example/hacked'><button>ok</button></form><base href='/hacked/'>",
    f"<script type='text/x-mathjax-config'>{DOES}</script><math href='javascript:{DOES}'>x</math>",
]
AWAY = "<meta http-equiv=refresh content='0; url=/hacked'>"
CONFIGURATION = "import pathlib\npathlib.Path('hacked').touch()\nc = get_config()\n"


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    """Make a course with a gradebook, in which two were marked: as it came in, and with nothing cleaned."""
    folder = copy_of_the_course(tmp_path_factory.mktemp("elsewhere") / "course")
    shutil.copytree(ROOT / "course" / NAME, folder / "course" / NAME)
    evil = f"<title>calm</title><script>document.title = 'hacked'; {DOES}</script>"
    beside = {"evil.html": evil, "evil.js": DOES, "nbgrader_config.py": CONFIGURATION}
    for student in ("eve", "raw"):
        put(folder / "classroom", student, submission())
        for name, content in beside.items():
            put(folder / "classroom", student, content.encode(), name)
    put(folder / "classroom", "eve", b"2027-02-02 00:30:00 CEST", "timestamp.txt")
    put(folder / "classroom", "raw", b"2027-02-02 00:30:00 BST", "timestamp.txt")
    run(folder, folder / "classroom", "nbgrader", "autograde", NAME)
    marked = folder / "classroom" / "autograded" / "raw" / NAME / f"{NAME}.ipynb"
    notebook = nbformat.read(marked, as_version=4)
    for evil in RUNNING:  # as if nothing cleaned them
        output = nbformat.v4.new_output("display_data", data={"text/html": evil})
        script = nbformat.v4.new_output("display_data", data={"application/javascript": DOES})
        notebook.cells.append(nbformat.v4.new_code_cell("1", outputs=[output, script]))
    nbformat.write(notebook, marked)
    return folder


def environment(folder):
    kept = {key: value for key, value in os.environ.items() if key != "COURSE_CLASSROOM"}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    return kept | {"PYTHONPATH": str(folder), "HOME": str(home), "PATH": path}


def submission():
    notebook = filled_in(graded_only(NAME), ANSWERS)
    notebook.metadata.pop("name")
    middle = [cell for cell in notebook.cells if cell.cell_type == "code" and not grade_id(cell).startswith("test_")][3]
    middle.source += "\nimport time; time.sleep(2)"  # how far marking is stands still here: a page asks each 0.3 s
    for evil in [*RUNNING, *EVIL, AWAY]:
        notebook.cells.append(nbformat.v4.new_markdown_cell(evil))
        shown = f"from IPython.display import HTML, SVG, Javascript, Markdown, display\ndisplay(HTML({evil!r}))"
        notebook.cells.append(nbformat.v4.new_code_cell(f"{shown}\ndisplay(Markdown({evil!r}), Javascript({DOES!r}))"))
    notebook.cells.append(nbformat.v4.new_markdown_cell(f"$\\sqrt{{d_k}}$ ![p](data:image/png;base64,{PIXEL})"))
    cell_of(notebook, "written_scaling").source = "Because of the variance. " + RUNNING[2]
    return notebook


@pytest.fixture(scope="module")
def server(classroom):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["jupyter", "lab", "--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token="]
    with (classroom / "log").open("w") as log:
        running = subprocess.Popen(command, cwd=classroom, env=environment(classroom), stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers_at(address))
        yield address
    finally:
        running.terminate()
        running.wait(30)


def answers_at(address):
    with contextlib.suppress(OSError):
        return answer(address, "/api")[0] == 200


@contextlib.contextmanager
def gradebook(classroom):
    with Gradebook(f"sqlite:///{classroom}/classroom/gradebook.db", "transformers") as found:
        yield found


def sheet(classroom, student):
    with gradebook(classroom) as book:
        return book.find_submission_notebook(NAME, NAME, student).id


def answer(server, path):
    connection = http.client.HTTPConnection(server.removeprefix("http://"), timeout=60)
    connection.request("GET", path)
    reply = connection.getresponse()
    reply.read()
    return reply.status, dict(reply.getheaders())


@pytest.fixture
def alone(server, page):  # noqa: F811
    """Yield a page, and see that it asks for nothing but Formgrader's pages and pictures beside the notebook."""
    found: list[str] = []
    page.on("requestfinished", lambda one: found.append(one.url))
    page.on("requestfailed", lambda one: one.failure == "csp" or found.append(f"{one.url} {one.failure}"))
    yield page
    fine = (f"{server}/formgrader/", "data:", "blob:")
    assert not [url for url in found if not url.startswith(fine) or "hacked" in url]


def test_every_page_has_the_policy_and_each_its_own_word(server, classroom):
    pages = ["manage_assignments", "gradebook", f"gradebook/{NAME}", "manage_students", "no/such/page"]
    pages.append(f"submissions/{sheet(classroom, 'eve')}/")
    found = {answer(server, f"/formgrader/{name}")[1][HEADER] for name in pages}
    assert len(found) == len(pages)
    for one in found:
        assert one.startswith("default-src 'none'; script-src 'nonce-")
        assert "'unsafe-inline'" not in one.partition("style-src")[0]
        assert "'self'" not in one.partition("connect-src")[0]
    assert "nonce" not in answer(server, "/lab")[1].get(HEADER, "")  # the rest of the server is as it was


@pytest.mark.parametrize("student", ["eve", "raw"])
def test_a_submission_runs_nothing_and_asks_for_nothing(server, classroom, alone, student):
    alone.goto(f"{server}/formgrader/submissions/{sheet(classroom, student)}/")
    expect(alone.locator(".nbgrader_cell").first).to_be_visible()
    for link in alone.locator("#link").all():
        link.evaluate("link => link.click()")
    for form in alone.locator("#form").all():
        form.evaluate("form => form.submit()")
    alone.wait_for_timeout(2000)
    assert alone.evaluate("window.hacked") is None
    where = alone.url.partition("?")[0]  # Formgrader itself notes behind it which answer has the focus
    assert where == f"{server}/formgrader/submissions/{sheet(classroom, student)}/"
    if student == "eve":
        assert alone.locator("math msqrt").count() > 0, "formulas are set"
        written = alone.locator(".nbgrader_cell", has=alone.locator("#written_scaling"))
        assert "Because of the variance" in written.inner_text()


def test_formgrader_lists_and_saves_a_mark_and_a_comment(server, classroom, alone):
    alone.goto(f"{server}/formgrader/gradebook/{NAME}/{NAME}")
    expect(alone.locator("#main-table tr")).to_have_count(2)
    alone.locator("#toggle_names").click()
    expect(alone.locator("#toggle_names")).to_have_text("Hide All Names")
    # what is typed before the marks are there is overwritten by them
    alone.goto(f"{server}/formgrader/submissions/{sheet(classroom, 'eve')}/", wait_until="networkidle")
    assert alone.evaluate("document.activeElement.classList.contains('tabbable')"), "the keyboard goes on from a field"
    alone.locator("span.name-hidden").first.click()
    expect(alone.locator("span.name-shown").first).to_be_visible()
    alone.locator("#written_scaling").fill("2")
    alone.locator("#written_scaling-comment").fill("Good. *Why*?")
    alone.locator("#written_scaling").focus()
    alone.locator("#softmax-comment").focus()

    def saved():
        with gradebook(classroom) as book:
            grade = book.find_grade("written_scaling", NAME, NAME, "eve")
            comment = book.find_comment("written_scaling", NAME, NAME, "eve")
            return grade.manual_score == 2 and comment.manual_comment == "Good. *Why*?"

    assert any(saved() or alone.wait_for_timeout(500) for _ in range(120)), "neither mark nor comment were saved"
    alone.reload()
    expect(alone.locator("#written_scaling")).to_have_value("2")


def test_the_policy_names_every_button_of_nbgraders_templates():
    files = [path.read_text("utf-8") for path in Path(template_path).rglob("*") if path.is_file()]
    assert set(re.findall(r'\son[a-z]+="([^"]*)"', "".join(files), re.IGNORECASE)) == set(ON_CLICK)


def test_what_is_marked_is_listed_so_with_the_time_that_was_meant(server):
    with urllib.request.urlopen(f"{server}/formgrader/api/submissions/{NAME}") as reply:
        found = {one["student"]: (one["autograded"], one["timestamp"]) for one in json.load(reply)}
    assert found == {"eve": (True, "2027-02-01T22:30:00"), "raw": (True, None)}


@pytest.mark.parametrize("where", ["manage_students", f"manage_submissions/{NAME}"])
def test_who_has_no_name_is_listed_by_id_and_others_by_name(server, classroom, alone, where):
    with gradebook(classroom) as book:
        book.update_or_create_student("raw", first_name="Ngozi", last_name="Okafor")
    alone.goto(f"{server}/formgrader/{where}")
    rows = alone.locator("#main-table tr")
    expect(rows).to_have_count(2)
    assert sorted(row.locator("a").first.inner_text() for row in rows.all()) == ["Okafor, Ngozi", "eve"]
    assert "None, None" not in alone.locator("#main-table").inner_text()
    kept(alone, f"formgrader-{where.partition('/')[0]}")
    if where == "manage_students":
        alone.get_by_role("link", name="Add new").click()
        expect(alone.locator(".modal.in")).to_be_visible()
    assert not alone.errors


def test_rubric_and_sample_answers_appear_beside_a_written_answer(server, classroom, alone):
    alone.set_viewport_size({"width": 1300, "height": 1000})
    alone.goto(f"{server}/formgrader/submissions/{sheet(classroom, 'eve')}/")
    answer = alone.locator(".nbgrader_cell", has=alone.locator("#written_scaling"))
    expect(alone.locator("#written_scaling")).to_be_focused()  # the page opens there
    expect(answer).to_be_in_viewport()
    beside = answer.locator(".beside")
    expect(beside).to_contain_text("derived from that of one term")
    assert alone.locator(".beside").count() == 1, "beside no other cell"
    assert [one.inner_text() for one in beside.locator("summary").all()] == [f"{n} of 3 points" for n in (3, 2, 1)]
    for one in beside.locator("details").all():
        one.locator("summary").evaluate("summary => summary.click()")  # by mouse, a page that settles may be missed
        expect(one.locator("p").first).to_be_visible()
    expect(beside).to_contain_text("Each has variance 1 if the entries")
    own = answer.locator(".text_cell_render").bounding_box()
    assert beside.bounding_box()["x"] >= own["x"] + own["width"], "beside it, not below"
    kept(alone, "formgrader-written")
    eve, raw = (sheet(classroom, who) for who in ("eve", "raw"))
    alone.locator("li.next a" if eve < raw else "li.previous a").click()  # nbgrader sorts them by their random ids
    alone.wait_for_url(re.compile(rf"{raw}/\?index=[1-9]"))
    expect(alone.locator("#written_scaling")).to_be_focused()
    expect(alone.locator(".beside")).to_have_count(1)


def watched(page):  # noqa: F811
    """Note what the list of submissions says of their state from now on; return a function that tells."""
    page.evaluate("""() => {
        window.states = new Set();
        new MutationObserver(() => document.querySelectorAll(".status div").forEach(one => states.add(one.innerText)))
            .observe(document.querySelector("#main-table"), {childList: true, subtree: true});
    }""")
    return lambda: page.evaluate("[...states]")


def test_marking_shows_its_progress_and_keeps_marks_and_comments(server, classroom, page):  # noqa: F811
    with gradebook(classroom) as book:
        grade = book.find_grade("written_scaling", NAME, NAME, "raw")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.find_comment("written_scaling", NAME, NAME, "raw").manual_comment = "The gradients?"
        book.find_grade("test_softmax", NAME, NAME, "raw").manual_score = 4
        book.db.commit()
    marked = classroom / "classroom" / "autograded" / "raw" / NAME / f"{NAME}.ipynb"
    before = marked.stat().st_mtime_ns
    address = f"{server}/formgrader/manage_submissions/{NAME}"
    page.goto(address)
    eve, row = (page.locator("#main-table tr", has=page.locator(".student-id", has_text=who)) for who in ("eve", "raw"))
    status = row.locator(".status")
    eve.locator(".autograde a").click()
    row.locator(".autograde a").click()
    expect(status).to_contain_text("waits for 1 before it")
    kept(page, "formgrader-marks")
    page.goto(address)  # who opens the list later sees what is marked and what waits
    states = watched(page)
    expect(status).to_contain_text(re.compile("getting ready|marking|waits"))
    assert answer(server, f"/formgrader/api/marking/{NAME}")[0] == 200, "the server answers meanwhile"
    expect(status).to_have_text("graded", timeout=300_000)  # nothing asks for a person: no "needs manual grading"
    expect(eve.locator(".score")).to_contain_text(" / ")
    kept(page, "formgrader-marked-again")
    assert any(re.fullmatch(r"marking: [1-9]\d* of 12 answers", state) for state in states()), states()
    assert not page.errors
    assert marked.stat().st_mtime_ns > before
    with gradebook(classroom) as book:
        assert book.find_grade("written_scaling", NAME, NAME, "raw").score == 1.5
        assert not book.find_grade("written_scaling", NAME, NAME, "raw").needs_manual_grade, "its words are the same"
        assert book.find_comment("written_scaling", NAME, NAME, "raw").manual_comment == "The gradients?"
        assert book.find_grade("test_softmax", NAME, NAME, "raw").score == 4
    page.goto(f"{server}/formgrader/submissions/{sheet(classroom, 'raw')}/")
    expect(page.locator("#written_scaling")).to_have_value("1.5")
    expect(page.locator("#written_scaling-comment")).to_have_value("The gradients?")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_written_answer_has_a_rubric_and_three_sample_answers(name):
    found = rubrics(ROOT / "solutions" / name / f"{name}.ipynb")
    released = (ROOT / "course" / name / f"{name}.ipynb").read_text("utf-8")
    assert set(found) == {grade_id(cell) for cell in read("course", name).cells if "written_" in (grade_id(cell) or "")}
    for question, rubric in found.items():
        worth = [item.points for item in items_of(rubric.text, rubric.points)]
        assert sum(worth) == rubric.points, question
        assert [sample.points for sample in rubric.samples] == [3, 2, 1], question
        assert rubric.samples[0].answer, question
        for sample in rubric.samples[1:]:
            given = re.findall(r"(?:^|[.]\s+)(1|½|0)\s+for\s", sample.why)
            given = [{"½": 0.5}.get(one) or float(one) for one in given]
            assert len(given) == len(worth), f"{question}: one for each line of the rubric"
            assert sum(given) == sample.points, question
            assert 50 <= len(sample.answer.split()) <= 150, question
            assert sample.answer.strip().splitlines()[0] not in released, "it is handed out"


def test_a_submitted_file_runs_neither_as_a_page_nor_as_a_configuration(server, classroom, alone):
    where = f"/formgrader/submissions/{sheet(classroom, 'eve')}/evil.html"
    status, headers = answer(server, where)
    assert (status, headers[HEADER]) == (200, FILES_POLICY)
    alone.goto(server + where)
    alone.wait_for_timeout(1000)
    assert alone.title() == "calm"
    asked = f"/formgrader?path=classroom/submitted/eve/{NAME}"
    assert answer(server, asked)[0] == 403
    assert not (classroom / "hacked").exists()
    assert [answer(server, f"/formgrader{path}")[0] for path in ("?path=.", "")] == [302, 302]
    assert asked not in html(f"<img src='{asked}'><a href='{asked}'>x</a><img src='../../../formgrader?path=x'>")


def test_relative_addresses_cannot_leave_the_notebooks_folder():
    for address in ("/x", "\\x", "//x", "../x", "a/%2e%2e/../x", "%2E%2e/x", " /x", "a\t/../x", ".\t./x"):
        assert "src" not in html(f'<img src="{address}">')
        assert "href" not in html(f'<a href="{address}">x</a>')
    for address in ("plot.png", "files/plot%201.png", "a..b/x.png", "./x.png", "#top", "https://x.org/../"):
        assert f'href="{address}"' in html(f'<a href="{address}">x</a>')
        assert address.startswith(("#", "https:")) or f'src="{address}"' in html(f'<img src="{address}">')
