"""`httpdyno watch` on a small server that forks, which httpdyno did not start."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tests.cli.forking_server import N_WORKERS, ForkingServer, forking_server

from httpdyno.cli.app import run
from httpdyno.servers.discover.find import find

DEADLINE_S = 20.0
LAUNCH = """
import fcntl, os, signal, sys, termios
# As in a terminal, also where the tests run in the background, which has Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
if os.isatty(0):
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from httpdyno.cli.app import main
main()
"""
COMMAND = [sys.executable, "-c", LAUNCH, "watch"]
NGINX = (
    "Active connections: 2 \nserver accepts handled requests\n 9 9 {n} \n"
    "Reading: 0 Writing: 2 Waiting: 1 \n"
)
SHOW_CURSOR, LEAVE_SCREEN = "\x1b[?25h", "\x1b[?1049l"


@pytest.fixture
def server() -> Iterator[ForkingServer]:
    with forking_server() as started:
        yield started


@contextmanager
def status_at(answers: list[tuple[int, str]]) -> Iterator[tuple[str, list[str]]]:
    """Give a page's URL, which answers so in turn and then as the last, and what was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            code, body = answers[min(len(asked), len(answers) - 1)]
            asked.append(self.path)
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as page:
        thread = threading.Thread(target=page.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{page.server_port}/status", asked
        finally:
            page.shutdown()
            thread.join()


class Terminal:
    """A terminal with a view on it."""

    def __init__(self, words: list[str], lines: int = 24) -> None:
        self.shown = ""
        self._ours, theirs = pty.openpty()
        self._theirs = theirs
        self.resize(lines)
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            [*COMMAND, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )

    def resize(self, lines: int) -> None:
        size = struct.pack("HHHH", lines, 80, 0, 0)
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, size)

    def await_text(self, pattern: str) -> None:
        deadline_s = time.monotonic() + DEADLINE_S
        while not re.search(pattern, self.shown):
            assert time.monotonic() < deadline_s, self.shown
            self._read(0.1)

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def end(self) -> tuple[int, str]:
        """Wait for its end; return the exit code and what was told on stderr."""
        deadline_s = time.monotonic() + DEADLINE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline_s, self.shown
            self._read(0.05)
        self._read(0.05)
        assert self.process.stderr is not None
        return self.process.returncode, self.process.stderr.read().decode()

    def mode(self) -> list[object]:
        return termios.tcgetattr(self._theirs)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()
        os.close(self._ours)
        os.close(self._theirs)

    def _read(self, timeout_s: float) -> None:
        while select.select([self._ours], [], [], timeout_s)[0]:
            self.shown += os.read(self._ours, 1 << 16).decode(errors="replace")
            timeout_s = 0.0


@pytest.fixture
def terminal(server: ForkingServer) -> Iterator[Terminal]:
    opened = Terminal([f":{server.port}", "--every", "200ms"])
    yield opened
    opened.close()


def test_two_looks_make_a_document(server, capsys):
    words = ["watch", f":{server.port}", "--once", "--json", "-", "--every", "100ms"]
    assert run(words) == 0
    seen = json.loads(capsys.readouterr().out)
    assert seen["server"]["pid"] == server.process.pid
    assert seen["elapsed_s"] >= 0.1
    assert seen["pool"]["n_workers"] == N_WORKERS
    assert 0 < seen["pool"]["uss_bytes"] <= seen["pool"]["pss_bytes"]
    assert (seen["pool"]["births_per_s"], seen["pool"]["deaths_per_s"]) == (0, 0)
    assert seen["pool"]["cpu_ratio"] >= 0
    [queue] = seen["queues"]
    assert (queue["address"], queue["backlog"]) == (f"127.0.0.1:{server.port}", 7)
    assert seen["status"] is None
    assert len(seen["workers"]) == 1 + N_WORKERS
    assert not any(each["is_new"] for each in seen["workers"])


def test_a_file_gets_the_document_beside_the_text(server, tmp_path, capsys):
    file = tmp_path / "seen.json"
    assert run(["watch", f"pid:{server.process.pid}", "--once", "--json", str(file)]) == 0
    assert json.loads(file.read_text())["pool"]["n_workers"] == N_WORKERS
    text = capsys.readouterr().out
    assert f"{N_WORKERS} workers, " in text
    assert f"^ {server.process.pid} " in text


