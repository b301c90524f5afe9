"""A census of a server that runs; and what is left of it when it ends, whichever way."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from tests.real.foreground import free_port, started_in

from httpdyno.errors import TargetError
from httpdyno.telemetry.processes import living_pids
from httpdyno.telemetry.syscalls.count import PerRequest
from httpdyno.telemetry.syscalls.strace import census_of, require_tracing, traced

pytestmark = pytest.mark.real_server("strace")

SERVER = Path(__file__).with_name("tiny_server.py")
N = 4
PR_CAPBSET_DROP, CAP_SYS_PTRACE = 24, 19
DEADLINE_S = 10.0


@pytest.fixture
def server(own_folders):
    port = free_port()
    with started_in(own_folders) as start:
        yield start([sys.executable, str(SERVER), str(port)], port), port


def ask(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
        assert answer.read() == b"ok\n"


def status(pid):
    """Return its state and who traces it."""
    words = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return words["State"].split()[0], int(words["TracerPid"])


def await_untraced(pid):
    deadline_s = time.monotonic() + DEADLINE_S
    while status(pid)[1]:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    assert status(pid)[0] not in ("t", "T")


def strace_of(pid):
    deadline_s = time.monotonic() + DEADLINE_S
    while not (tracer := status(pid)[1]):
        assert time.monotonic() < deadline_s
        time.sleep(0.001)
    return tracer


def test_each_request_takes_what_it_takes(server):
    pid, port = server
    seen = census_of([pid], lambda: ask(port), N)
    assert (seen.n_requests, seen.n_traced, seen.n_took_part, seen.warnings) == (N, 1, 1, ())
    once, twice = PerRequest(mean=1, low=1, high=1), PerRequest(mean=2, low=2, high=2)
    assert seen.of("lstat") == seen.missing_stats == twice
    assert seen.of("open") == seen.missing_opens == seen.htaccess_opens == once
    assert seen.of("read") == seen.of("write") == once
    assert {each.path for each in seen.files} == {
        "/nowhere",
        "/nowhere/else",
        "/nowhere/.htaccess",
    }
    await_untraced(pid)


def test_others_who_ask_are_told(server):
    pid, port = server

    def two():
        ask(port)
        ask(port)

    assert census_of([pid], two, N).warnings[0].code == "telemetry.others_asked"


def test_a_server_that_is_not_the_one_asked_is_told(server, own_folders):
    other = free_port()
    with started_in(own_folders) as start:
        start([sys.executable, str(SERVER), str(other)], other)
        seen = census_of([server[0]], lambda: ask(other), N)
    assert seen.warnings[0].code == "telemetry.nobody_took_part"


def test_without_strace_it_is_said_how_to_have_it(server, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TargetError, match="not installed") as caught, traced([server[0]]):
        pass
    assert "apt-get install strace" in caught.value.hint


def test_whether_it_may_trace_is_known_before_there_is_a_server(monkeypatch):
    require_tracing()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TargetError, match=r"is about system calls: .* not installed") as caught:
        require_tracing()
    assert "apt-get install strace" in caught.value.hint


def test_one_at_a_time(server):
    pid, _ = server
    with (
        traced([pid]),
        pytest.raises(TargetError, match=f"{pid} is traced already, by process"),
        traced([pid]),
    ):
        pass
    await_untraced(pid)


def test_a_server_that_is_gone_is_said_to_be():
    with pytest.raises(TargetError, match="are gone"):
        census_of([4_194_303], lambda: None, N)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a right to give away")
@pytest.mark.parametrize(
    ("user", "way_out"), [(0, "it takes CAP_SYS_PTRACE"), (1000, "`sudo httpdyno …`")]
)
def test_who_may_not_is_told_the_way_out(server, user, way_out, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    said, saying = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0)
            try:
                with traced([server[0]]):
                    os.write(saying, b"traced")
            except TargetError as error:
                os.write(saying, f"{error}; {error.hint}".encode())
        os._exit(0)
    os.close(saying)
    os.waitpid(child, 0)
    words = os.read(said, 65_536).decode()
    os.close(said)
    assert "the server may not be traced by this user: attach: ptrace" in words
    assert way_out in words
    assert status(server[0])[1] == 0


def test_strace_that_is_killed_leaves_the_server_as_it_was(server):
    pid, port = server

    def killing():
        ask(port)
        if status(pid)[1]:
            os.kill(status(pid)[1], signal.SIGKILL)

    with pytest.raises(TargetError, match="strace ended"):
        census_of([pid], killing, N)
    await_untraced(pid)
    ask(port)


PROGRAM = """
import sys, urllib.request
from httpdyno.telemetry.syscalls.strace import census_of
pid, port = map(int, sys.argv[1:])
census_of([pid], lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/").read(), 10_000)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_census_that_is_killed_amid_calls_leaves_the_server_as_it_was(server, number):
    pid, port = server
    ended = threading.Event()

    def keep_asking():
        while not ended.is_set():
            ask(port)

    asking = threading.Thread(target=keep_asking)
    asking.start()
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(pid), str(port)])
    try:
        strace = strace_of(pid)
        time.sleep(0.2)
        os.kill(program.pid, number)
        program.wait(DEADLINE_S)
        await_untraced(pid)
        ask(port)
    finally:
        ended.set()
        asking.join()
        program.kill()
        program.wait()
    deadline_s = time.monotonic() + DEADLINE_S
    while Path(f"/proc/{strace}").exists() and _is_strace(strace):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def _is_strace(pid):
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/stat").read_text()
        return "(strace)" in words and ") Z" not in words
    return False


