"""Tests of the book for notebook 02: downloaded once, checked and cached; without it the notebook goes on and says so."""

from __future__ import annotations

import hashlib
import http.server
import re
import sys
import threading
from collections.abc import Iterator

import pytest
from conftest import WITHOUT_BOOK, read

from autograder.sandbox.environment import FIXED

TEXT = "First Citizen:\nBefore we proceed any further, hear me speak.\nọ 🐶\n"
DATA = TEXT.encode("utf-8")


def cell() -> dict:
    return next(one for one in read("solutions", "02-tokenisation").cells if one.id == "real-text")


def definitions() -> str:
    """The cell without its last line, which calls what the others define."""
    return "".join(cell()["source"]).rsplit("\n", 1)[0].replace("\r", "")


@pytest.fixture
def book(monkeypatch, tmp_path) -> dict:
    """What the cell defines, in an empty folder with an empty cache, for a text that is ours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COURSE_BOOK")  # which the tests' set-up has set
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    namespace: dict = {}
    exec("import os\nfrom pathlib import Path\n" + definitions(), namespace)
    return namespace | {"asked": []}


@pytest.fixture
def served(book) -> Iterator[dict]:
    """The same, with a server for the book's address."""

    class Quiet(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            book["asked"].append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(DATA)))
            self.end_headers()
            self.wfile.write(DATA)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        globals_of = book["find_book"].__globals__
        globals_of["BOOK_AT"] = f"http://127.0.0.1:{server.server_port}/input.txt"
        globals_of["BOOK_SHA256"] = hashlib.sha256(DATA).hexdigest()
        globals_of["BOOK_SIZE"] = len(TEXT)
        yield book
        server.shutdown()
        thread.join()


def test_the_book_is_fetched_once_and_then_read_from_the_cache(served, capsys):
    assert served["english_book"]("the stories' text") == ("tiny Shakespeare", TEXT)
    assert served["english_book"]("the stories' text") == ("tiny Shakespeare", TEXT)
    assert served["asked"] == ["/input.txt"]
    assert capsys.readouterr().out.count("The text in use is tiny Shakespeare") == 2


@pytest.mark.parametrize(
    ("changed", "error"),
    [({"BOOK_SHA256": "0" * 64}, "ValueError"), ({"BOOK_AT": "http://127.0.0.1:9/input.txt"}, "ConnectionError")],
    ids=["another hash", "no network"],
)
def test_where_the_book_cannot_be_had_the_stories_are_taken_and_it_is_said(served, capsys, changed, error):
    served["find_book"].__globals__.update(changed)
    assert served["english_book"]("once upon a time") == ("the stories", "once upon a time")
    said = capsys.readouterr().out
    assert f"The book cannot be had ({error})." in said
    assert "The text in use is the stories: 16 characters." in said


def test_without_the_library_the_stories_are_taken(book, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert book["english_book"]("once upon a time")[0] == "the stories"


@pytest.mark.parametrize("how", ["beside the notebook", "named by COURSE_BOOK"])
def test_a_copy_of_ones_own_is_taken_without_library_or_network(book, monkeypatch, tmp_path, how):
    monkeypatch.setitem(sys.modules, "pooch", None)
    place = tmp_path / ("tiny-shakespeare.txt" if how == "beside the notebook" else "my-book.txt")
    place.write_bytes(DATA)
    if how != "beside the notebook":
        monkeypatch.setenv("COURSE_BOOK", str(place))
    assert book["english_book"]("") == (place.stem, TEXT)  # another text than the book is called by its file's name


def test_who_asks_for_the_stories_fetches_nothing(served, monkeypatch):
    monkeypatch.setenv("COURSE_BOOK", "stories")
    assert served["english_book"]("once upon a time")[0] == "the stories"
    assert served["asked"] == []


def test_tests_and_marking_do_without_the_book():
    assert WITHOUT_BOOK == {"COURSE_BOOK": "stories"}
    assert FIXED["COURSE_BOOK"] == "stories"


def test_what_is_kept_comes_from_the_book(book):
    assert re.search(r"/[0-9a-f]{40}/", book["BOOK_AT"]), "the address names a commit"
    [output] = cell()["outputs"]
    assert "".join(output["text"]) == "The text in use is tiny Shakespeare: 1,115,394 characters.\n"
