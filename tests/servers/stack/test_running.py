"""What an application says of its own knobs; the rest is tried on real servers."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, cast

import pytest
from tests.rows import each_row

from httpdyno.model import Configuration, Effective, ServerSpec
from httpdyno.reason import Reason
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning, Place, exited
from httpdyno.servers.network.address import HeldPort
from httpdyno.servers.stack import adapter
from httpdyno.servers.stack.running import RunningStack
from httpdyno.servers.stack.service import Asked, Listening, MadeService

DEADLINE_S = 10.0


class Process:
    """A server process that runs."""

    limits = None

    def is_alive(self) -> bool:
        return True


class Insight(adapter.Insight):
    """A server that has one knob of its own."""

    def words(self) -> str:
        return ""

    def refusal(self, exit_code: int | None, words: str) -> bool:
        return False

    def lacking(self) -> Reason | None:
        return None

    def effective(self) -> Effective | NotRunning:
        return Effective(values={"workers": "2"}, asked={"workers": "2"})


@pytest.fixture
def port():
    """Serve an application that says what its `said` holds."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(server.said).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format, *args):
            pass

    class Server(HTTPServer):
        said: dict[str, object]

    with Server(("127.0.0.1", 0), Handler) as server:
        server.said = {}
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join(DEADLINE_S)


def answer(port, tmp_path, effective_path, **levels):
    service = MadeService(
        process=cast(Any, Process()),
        listening=Listening(
            addresses=(f"127.0.0.1:{port.server_address[1]}",), port=cast(HeldPort, port)
        ),
        place=Place(folder=tmp_path / "disk", memory_folder=tmp_path / "memory"),
        asked=Asked(
            spec=ServerSpec(adapter="x", effective_path=effective_path),
            configuration=Configuration(values={"workers": 2, **levels}),
            known=frozenset({"workers"}),
        ),
        insight=Insight(),
    )
    return RunningStack([service]).await_ready(DEADLINE_S)


def test_what_the_application_says_as_asked_is_in_force(port, tmp_path):
    port.said = {"debug": True, "level": "high", "more": 1}
    effective = answer(port, tmp_path, "/settings", debug=True, level="high")
    assert effective.asked == {"workers": "2", "debug": "true", "level": "high"}
    assert effective.unverified == ()


def test_a_knob_that_the_application_does_not_say_is_refused(port, tmp_path):
    port.said = {"level": "high"}
    refusal = answer(port, tmp_path, "/settings", debug=True, level="high", mode="wal")
    assert refusal.status == "refused"
    assert text(refusal.detail).startswith("GET /settings does not say debug, mode: ")


def test_a_knob_that_the_application_has_otherwise_is_refused(port, tmp_path):
    port.said = {"debug": False}
    refusal = answer(port, tmp_path, "/settings", debug=True)
    assert refusal.status == "refused"
    assert text(refusal.detail) == "debug is false where true was asked"


def test_knobs_that_nobody_can_be_asked_about_are_named(port, tmp_path):
    effective = answer(port, tmp_path, "", debug=True, level="high")
    assert effective.unverified == ("debug", "level")
    assert effective.asked == {"workers": "2"}


def test_without_knobs_of_the_application_there_is_nothing_to_verify(port, tmp_path):
    assert answer(port, tmp_path, "").unverified == ()


BACKGROUND = (
    "so it went into the background or had nothing to serve; have it stay in the foreground"
)


@each_row(
    ("code", "words", "said"),
    [
        (0, "", f"it exited with code 0, {BACKGROUND} (`-D`, `-F`, `--no-daemon`)"),
        (0, "httpd already running\n", "`--no-daemon`): httpd already running"),
        (1, "no such file", "it exited with code 1: no such file"),
        (-9, "", "it exited with signal 9"),
    ],
)
def test_how_it_ended_is_told_with_its_own_last_words(code, words, said):
    assert text(exited(code, words)).endswith(said)