@pytest.mark.parametrize("n_stale", [1, 2])
def test_who_began_while_strace_took_hold_is_traced_too(n_stale, monkeypatch):
    found: list[tuple[int, ...]] = []

    def stale(roots):
        # As if the first of its children had not begun yet.
        found.append(living_pids(roots))
        return found[-1][:1] if len(found) <= n_stale * 2 - 1 and len(found) % 2 else found[-1]

    server = subprocess.Popen(["sh", "-c", "sleep 60 & wait"], start_new_session=True)
    try:
        deadline_s = time.monotonic() + DEADLINE_S
        while len(living_pids([server.pid])) < 2:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        monkeypatch.setattr("httpdyno.telemetry.syscalls.strace.living_pids", stale)
        with traced([server.pid]):
            assert [bool(status(pid)[1]) for pid in found[-1]] == [True, True]
        assert [bool(status(pid)[1]) for pid in found[-1]] == [False, False]
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def test_a_tree_is_a_root_and_all_below():
    child = subprocess.Popen(["sh", "-c", "sleep 60 & wait"], start_new_session=True)
    try:
        deadline_s = time.monotonic() + DEADLINE_S
        while len(living_pids([child.pid])) < 2:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        assert living_pids([child.pid])[0] == child.pid
        assert living_pids([4_194_303]) == ()
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def test_who_is_begun_in_a_namespace_of_its_own_takes_part():
    unshare = shutil.which("unshare")
    assert unshare is not None
    new = [unshare, "--pid", "--fork", "--kill-child"]
    if subprocess.run([*new, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may make no namespace of process numbers")
    code = (
        "import os, socket, sys\n"
        "listener = socket.create_server(('127.0.0.1', 0))\n"
        "print(listener.getsockname()[1], flush=True)\n"
        "while True:\n"
        "    connection, _ = listener.accept()\n"
        "    with connection:\n"
        "        connection.recv(65_536)\n"
        "        if os.fork() == 0:\n"
        "            os.access('/nowhere', os.R_OK)\n"
        "            os._exit(0)\n"
        "        os.wait()\n"
        "        connection.sendall(b'HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n')\n"
    )
    command = [*new, sys.executable, "-I", "-S", "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            seen = census_of([process.pid], lambda: ask(port), 2)
        finally:
            process.kill()
    # The child speaks with nobody: it takes part because one that does began it.
    assert seen.of("access") == PerRequest(mean=1, low=1, high=1)
