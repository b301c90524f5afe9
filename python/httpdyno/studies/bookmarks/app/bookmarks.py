"""A small bookmarks site: a WSGI application with sessions, SQLite and templates.

Every visitor has a session without logging in; the session owns the bookmarks. Settings come from
the environment:

BOOKMARKS_DATABASE      the SQLite file, made by `seed.py`
BOOKMARKS_JOURNAL_MODE  SQLite's journal: `delete`, `wal`, …
BOOKMARKS_SESSION_DIR   the folder for session files
BOOKMARKS_DEBUG         `true`: templates are compiled anew for each page, SQL is logged, each page
                        says how long it took
"""

import json
import logging
import os
import re
import secrets
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment, FileSystemLoader

Environ = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], object]

PAGE_SIZE = 25
MAX_BODY_BYTES = 64 * 1024
MAX_FIELD_LENGTH = 500
SESSION_COOKIE = "bookmarks_session"
SESSION_ID = re.compile(r"[0-9a-f]{32}")

log = logging.getLogger("bookmarks")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the application is told by its environment."""

    database: Path
    journal_mode: str
    session_dir: Path
    debug: bool

    @classmethod
    def from_environment(cls) -> "Settings":
        """Read them; KeyError for one that is not set and has no default."""
        return cls(
            database=Path(os.environ["BOOKMARKS_DATABASE"]),
            journal_mode=os.environ.get("BOOKMARKS_JOURNAL_MODE", "delete"),
            session_dir=Path(os.environ["BOOKMARKS_SESSION_DIR"]),
            debug=os.environ.get("BOOKMARKS_DEBUG", "false") == "true",
        )


@dataclass(frozen=True, kw_only=True)
class Response:
    """An answer before it is put on the wire."""

    body: str = ""
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


class BadRequestError(Exception):
    """The visitor sent something that cannot be meant."""


@dataclass
class Session:
    """What is remembered of one visitor."""

    id: str
    data: dict[str, Any] = field(default_factory=dict)

    def take(self, key: str) -> str:
        """Return a text and forget it; empty if there is none."""
        return str(self.data.pop(key, ""))


class SessionFolder:
    """Sessions as one small JSON file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, cookie_header: str) -> Session:
        """Return the session that the cookie names, or a new one."""
        morsel = SimpleCookie(cookie_header).get(SESSION_COOKIE)
        if morsel is not None and SESSION_ID.fullmatch(morsel.value):
            try:
                return Session(morsel.value, json.loads(self._file(morsel.value).read_bytes()))
            except FileNotFoundError:
                log.info("session %s is unknown, a new one begins", morsel.value)
        return Session(secrets.token_hex(16))

    def save(self, session: Session) -> None:
        """Write it whole or not at all: another worker may be reading it."""
        handle, name = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(session.data, file)
        Path(name).replace(self._file(session.id))

    def _file(self, session_id: str) -> Path:
        return self._folder / f"{session_id}.json"


class Store:
    """The bookmarks in SQLite, over one connection for each thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._local = threading.local()

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, opened when it is first asked for."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._settings.database, timeout=10)
            connection.row_factory = sqlite3.Row
            connection.execute(f"PRAGMA journal_mode = {self._settings.journal_mode}")
            if self._settings.debug:
                connection.set_trace_callback(lambda sql: log.debug("SQL: %s", sql))
            self._local.connection = connection
        return connection

    def newest(self, owner: str, words: str) -> list[sqlite3.Row]:
        """Return the owner's newest bookmarks with these words in title, address or tag."""
        pattern = f"%{words}%"
        return self.connection.execute(
            "SELECT url, title, tag, added_at FROM bookmarks"
            " WHERE owner = ? AND (title LIKE ? OR url LIKE ? OR tag LIKE ?)"
            " ORDER BY added_at DESC LIMIT ?",
            (owner, pattern, pattern, pattern, PAGE_SIZE),
        ).fetchall()

    def tags(self, owner: str) -> list[sqlite3.Row]:
        """Return the owner's tags and how many bookmarks have them."""
        return self.connection.execute(
            "SELECT tag, count(*) AS n FROM bookmarks WHERE owner = ? GROUP BY tag ORDER BY tag",
            (owner,),
        ).fetchall()

    def add(self, owner: str, url: str, title: str, tag: str) -> None:
        """Add a bookmark; an address that is there already gets the new title and tag."""
        with self.connection as connection:
            connection.execute(
                "INSERT INTO bookmarks (owner, url, title, tag, added_at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (owner, url) DO UPDATE SET title = excluded.title,"
                " tag = excluded.tag, added_at = excluded.added_at",
                (owner, url, title, tag, time.time()),
            )

    def delete(self, owner: str, url: str) -> bool:
        """Delete a bookmark; False if there was none."""
        with self.connection as connection:
            cursor = connection.execute(
                "DELETE FROM bookmarks WHERE owner = ? AND url = ?", (owner, url)
            )
        return cursor.rowcount > 0

    def close(self) -> None:
        """Close this thread's connection, if it has one."""
        connection: sqlite3.Connection | None = self._local.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def journal_mode(self) -> str:
        """Return the mode that is in force."""
        return str(self.connection.execute("PRAGMA journal_mode").fetchone()[0])


