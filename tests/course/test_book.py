"""Tests of the book for notebooks 01 and 02: downloaded once, checked and cached; without it they go on and say so."""

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

CELLS = {"01-language-modelling": "english-book", "02-tokenisation": "real-text"}
TEXT = "First Citizen:\nBefore we proceed any further, hear me speak.\nọ 🐶\n"
DATA = TEXT.encode("utf-8")


def cell(notebook: str) -> dict:
    return next(one for one in read("solutions", notebook).cells if one.id == CELLS[notebook])


def definitions(notebook: str) -> str:
    """The cell without its last line, which calls what the others define."""
    return cell(notebook).source.rsplit("\n", 1)[0]


@pytest.fixture
def book(monkeypatch, tmp_path) -> dict:
    """What the cell defines, in an empty folder with an empty cache, for a text that is ours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COURSE_BOOK")  # which the tests' set-up has set
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    namespace: dict = {"asked": []}
    exec("import os\nfrom pathlib import Path\n" + definitions("02-tokenisation"), namespace)
    return namespace


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
        threading.Thread(target=server.serve_forever).start()
        book["BOOK_AT"] = f"http://127.0.0.1:{server.server_port}/input.txt"
        book |= {"BOOK_SHA256": hashlib.sha256(DATA).hexdigest(), "BOOK_SIZE": len(TEXT)}
        yield book
        server.shutdown()


def test_the_book_is_fetched_once_and_then_read_from_the_cache(served, capsys):
    for _ in range(2):
        assert served["english_book"]("the stories' text") == ("tiny Shakespeare", TEXT)
    assert served["asked"] == ["/input.txt"]
    assert capsys.readouterr().out.count("The text in use is tiny Shakespeare") == 2


@pytest.mark.parametrize(
    ("changed", "error"),
    [({"BOOK_SHA256": "0" * 64}, "ValueError"), ({"BOOK_AT": "http://127.0.0.1:9/input.txt"}, "ConnectionError")],
    ids=["another hash", "no network"],
)
def test_where_the_book_cannot_be_had_the_stories_are_taken_and_it_is_said(served, capsys, changed, error):
    served.update(changed)
    assert served["english_book"]("once upon a time") == ("the stories", "once upon a time")
    said = capsys.readouterr().out
    assert f"The book cannot be had ({error})." in said
    assert "The text in use is the stories: 16 characters." in said


@pytest.mark.parametrize("name", ["tiny-shakespeare", "my-book"])
def test_a_copy_of_ones_own_is_taken_without_library_or_network(book, monkeypatch, tmp_path, name):
    """Of the book's name, beside the notebook; of another, named by COURSE_BOOK."""
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert book["english_book"]("once upon a time")[0] == "the stories"
    place = tmp_path / f"{name}.txt"
    place.write_bytes(DATA)
    if name == "my-book":
        monkeypatch.setenv("COURSE_BOOK", str(place))
    assert book["english_book"]("") == (name, TEXT)  # another text than the book is called by its file's name


def test_who_asks_for_the_stories_as_tests_and_marking_do_fetches_nothing(served, monkeypatch):
    assert {"COURSE_BOOK": "stories"}.items() <= FIXED.items()
    assert WITHOUT_BOOK == {"COURSE_BOOK": "stories"}
    monkeypatch.setenv("COURSE_BOOK", "stories")
    assert served["english_book"]("once upon a time")[0] == "the stories"
    assert served["asked"] == []


@pytest.mark.parametrize("notebook", CELLS)
def test_what_is_kept_comes_from_the_book(notebook, book):
    assert re.search(r"/[0-9a-f]{40}/", book["BOOK_AT"]), "the address names a commit"
    assert definitions(notebook) == definitions("02-tokenisation")
    [output] = cell(notebook)["outputs"]
    assert "".join(output["text"]) == "The text in use is tiny Shakespeare: 1,115,394 characters.\n"
