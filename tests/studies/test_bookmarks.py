"""The bundled bookmarks application, called as a WSGI server calls it."""

import io
import json
import runpy
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

APP = Path(__file__).parents[2] / "python" / "httpdyno" / "studies" / "bookmarks" / "app"
SEEDED = "0" * 31 + "1"
NEW = "https://new.example/"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def session(self) -> str:
        return SimpleCookie(self.headers["Set-Cookie"])["bookmarks_session"].value


class Browser:
    def __init__(self, application: Callable[..., Any], session: str = "") -> None:
        self._application = application
        self.session = session

    def get(self, path: str, query: str = "") -> Answer:
        return self._ask(path, REQUEST_METHOD="GET", QUERY_STRING=query)

    def post(self, path: str, **form: str) -> Answer:
        body = urlencode(form).encode()
        return self._ask(
            path,
            REQUEST_METHOD="POST",
            CONTENT_TYPE="application/x-www-form-urlencoded",
            CONTENT_LENGTH=str(len(body)),
            **{"wsgi.input": io.BytesIO(body)},
        )

    def _ask(self, path: str, **environ: Any) -> Answer:
        environ = {"SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": "", **environ}
        if self.session:
            environ["HTTP_COOKIE"] = f"bookmarks_session={self.session}"
        setup_testing_defaults(environ)
        said: list[Any] = []

        def start_response(*args: Any) -> Callable[[bytes], object]:
            said.extend(args[:2])
            return lambda _: None

        parts: Any = validator(self._application)(environ, start_response)
        text = b"".join(parts).decode()
        parts.close()
        answer = Answer(int(said[0][:3]), dict(said[1]), text)
        if "Set-Cookie" in answer.headers:
            self.session = answer.session
        return answer


@pytest.fixture
def make_application(tmp_path, monkeypatch, request):
    def make(journal_mode: str = "wal", debug: str = "false") -> Callable[..., Any]:
        database, sessions = tmp_path / "bookmarks.sqlite", tmp_path / "sessions"
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["seed.py", str(database), str(sessions), journal_mode])
            runpy.run_path(str(APP / "seed.py"), run_name="__main__")
        monkeypatch.setenv("BOOKMARKS_DATABASE", str(database))
        monkeypatch.setenv("BOOKMARKS_SESSION_DIR", str(sessions))
        monkeypatch.setenv("BOOKMARKS_JOURNAL_MODE", journal_mode)
        monkeypatch.setenv("BOOKMARKS_DEBUG", debug)
        application: Callable[..., Any] = runpy.run_path(str(APP / "bookmarks.py"))["application"]
        request.addfinalizer(application.close)  # type: ignore[attr-defined]
        return application

    return make


@pytest.fixture
def application(make_application):
    return make_application()


def test_a_seeded_session_sees_its_newest_bookmarks(application):
    page = Browser(application, SEEDED).get("/")

    assert page.status == 200
    assert page.text.count('action="/delete"') == 25
    assert "part 119" in page.text
    assert "part 94<" not in page.text


def test_the_header_says_how_long_the_body_is(application):
    page = Browser(application, SEEDED).get("/")

    assert int(page.headers["Content-Length"]) == len(page.text.encode())


def test_a_stranger_gets_a_session_and_an_empty_list(application):
    browser = Browser(application)

    page = browser.get("/")

    assert "Nothing here yet." in page.text
    assert browser.get("/").session == page.session
    assert "Visit 2 of" not in Browser(application).get("/").text


def test_visits_of_a_session_are_counted(application):
    browser = Browser(application)

    assert "Visit 1 of" in browser.get("/").text
    assert "Visit 2 of" in browser.get("/").text


@pytest.mark.parametrize("forged", ["../../etc/passwd", "f" * 32, "A" * 32])
def test_a_cookie_that_names_no_session_begins_a_new_one(application, forged):
    page = Browser(application, forged).get("/")

    assert page.status == 200
    assert page.session != forged


def test_what_was_added_is_listed_once_with_its_new_title_and_can_be_deleted(application):
    browser = Browser(application)

    added = browser.post("/add", url=NEW, title="First", tag="tools")
    browser.post("/add", url=NEW, title="Second", tag="tools")
    page = browser.get("/")

    assert (added.status, added.headers["Location"]) == (303, "/")
    assert "First" not in page.text
    assert "Added: Second" in page.text
    assert page.text.count(f'value="{NEW}"') == 1
    assert "Added:" not in browser.get("/").text

    assert browser.post("/delete", url=NEW).status == 303
    assert NEW not in (after := browser.get("/").text)
    assert "Deleted." in after


def test_nobody_deletes_the_bookmarks_of_another(application):
    mine, other = Browser(application), Browser(application)
    mine.post("/add", url=NEW)

    other.post("/delete", url=NEW)

    assert "It was not there." in other.get("/").text
    assert NEW in mine.get("/").text


def test_a_search_finds_titles_and_addresses_and_is_remembered(application):
    browser = Browser(application, SEEDED)

    found = browser.get("/", "q=cache")

    assert found.text.count('action="/delete"') > 0
    assert all("cache" in entry for entry in found.text.split("<li>")[1:])
    assert 'href="/?q=cache"' in browser.get("/").text


def test_the_link_of_a_tag_finds_what_has_it(application):
    found = Browser(application, SEEDED).get("/", "q=reading")

    assert found.text.count("<small>reading</small>") == 25


def test_markup_in_a_title_is_shown_and_not_obeyed(application):
    browser = Browser(application)

    browser.post("/add", url=NEW, title="<script>alert(1)</script>")

    assert "<script>" not in browser.get("/").text


def test_an_address_of_another_kind_is_refused(application):
    answer = Browser(application).post("/add", url="javascript:alert(1)")

    assert answer.status == 400
    assert "http://" in answer.text


def test_an_unknown_page_is_not_found(application):
    assert Browser(application).get("/nothing").status == 404


@pytest.mark.parametrize(("journal_mode", "debug"), [("delete", "true"), ("wal", "false")])
def test_settings_are_those_in_force(make_application, tmp_path, journal_mode, debug):
    application = make_application(journal_mode, debug)

    said = json.loads(Browser(application).get("/settings").text)

    assert (said["journal_mode"], said["debug"]) == (journal_mode, debug)
    assert said["session_dir"] in {"disk", "memory"}


def test_debug_mode_says_how_long_a_page_took(make_application):
    assert "Page made in" in Browser(make_application(debug="true")).get("/").text


def test_without_debug_mode_no_page_says_how_long_it_took(application):
    assert "Page made in" not in Browser(application).get("/").text


def test_the_workload_leaves_the_data_as_they_were(application, tmp_path):
    def rows() -> list[tuple[str, str]]:
        connection = sqlite3.connect(tmp_path / "bookmarks.sqlite")
        found = connection.execute("SELECT owner, url FROM bookmarks ORDER BY 1, 2").fetchall()
        connection.close()
        return found

    before, browser = rows(), Browser(application, SEEDED)

    browser.post("/add", url=NEW, title="New", tag="tools")
    assert rows() != before
    browser.post("/delete", url=NEW)

    assert rows() == before
