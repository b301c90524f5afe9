"""Servers that wait, each in its way: what each worker is seen to wait for from outside."""

import os
import socket
from contextlib import ExitStack

import pytest
from tests.telemetry.waiting_server import (
    ACCEPTING,
    PARENT,
    await_true,
    looked_at,
    mean,
    seen_at,
    served,
    waiting,
)

from httpdyno.errors import AdapterError
from httpdyno.reason import because
from httpdyno.telemetry.profile import end
from httpdyno.telemetry.profile.profiler import Profiler


def test_workers_wait_for_connections_or_keep_one_and_their_parent_is_none():
    with waiting(f"{ACCEPTING}\nworkers(4, work)\n{PARENT}") as (pid, port), served(port):
        seen = seen_at(pid, {"idle": 3.0, "client_read": 1.0})
    assert seen.hidden == ()
    assert seen.workers == 4.0
    assert seen.doing == {"idle": 3.0, "client_read": 1.0}
    assert seen.connections == {"established": 1.0}
    assert [(each.backlog, each.most) for each in seen.queues] == [(16, 0)]
    assert (seen.births, seen.deaths) == (0, 0)


@pytest.mark.parametrize("wait", ["poll", "select"])
def test_whoever_polls_is_known_by_what_it_polls(wait):
    code = {
        "poll": "p = select.poll(); p.register(c, select.POLLIN); p.poll()",
        "select": "select.select([c], [], [])",
    }[wait]
    code = f"""
def work():
    c, _ = listener.accept()
    c.sendall(c.recv(1))
    {code}
workers(1, work)
say()
signal.pause()
"""
    with waiting(code) as (pid, port), served(port):
        seen = seen_at(pid, {"client_read": 1.0})
    assert seen.doing == {"client_read": 1.0}


@pytest.mark.parametrize("timeout", ["None", "20"])
def test_a_client_that_takes_nothing_is_seen(timeout):
    # With a timeout Python polls before it sends.
    code = f"""
def work():
    connection, _ = listener.accept()
    connection.settimeout({timeout})
    connection.sendall(connection.recv(1))
    connection.sendall(bytes(50_000_000))
workers(1, work)
say()
signal.pause()
"""
    with waiting(code) as (pid, port), served(port):
        seen = looked_at(pid)
    assert mean(seen, "client_write") > 0.8


@pytest.mark.parametrize("timeout", ["None", "20"])
def test_a_backend_is_named(timeout):
    code = f"""
def work():
    connection, _ = listener.accept()
    backend = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    backend.settimeout({timeout})
    connection.sendall(connection.recv(1))
    backend.recv(1)
workers(1, work)
say()
signal.pause()
"""
    with socket.create_server(("127.0.0.1", 0)) as backend:
        port = backend.getsockname()[1]
        with waiting(code, str(port)) as (pid, own), served(own):
            seen = seen_at(pid, {"backend": 1.0})
    assert seen.doing == {"backend": 1.0}
    assert seen.backends == {f"127.0.0.1:{port}": 1.0}


def test_a_backend_at_a_unix_socket_has_its_path(tmp_path):
    code = """
def work():
    backend = socket.socket(socket.AF_UNIX)
    backend.connect(sys.argv[1])
    say()
    backend.recv(1)
workers(1, work)
signal.pause()
"""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as backend:
        backend.bind(path)
        backend.listen(1)
        with waiting(code, path) as (pid, _):
            seen = seen_at(pid, {"backend": 1.0})
    assert seen.backends == {f"unix:{path}": 1.0}


def test_a_backend_that_does_not_take_connections_is_named(tmp_path):
    code = """
def work():
    backends = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    for at, backend in enumerate(backends):
        if at == 1:
            say()
        backend.connect(sys.argv[1])
workers(1, work)
signal.pause()
"""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as backend:
        backend.bind(path)
        backend.listen(0)
        with waiting(code, path) as (pid, _):
            seen = seen_at(pid, {"backend": 1.0})
    assert seen.backends == {f"unix:{path}": 1.0}


def test_a_worker_waits_for_its_child_and_the_child_sleeps():
    code = """
def work():
    connection, _ = listener.accept()
    connection.sendall(connection.recv(1))
    subprocess.run(["sleep", "20"])
workers(1, work)
say()
signal.pause()
"""
    with waiting(code) as (pid, port), served(port):
        seen = seen_at(pid, {"child": 1.0, "sleep": 1.0})
    assert seen.doing == {"child": 1.0, "sleep": 1.0}


def test_a_worker_waits_for_its_child_to_begin(tmp_path):
    # As popen and system begin one; nobody opens the pipe's other end.
    code = """
def work():
    connection, _ = listener.accept()
    connection.sendall(connection.recv(1))
    opens = (os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)
    os.posix_spawn("/bin/true", ["true"], {}, file_actions=[opens])
workers(1, work)
say()
signal.pause()
"""
    os.mkfifo(tmp_path / "pipe")
    with waiting(code, str(tmp_path / "pipe")) as (pid, port), served(port):
        seen = seen_at(pid, {"child": 1.0, "other": 1.0})
    assert seen.doing == {"child": 1.0, "other": 1.0}


def test_a_zombie_is_one():
    with waiting(f"workers(2, lambda: os._exit(0))\n{PARENT}") as (pid, _):
        await_true(lambda: mean(looked_at(pid, 0.05), "zombie") == 2.0)


@pytest.mark.parametrize("ended", ["before", "meanwhile", "before, below another"])
def test_a_parent_whose_workers_have_all_ended_is_no_worker(ended):
    # As a server's that replaces them by a clock; meanwhile requests wait.
    code = f"""
{"if os.fork(): os.wait()" if "below" in ended else ""}
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
workers(1, lambda: {"os._exit(0)" if "before" in ended else "listener.accept()"})
{"os.wait()" if "before" in ended else ""}
say()
while True:
    time.sleep(0.05)
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
"""
    with waiting(code) as (pid, port), ExitStack() as waits:
        onlooker = Profiler([pid])
        onlooker.start()
        for _ in range(4):
            waits.enter_context(socket.create_connection(("127.0.0.1", port)))
        await_true(lambda: looked_at(pid, 0.05).workers == 0.0)
        seen = onlooker.stop()
        after = looked_at(pid)
    assert mean(seen, "sleep") == 0.0
    assert (after.workers, after.doing) == (0.0, {})


def test_a_server_of_one_process_that_is_asleep_over_a_request_is_its_worker():
    code = """
say()
while True:
    connection, _ = listener.accept()
    connection.recv(1)
    time.sleep(20)
"""
    with waiting(code) as (pid, port), socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"x")
        seen = seen_at(pid, {"sleep": 1.0})
    assert seen.doing == {"sleep": 1.0}


def test_where_sockets_are_not_told_nobody_is_said_to_have_no_client(monkeypatch):
    def refuse(_):
        raise AdapterError("the sockets cannot be told")

    monkeypatch.setattr(end, "Diagnosis", refuse)
    with waiting("say()\ntime.sleep(20)") as (pid, _):
        seen = seen_at(pid, {"sleep": 1.0})
    assert seen.doing == {"sleep": 1.0}
    assert seen.hidden == (because("telemetry.sockets", error="the sockets cannot be told"),)
