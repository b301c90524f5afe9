import itertools
import select
import socket
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread

import pytest

from httpdyno.reason import Reason, because
from httpdyno.report.shared.message import text
from httpdyno.servers import ready
from httpdyno.servers.network.address import HeldPort
from httpdyno.servers.network.probe import HUNG_UP, Patience
from httpdyno.servers.ready import application_settings, await_answer


def why(found):
    return text(found.why)


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
        assert await_answer(port.address, "/", lambda: True, Patience(10)).kind == "answers"


def test_looks_are_not_in_step_with_the_spawning(monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    signs = itertools.chain([False] * 50, itertools.repeat(True))
    ready.await_sign(lambda: next(signs), because("t.sign"), lambda: True, Patience(10))
    assert len(waits) == len(set(waits)) == 50
    assert 0 <= min(waits) < 0.005 < max(waits) <= 0.01


def test_a_sign_is_waited_for_until_it_is_there_or_nobody_can_give_it():
    signs = itertools.chain([False, False], itertools.repeat(True))
    found = ready.await_sign(lambda: next(signs), because("t.sign"), lambda: True, Patience(10))
    assert found.kind == "answers"
    found = ready.await_sign(lambda: False, because("t.sign"), lambda: False, Patience(10))
    assert found.kind == "exited"
    line = because("servers.line_in_log", line="up")
    found = ready.await_sign(lambda: False, line, lambda: True, Patience(0.02))
    assert (found.kind, why(found)) == ("silent", "no line `up` in its log within 0.02 s")


def test_what_listens_accepts(port):
    assert not ready.accepts(port.address)
    with socket.create_server(("127.0.0.1", port.number)):
        assert ready.accepts(port.address)


def test_a_few_500s_while_it_warms_up_are_waited_out(port):
    with site(port, [(503, ""), (500, ""), (200, "")]):
        assert await_answer(port.address, "/", lambda: True, Patience(10)).kind == "answers"


def test_500_again_and_again_is_failing(port, monkeypatch):
    monkeypatch.setattr(ready, "_FAILING_S", 0.02)
    with site(port, [(500, "")]):
        found = await_answer(port.address, "/x", lambda: True, Patience(10))
    assert found.kind == "fails"
    assert why(found) == "it answers `500 Internal Server Error` to GET /x"


def test_an_exit_ends_the_waiting_at_once(port):
    began_s = time.monotonic()
    assert await_answer(port.address, "/", lambda: False, Patience(60)).kind == "exited"
    assert time.monotonic() - began_s < 30


def test_silence_ends_with_the_time(port):
    found = await_answer(port.address, "/", lambda: True, Patience(0.05))
    assert found.kind == "silent"
    assert "within 0.05 s" in why(found)


def test_settings_come_as_text(port):
    with site(port, [(200, '{"debug": true, "level": "high", "n": 3, "none": null}')]):
        found = application_settings(port.address, "/", timeout_s=10)
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
        said = application_settings(port.address, "/s", timeout_s=10)
    assert isinstance(said, Reason)
    assert complaint in text(said)


def test_settings_of_nobody_are_a_complaint(port):
    said = application_settings(port.address, "/s", timeout_s=1)
    assert isinstance(said, Reason)
    assert "no answer to GET /s" in text(said)


@contextmanager
def trickle(port, first, piece, every_s):
    """Say `first` to whoever comes, then a piece again and again."""
    with socket.create_server(("127.0.0.1", port.number)) as listener:
        over = Event()

        def serve():
            listener.settimeout(0.01)
            said = []
            while not over.is_set():
                with suppress(TimeoutError):
                    said.append(listener.accept()[0])
                    said[-1].sendall(first)
                with suppress(OSError):
                    for each in said:
                        each.sendall(piece)
                over.wait(every_s)
            for each in said:
                each.close()

        thread = Thread(target=serve)
        thread.start()
        yield
        over.set()
        thread.join()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"


def test_a_head_that_trickles_in_does_not_hold_it(port):
    patience = Patience(0.3)
    with trickle(port, b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n", 0.05):
        assert await_answer(port.address, "/", lambda: True, patience).kind == "silent"
    assert patience.spent_s < 0.3 + ready._LAST_TRY_S + 1


def test_a_body_that_trickles_in_holds_it_for_a_moment_only(port, monkeypatch):
    monkeypatch.setattr(ready, "_BODY_S", 0.1)
    patience = Patience(30)
    with trickle(port, HEAD, b"x", 0.05):
        assert await_answer(port.address, "/", lambda: True, patience).kind == "answers"
    assert patience.spent_s < 10


def test_settings_that_trickle_in_are_a_complaint(port):
    with trickle(port, HEAD, b"x", 0.05):
        said = application_settings(port.address, "/s", timeout_s=0.2)
    assert isinstance(said, Reason)
    assert text(said) == "the answer to GET /s did not end within 0.2 s"


def test_what_is_no_http_is_no_answer(port):
    with trickle(port, b"220 mail.example ESMTP\r\n", b"", 0.05):
        found = await_answer(port.address, "/", lambda: True, Patience(0.05))
    assert found.kind == "silent"
    assert "no HTTP: b'220 mail.example ESMTP" in why(found)


@pytest.mark.parametrize("is_read", [True, False])  # what nobody read is answered by a reset
def test_who_hangs_up_is_not_said_to_be_late(port, is_read):
    with socket.create_server(("127.0.0.1", port.number)) as listener:

        def serve():
            with suppress(OSError):
                while True:
                    taken = listener.accept()[0]
                    if is_read:
                        taken.recv(1 << 16)
                    else:
                        select.select([taken], [], [])
                    taken.close()

        thread = Thread(target=serve)
        thread.start()
        found = await_answer(port.address, "/", lambda: True, Patience(0.05))
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert found.kind == "silent"
    assert found.why is not None
    assert HUNG_UP in found.why.codes()


def test_a_head_without_end_is_given_up_by_its_size(port):
    with trickle(port, b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 60_000 + b"\r\n", 0.001):
        found = await_answer(port.address, "/", lambda: True, Patience(0.5))
    assert found.kind == "silent"


class JumpingClock:
    """Stands still, but for one jump after some looks: as after a SIGSTOP of this process."""

    def __init__(self, *, after, by_s):
        self.left, self.by_s, self.now_s = after, by_s, 0.0

    def __call__(self):
        self.left -= 1
        if self.left == 0:
            self.now_s += self.by_s
        return self.now_s


@pytest.mark.parametrize("after", [2, 3, 4, 7])
def test_a_gap_in_which_nobody_looked_is_not_the_servers(port, after):
    polls = []

    def is_alive():
        polls.append(1)
        return len(polls) < 20

    patience = Patience(20, JumpingClock(after=after, by_s=3600))
    assert await_answer(port.address, "/", is_alive, patience).kind == "exited"
    assert len(polls) == 20


def test_when_the_time_is_over_it_is_tried_once_more(port):
    used_up = Patience(0)
    with site(port, [(200, "")]):
        assert await_answer(port.address, "/", lambda: True, used_up).kind == "answers"


def test_gaps_without_end_come_to_an_end_too():
    ticks = itertools.count(0.0, 3600.0)
    patience = Patience(3, lambda: next(ticks))
    assert [patience.is_over for _ in range(4)] == [False, False, True, True]


@pytest.mark.parametrize(
    "body",
    ["[" * 100_000, '{"n": ' + "1" * 5_000 + "}"],
)
def test_settings_that_cannot_be_read_are_a_complaint(port, body):
    with site(port, [(200, body)]):
        said = application_settings(port.address, "/s", timeout_s=10)
    assert isinstance(said, Reason)
    assert "did not bring a JSON object" in text(said)


def test_a_path_that_is_no_ascii_is_encoded(port):
    with site(port, [(200, '{"a": 1}')]):
        assert application_settings(port.address, "/ä b", timeout_s=10) == {"a": "1"}


def test_where_a_status_is_wanted_no_other_is_ready(port, monkeypatch):
    monkeypatch.setattr(ready, "_FAILING_S", 0.02)
    with site(port, [(200, ""), (204, "")]):
        found = await_answer(port.address, "/", lambda: True, Patience(10), status=204)
    assert found.kind == "answers"
    with site(port, [(200, "")]):
        found = await_answer(port.address, "/x", lambda: True, Patience(10), status=204)
    assert found.kind == "fails"
    assert "200 OK" in why(found)
    assert why(found).endswith("to GET /x, where 204 is expected")
