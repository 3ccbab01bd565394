"""Test in a browser and a Jupyter server that the keyboard alone marks written answers by rubric."""

import http.client
import re

import pytest
from browsing import NEEDS_BROWSER, browser, kept, page, press, served, without_findings  # noqa: F401 (fixtures)
from essay_class import FULL, HALF, RUBRIC, class_in, write_rubric
from nbgrader.api import Gradebook
from playwright.sync_api import expect

pytestmark = [*NEEDS_BROWSER, pytest.mark.long]
CONFIGURATION = """
from autograder.nbgrader_plugin.configuration import mark_with_autograder

c = get_config()
c.CourseDirectory.course_id = "essays"
mark_with_autograder(c)
"""
PAGE = "/formgrader/written/essay/essay/why"
ANSWERS = {
    "ada": "The variance is $d_k$.\n\n<img src=x onerror='hacked = 1'><script>hacked = 1</script>",
    "ben": "Gradients vanish.",
    "chi": "",
    "dan": " ",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return a Jupyter server in a class's folder: the folder, and the server's address."""
    folder = tmp_path_factory.mktemp("class")
    class_in(folder, ANSWERS)
    (folder / "nbgrader_config.py").write_text(CONFIGURATION)
    with served(["jupyter", "server"], folder, tmp_path_factory.mktemp("home")) as address:
        yield folder, address


@pytest.fixture
def teaching(server):
    """Return the same, with no answer marked."""
    folder, _ = server
    write_rubric(folder, RUBRIC)
    with Gradebook(f"sqlite:///{folder}/gradebook.db", "essays") as book:
        for student in ANSWERS:
            grade = book.find_grade("why", "essay", "essay", student)
            grade.manual_score, grade.needs_manual_grade = None, True
            book.find_comment("why", "essay", "essay", student).manual_comment = None
        book.db.commit()
    return server


def marks(folder):
    with Gradebook(f"sqlite:///{folder}/gradebook.db", "essays") as book:
        found = {}
        for student in ANSWERS:
            grade = book.find_grade("why", "essay", "essay", student)
            comment = book.find_comment("why", "essay", "essay", student)
            found[student] = (grade.manual_score, comment.manual_comment)
        return found


def status(address, method, path, **headers):
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
    connection.request(method, path, body="{}" if method == "POST" else None, headers=headers)
    return connection.getresponse().status


def opened(page, address):  # noqa: F811
    page.goto(address + PAGE)
    expect(page.locator("[data-part=which]")).to_be_focused()


def which(page):  # noqa: F811
    return page.locator("[data-part=which]")


def go_to(page, text):  # noqa: F811
    for _ in ANSWERS:
        if text in page.locator("article:visible").inner_text():
            return
        press(page, "ArrowRight")
    raise AssertionError(f"no answer says {text}")


def test_the_keyboard_alone_marks_a_class_by_rubric(teaching, page):  # noqa: F811
    folder, address = teaching
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{address}/formgrader/gradebook/essay/essay")
    page.get_by_role("link", name="why").press("Enter")
    expect(page.locator("[data-part=progress]")).to_have_text("4 of 4 answers wait for a mark")
    expect(which(page)).to_have_text("Answer 1 of 3: 2 empty answers")
    press(page, "Enter")
    expect(page.locator("[data-part=said]")).to_contain_text("Press 1 to 2")
    press(page, "0", "Enter")
    expect(page.locator("[data-part=asks]")).to_have_text("0 of 3 points for these 2 empty answers: chi, dan.")
    assert marks(folder)["chi"] == (None, None), "it is seen before it is saved"
    kept(page, "rubric-page-group")
    press(page, "Enter")
    expect(which(page)).to_have_text("Answer 2 of 3")
    go_to(page, "variance")
    press(page, "1", "Shift+Digit2")
    expect(page.locator("[data-part=sum]")).to_have_text("2 of 3 points")
    kept(page, "rubric-page-1366")
    press(page, "c")
    page.keyboard.insert_text("Which gradients?")
    press(page, "Control+Enter")
    expect(page.locator("[data-part=said]")).to_have_text("Saved: 2 of 3 points.")
    expect(page.locator("article:visible")).to_contain_text("Gradients vanish")
    press(page, "2", "Enter")
    expect(page.locator("[data-part=progress]")).to_have_text("All answers are marked")
    nothing = "\n".join(re.sub(r"\. \d ", ". 0 ", line) for line in FULL.splitlines())
    found = marks(folder)
    assert found["ada"] == (2, f"{HALF}\n\nWhich gradients?")
    assert found["ben"] == (2, FULL.replace("1. 1", "1. 0"))
    assert found["chi"] == found["dan"] == (0, nothing)
    assert page.evaluate("window.hacked") is None
    assert not [error for error in page.errors if "404" not in error], "but the student's picture, which is not there"


def test_the_second_of_two_assistants_sees_both_marks(teaching, page):  # noqa: F811
    folder, address = teaching
    opened(page, address)
    go_to(page, "Gradients")
    other = page.context.new_page()
    opened(other, address)
    go_to(other, "Gradients")
    press(other, "2", "Enter")
    expect(other.locator("[data-part=said]")).to_have_text("Saved: 2 of 3 points.")
    press(page, "1", "ArrowLeft", "ArrowRight")
    expect(page.locator("[data-part=state]")).to_contain_text("What you chose here is not saved yet.")
    press(page, "Enter")
    expect(page.locator("[data-part=asks]")).to_contain_text("Somebody else has marked meanwhile")
    expect(page.locator("[data-part=theirs]")).to_contain_text("ben: 2 of 3 points\n1. 0 of 1 point")
    expect(page.locator("[data-part=sum]")).to_have_text("1 of 3 points")
    kept(page, "rubric-page-second")
    press(page, "Escape")
    expect(page.locator("[data-part=state]")).to_have_text("Marked: 2 of 3.")
    assert marks(folder)["ben"][0] == 2


def test_a_changed_rubric_changes_marks_after_they_are_shown(teaching, page):  # noqa: F811
    folder, address = teaching
    opened(page, address)
    go_to(page, "Gradients")
    press(page, "1", "2", "Enter")
    expect(page.locator("[data-part=said]")).to_have_text("Saved: 3 of 3 points.")
    write_rubric(folder, RUBRIC.replace("2 points", "1 point"))
    go_to(page, "variance")
    press(page, "1", "Enter")
    expect(page.locator("[data-part=said]")).to_contain_text("The rubric has changed since this page was opened.")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    expect(page.locator(".changes")).to_contain_text("ben: 3 points become 2")
    kept(page, "rubric-page-changed")
    page.get_by_role("button", name="Change this answer").press("Enter")
    expect(page.locator(".changes")).to_have_count(0)
    assert marks(folder)["ben"] == (2, FULL.replace("2 of 2 points", "1 of 1 point"))


@pytest.mark.parametrize("width", [390, 1366])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_as_wide_as_the_screen(teaching, page, width, scheme):  # noqa: F811
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    opened(page, teaching[1])
    press(page, "1", "Shift+Digit2", "Enter")  # equal answers: it asks
    expect(page.locator("[data-part=question]")).to_be_visible()
    page.get_by_text("Keys", exact=True).click()
    without_findings(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    kept(page, f"rubric-page-{width}-{scheme}")


def test_tab_after_a_comment_leads_to_the_same_answer_of_the_next(teaching, page):  # noqa: F811
    page.goto(f"{teaching[1]}/formgrader/gradebook/essay/essay")
    page.locator("#main-table a").first.click()
    expect(page.locator("#why")).to_be_focused()
    before = page.url.partition("?")[0]
    page.wait_for_load_state("networkidle")
    page.locator("#why-comment").focus()
    page.keyboard.insert_text("Fine.")
    press(page, "Tab")
    page.wait_for_url(lambda url: "/submissions/" in url and not url.startswith(before))
    expect(page.locator("#why")).to_be_focused()
    assert [comment for _, comment in marks(teaching[0]).values() if comment] == ["Fine."]


def test_saving_needs_the_xsrf_token_and_both_need_a_login(teaching, tmp_path):
    folder, address = teaching
    save = PAGE.replace("/written", "/api/written")
    assert status(address, "GET", PAGE) == 200
    assert status(address, "GET", f"{PAGE}y") == 404
    assert status(address, "POST", save) == 403
    token = {"Cookie": "_xsrf=2|a|b|1", "X-XSRFToken": "2|a|c|1"}
    assert status(address, "POST", save, **token) == 403
    locked = ["jupyter", "server", "--PasswordIdentityProvider.hashed_password=sha1:0:0"]
    with served(locked, folder, tmp_path) as address:
        assert status(address, "GET", PAGE) == 302
        assert status(address, "POST", save) == 403
