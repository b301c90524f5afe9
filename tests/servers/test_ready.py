import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from httpdyno.servers import ready
from httpdyno.servers.port import HeldPort
from httpdyno.servers.ready import application_settings, await_answer


@contextmanager
def site(port, answers):
    """Answer with each of (status, body) in turn, the last one for ever."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *arguments):
            pass

    with HTTPServer(("127.0.0.1", port.number), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield
        server.shutdown()
        thread.join()


@pytest.fixture
def port():
    with HeldPort() as held:
        yield held


@pytest.mark.parametrize("status", [200, 301, 404])
def test_any_answer_below_500_is_ready(port, status):
    with site(port, [(status, "")]):
        assert await_answer(port, "/", lambda: True, timeout_s=10).kind == "answers"


def test_a_few_500s_while_it_warms_up_are_waited_out(port):
    with site(port, [(503, ""), (500, ""), (200, "")]):
        assert await_answer(port, "/", lambda: True, timeout_s=10).kind == "answers"


def test_500_again_and_again_is_failing(port, monkeypatch):
    monkeypatch.setattr(ready, "_FAILING_S", 0.02)
    with site(port, [(500, "")]):
        found = await_answer(port, "/x", lambda: True, timeout_s=10)
    assert found.kind == "fails"
    assert found.detail == "it answers `500 Internal Server Error` to GET /x"


def test_an_exit_ends_the_waiting_at_once(port):
    began_s = time.monotonic()
    assert await_answer(port, "/", lambda: False, timeout_s=60).kind == "exited"
    assert time.monotonic() - began_s < 30


def test_silence_ends_with_the_time(port):
    found = await_answer(port, "/", lambda: True, timeout_s=0.05)
    assert found.kind == "silent"
    assert "within 0.05 s" in found.detail


def test_settings_come_as_text(port):
    with site(port, [(200, '{"debug": true, "level": "high", "n": 3, "none": null}')]):
        found = application_settings(port, "/", timeout_s=10)
    assert found == {"debug": "true", "level": "high", "n": "3", "none": "null"}


@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [
        (404, "", "it answers `404 Not Found` to GET /s"),
        (200, "oops", "did not bring a JSON object"),
        (200, "[1]", "did not bring a JSON object"),
    ],
)
def test_no_settings_are_a_complaint(port, status, body, complaint):
    with site(port, [(status, body)]):
        assert complaint in application_settings(port, "/s", timeout_s=10)


def test_settings_of_nobody_are_a_complaint(port):
    assert "no answer to GET /s" in application_settings(port, "/s", timeout_s=1)