class Application:
    """The WSGI application."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sessions = SessionFolder(settings.session_dir)
        self._store = Store(settings)
        self._templates = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            autoescape=True,
            cache_size=0 if settings.debug else 50,
            auto_reload=settings.debug,
        )
        self._routes: dict[tuple[str, str], Callable[[Environ, Session], Response]] = {
            ("GET", "/"): self._list,
            ("POST", "/add"): self._add,
            ("POST", "/delete"): self._delete,
        }

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        response = self._answer(environ)
        body = response.body.encode()
        start_response(
            f"{response.status.value} {response.status.phrase}",
            [
                ("Content-Type", response.content_type),
                ("Content-Length", str(len(body))),
                *response.headers,
            ],
        )
        return [body]

    def close(self) -> None:
        """Let go of what this thread holds open."""
        self._store.close()

    def _answer(self, environ: Environ) -> Response:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if (method, path) == ("GET", "/settings"):
            return self._effective_settings()
        route = self._routes.get((method, path))
        if route is None:
            return Response(body="there is no such page\n", status=HTTPStatus.NOT_FOUND)
        session = self._sessions.load(environ.get("HTTP_COOKIE", ""))
        session.data["visits"] = session.data.get("visits", 0) + 1
        try:
            response = route(environ, session)
        except BadRequestError as error:
            return Response(body=f"{error}\n", status=HTTPStatus.BAD_REQUEST)
        self._sessions.save(session)
        cookie = f"{SESSION_COOKIE}={session.id}; Path=/; HttpOnly; SameSite=Lax"
        return Response(
            body=response.body,
            status=response.status,
            headers=(*response.headers, ("Set-Cookie", cookie)),
        )

    def _list(self, environ: Environ, session: Session) -> Response:
        started_at = time.perf_counter()
        query = parse_qs(environ.get("QUERY_STRING", ""))
        words = query.get("q", [""])[0][:MAX_FIELD_LENGTH]
        if words:
            recent = [words, *session.data.get("searches", [])]
            session.data["searches"] = list(dict.fromkeys(recent))[:5]
        bookmarks = self._store.newest(session.id, words)
        tags = self._store.tags(session.id)
        page = self._templates.get_template("list.html").render(
            bookmarks=bookmarks,
            tags=tags,
            words=words,
            notice=session.take("notice"),
            visits=session.data["visits"],
            searches=session.data.get("searches", []),
            debug=self._settings.debug,
            elapsed_s=lambda: time.perf_counter() - started_at,
        )
        return Response(body=page)

    def _add(self, environ: Environ, session: Session) -> Response:
        form = read_form(environ)
        url = form.get("url", "").strip()
        if not url.startswith(("http://", "https://")):
            raise BadRequestError("an address begins with http:// or https://")
        title = form.get("title", "").strip() or url
        self._store.add(session.id, url, title, form.get("tag", "").strip() or "later")
        session.data["notice"] = f"Added: {title}"
        return Response(status=HTTPStatus.SEE_OTHER, headers=(("Location", "/"),))

    def _delete(self, environ: Environ, session: Session) -> Response:
        deleted = self._store.delete(session.id, read_form(environ).get("url", ""))
        session.data["notice"] = "Deleted." if deleted else "It was not there."
        return Response(status=HTTPStatus.SEE_OTHER, headers=(("Location", "/"),))

    def _effective_settings(self) -> Response:
        words = {
            "debug": "true" if self._templates.auto_reload else "false",
            "journal_mode": self._store.journal_mode(),
            "session_dir": file_system_kind(self._settings.session_dir),
        }
        return Response(body=json.dumps(words) + "\n", content_type="application/json")


def read_form(environ: Environ) -> dict[str, str]:
    """Return the fields of a posted form, the first of each name."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > MAX_BODY_BYTES:
        raise BadRequestError(f"a form has at most {MAX_BODY_BYTES} bytes")
    fields = parse_qs(environ["wsgi.input"].read(length).decode("utf-8", "replace"))
    return {name: values[0][:MAX_FIELD_LENGTH] for name, values in fields.items()}


def file_system_kind(folder: Path) -> str:
    """Return `memory` if the folder lies on a RAM-backed file system, else `disk`."""
    kinds = {}
    for line in Path("/proc/self/mounts").read_text("utf-8").splitlines():
        _, point, kind, *_ = line.split()
        kinds[Path(point)] = kind
    at = next(place for place in (folder, *folder.parents) if place in kinds)
    return "memory" if kinds[at] in {"tmpfs", "ramfs"} else "disk"


def make_application() -> Application:
    """Return the application as its environment wants it."""
    settings = Settings.from_environment()
    logging.basicConfig(
        level=logging.DEBUG if settings.debug else logging.WARNING,
        format="%(asctime)s %(process)d %(levelname)s %(message)s",
    )
    return Application(settings)


application = make_application()
