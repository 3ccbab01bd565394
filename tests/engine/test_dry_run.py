"""Tests that `grade --dry-run` says whom marking would mark and why, and writes nothing."""

# ruff: noqa: F811
import pytest
from small_course import course, hand_in, released, settings  # noqa: F401 (fixtures among them)
from typer.testing import CliRunner

from autograder import cli
from autograder.batch.dry_run import plan
from autograder.batch.marking_cache import CHANGES, CacheEntry, MarkingCache, environment_of, key_of
from autograder.batch.tasks import Submission
from autograder.nbgrader_plugin.preprocessors import inspect_submission

SECRET = b"the class's"


def key(environment="engine=1 course=1", **files):
    return key_of(Submission("sums", {name: text.encode() for name, text in files.items()}, secret=SECRET), environment)


@pytest.fixture
def cache(tmp_path):
    """Return a cache in which ada's submission is marked."""
    page = tmp_path / "page.html"
    page.write_text("her feedback")
    found = MarkingCache(tmp_path, "sums")
    entry = CacheEntry(key(answer="1"), "on Monday", "")
    found.add(entry, [page])
    found.write("ada", entry)
    return found


@pytest.mark.parametrize(
    ("now", "when", "reasons"),
    [
        (key(answer="1"), "on Monday", []),
        (key(answer="2"), "on Monday", [CHANGES["submission"]]),
        (key("engine=1 course=2", answer="1"), "on Monday", [CHANGES["course"]]),
        (key("engine=2 course=1", answer="2"), "on Monday", [CHANGES["submission"], CHANGES["engine"]]),
        (key(answer="1"), "on Tuesday", ["the time when it was handed in, or the due date, has changed"]),
    ],
)
def test_what_has_changed_is_the_reason_to_mark_again(cache, now, when, reasons):
    assert cache.reasons("ada", now, when) == reasons
    assert (cache.of("ada", now, when) is None) == bool(reasons)


def test_a_new_a_failed_and_an_older_marking_have_their_own_reasons(cache, tmp_path):
    cache.log_failure("bob", "it failed")
    cache.write("cleo", CacheEntry("0123abc", "", "", {"page.html": [0, 0]}))
    old, changed = (
        "an older version of autograder marked it",
        "a marked notebook or a feedback page was changed or removed",
    )
    found = {student: cache.reasons(student, key(answer="1"), "") for student in ("dan", "bob", "cleo")}
    assert found == {"dan": ["not marked yet"], "bob": ["marking it failed the last time"], "cleo": [old, changed]}
    (tmp_path / "page.html").write_text("somebody else's")
    assert cache.reasons("ada", key(answer="1"), "on Monday") == [changed]


def test_each_part_of_the_environment_has_a_reason():
    named = {part.partition("=")[0] for part in environment_of("05-attention").split()}
    assert named | {"submission", "secret"} == set(CHANGES)


def test_a_dry_run_writes_nothing(course, monkeypatch):
    def everything():
        return {path: path.stat().st_mtime_ns for path in course.rglob("*")}

    monkeypatch.setattr(cli, "ROOT", course)
    hand_in(course, "bob/sums")
    before = everything()
    done = CliRunner().invoke(cli.app, ["grade", "sums", "--dry-run"])
    assert (done.exit_code, everything()) == (0, before), done.output
    assert "sums: 3 to mark; 0 unchanged" in done.output
    assert "not marked yet (3): amina, bayo, bob" in done.output


def test_a_changed_setting_and_a_lost_mark_are_reasons(course):
    hand_in(course, "bob/sums")
    app = settings()
    one = inspect_submission(app.coursedir, "bob", course / "submitted" / "bob" / "sums")
    cache, entry = MarkingCache(course, "sums"), CacheEntry(key_of(Submission.of(one), environment_of("sums")), "", "")
    cache.add(entry, [course / "nbgrader_config.py"])
    cache.write("bob", entry)
    unknown = ("the gradebook has no marks of it",)
    assert plan(app, "sums", "bob").wanted == {unknown: ["bob"]}
    (course / "nbgrader_config.py").write_text((course / "nbgrader_config.py").read_text() + "\n# another day\n")
    environment_of.cache_clear()
    [reasons] = plan(app, "sums", "bob").wanted
    assert CHANGES["settings"] in reasons