def test_a_look_is_a_line_where_there_is_no_terminal(server, capsys):
    assert run(["watch", "--pid", str(server.process.pid), "-n", "3", "--every", "100ms"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(f"  {N_WORKERS} workers  " in line for line in lines)
    assert all("forks 0.0/s" in line for line in lines)


def test_ctrl_c_ends_lines(server):
    with subprocess.Popen(
        [*COMMAND, f":{server.port}", "--every", "100ms"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        # It comes while the next look is waited for, not with the end.
        assert f"{N_WORKERS} workers" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130
    assert "Traceback" not in out + err
    assert err.splitlines()[-1] == "interrupted"


def test_the_server_that_ends_ends_the_lines(server):
    with subprocess.Popen(
        [*COMMAND, f":{server.port}", "--every", "100ms"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        server.end()
        out, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert out.splitlines()[-1].startswith("the server has ended, after ")


def test_q_leaves_the_view_and_the_terminal_as_it_was(server, terminal):
    terminal.await_text(rf"\^ {server.process.pid} ")
    assert terminal.mode() != terminal.before
    terminal.press(b"q")
    code, told = terminal.end()
    assert (code, told) == (0, "")
    assert terminal.mode() == terminal.before
    assert terminal.shown.rindex(SHOW_CURSOR) > terminal.shown.rindex(f"^ {server.process.pid} ")
    left = terminal.shown[terminal.shown.rindex(LEAVE_SCREEN) :]
    assert f"{N_WORKERS} workers" in left


def test_ctrl_c_leaves_the_view_and_the_terminal_as_it_was(server, terminal):
    terminal.await_text(rf"\^ {server.process.pid} ")
    terminal.press(b"\x03")
    code, told = terminal.end()
    assert (code, told.splitlines()) == (130, ["interrupted"])
    assert terminal.mode() == terminal.before
    assert terminal.shown.rstrip().endswith((SHOW_CURSOR, LEAVE_SCREEN))


def test_other_keys_and_ctrl_z_do_nothing(server, terminal):
    terminal.await_text(rf"\^ {server.process.pid} ")
    terminal.press(b"x\x1a\x1b[A")
    terminal.shown = ""
    terminal.await_text(rf"\^ {server.process.pid} ")
    terminal.press(b"Q")
    assert terminal.end()[0] == 0


def test_the_view_follows_the_size_of_the_terminal(terminal):
    terminal.await_text("q quits")
    terminal.resize(14)
    terminal.shown = ""
    terminal.await_text(rf"[1-{1 + N_WORKERS}] more")
    terminal.resize(40)
    terminal.shown = ""
    terminal.await_text(r"\^ parent, \+ new  q quits")
    terminal.press(b"q")
    assert terminal.end()[0] == 0


def test_the_server_that_ends_ends_the_view(server, terminal):
    terminal.await_text(rf"\^ {server.process.pid} ")
    server.end()
    assert terminal.end()[0] == 0
    assert terminal.mode() == terminal.before
    assert "the server has ended, after " in terminal.shown


def test_a_status_page_is_asked_once_a_look(server, capsys):
    answers = [(200, NGINX.format(n=n)) for n in (100, 101, 222)]
    with status_at(answers) as (url, asked):
        words = ["watch", f":{server.port}", "--once", "--json", "-", "--every", "200ms"]
        assert run([*words, "--status", url]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert seen["status"]["server"] == "nginx"
    # 120 between two answers, each of which came just after its look.
    between_s = 120 / seen["status"]["requests_per_s"]
    assert between_s == pytest.approx(seen["elapsed_s"], abs=0.1)
    # Once more before the first look, to see that it is one.
    assert asked == ["/status"] * 3


def test_a_status_that_fails_later_is_said_and_the_rest_goes_on(server, capsys):
    with status_at([(200, NGINX.format(n=1)), (503, "")]) as (url, _):
        words = ["watch", f":{server.port}", "-n", "1", "--every", "1s", "--status", url]
        assert run(words) == 0
    assert "no status: it answered `503 " in capsys.readouterr().out


def test_nothing_is_asked_of_the_server(server, capsys):
    # Its workers accept nothing: a connection that had been made would still wait.
    words = ["watch", f":{server.port}", "--once", "--json", "-", "--every", "100ms"]
    waiting = []
    for _ in range(2):
        assert run(words) == 0
        waiting += json.loads(capsys.readouterr().out)["queues"]
    assert [each["waiting"] for each in waiting] == [0, 0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [((404, "no"), "it answered `404 "), ((200, "<html>"), "is no status page")],
)
def test_a_page_that_is_none_is_refused(server, answer, words, capsys):
    with status_at([answer]) as (url, _):
        assert run(["watch", f":{server.port}", "--once", "--status", url]) == 3
    seen = capsys.readouterr()
    assert seen.out == ""
    assert words in seen.err
    assert "stub_status" in seen.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--json", "-"], 2, "`--json` is for `--once`"),
        (["--once", "-n", "2"], 2, "exclude each other"),
        (["--every", "10ms"], 2, "shorter than 0.1 s"),
        (["--every", "1"], 2, "is not a duration"),
        (["-n", "0"], 2, "-n"),
        (["--status", "http://192.0.2.1/"], 2, "not on this machine's loopback"),
        (["--status", "ftp://127.0.0.1/"], 2, "scheme `ftp`"),
        (["--status", "http://me:secret@127.0.0.1/"], 2, "such as `http://127.0.0.1/server-status"),
        (["--pid", "1"], 2, "named in more than one way"),
    ],
)
def test_what_makes_no_sense_is_refused(server, words, code, message, capsys):
    assert run(["watch", f":{server.port}", *words]) == code
    seen = capsys.readouterr()
    assert seen.out == ""
    assert message in seen.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["pid:4194303"], 2, "no process has the id"),
        (["--", sys.executable, "-c", "pass"], 3, "nothing to watch"),
    ],
)
def test_what_does_not_run_cannot_be_watched(words, code, message, capsys):
    assert run(["watch", *words]) == code
    assert message in capsys.readouterr().err


def test_several_servers_are_listed(server, monkeypatch, capsys):
    monkeypatch.setattr("httpdyno.cli.watch.find", lambda *given: find(*given) * 2)
    assert run(["watch", f":{server.port}"]) == 2
    assert "2 servers are meant" in capsys.readouterr().err


def test_without_a_source_and_a_server_it_is_said(monkeypatch, capsys):
    monkeypatch.setattr("httpdyno.cli.watch.running", lambda _: ())
    assert run(["watch"]) == 3
    assert "no server of a known kind runs here" in capsys.readouterr().err
