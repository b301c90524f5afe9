import errno
import os
import shutil
import socket
import subprocess
import sys
from contextlib import closing

import pytest

from httpdyno.errors import AdapterError
from httpdyno.host import sock_diag
from httpdyno.host.sock_diag import (
    UNNAMED,
    Diagnosis,
    listening_sockets,
)

_IN_A_NAMESPACE = """
import socket, sys
listening = socket.create_server(("0.0.0.0", 80), backlog=77)
print("there", flush=True)
sys.stdin.readline()
"""


def connection_states(ports):
    with closing(Diagnosis()) as diagnosis:
        return diagnosis.connection_states(ports)


def backlogs(address, network=""):
    return [each.backlog for each in listening_sockets(network) if each.address == address]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_backlog_of_a_listening_socket_is_the_one_that_it_has(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family, backlog=33) as server:
        written = f"[{host}]" if ":" in host else host
        address = f"{written}:{server.getsockname()[1]}"
        assert backlogs(address) == [33]
        with socket.create_connection(server.getsockname()[:2]):
            found = next(each for each in listening_sockets() if each.address == address)
            assert (found.waiting, found.inode > 0) == (1, True)
    assert backlogs(address) == []


def test_what_a_process_has_not_read_is_told_by_port():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        closing(Diagnosis()) as diagnosis,
    ):
        port = server.getsockname()[1]
        taken, _ = server.accept()
        with taken:
            assert diagnosis.unread([port]) == {}
            client.sendall(b"hello")
            assert taken.recv(1, socket.MSG_PEEK)
            assert diagnosis.unread([port]) == {port: 1}
            taken.recv(5)
            assert diagnosis.unread([port]) == diagnosis.unread([]) == {}


def test_each_socket_of_one_address_is_told():
    with socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        first.bind(("127.0.0.1", 0))
        second.bind(first.getsockname())
        first.listen(5)
        second.listen(6)
        port = first.getsockname()[1]
        assert sorted(backlogs(f"127.0.0.1:{port}")) == [5, 6]


def test_another_network_is_asked_and_this_one_stays_ours():
    unshare = shutil.which("unshare")
    assert unshare is not None
    command = [unshare, "-n", sys.executable, "-c", _IN_A_NAMESPACE]
    if subprocess.run([unshare, "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may make no network namespace")
    with (
        socket.create_server(("127.0.0.1", 0)) as ours,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "there\n"
        network = f"/proc/{process.pid}/ns/net"
        found = listening_sockets(network)
        assert [(each.address, each.backlog) for each in found] == [("0.0.0.0:80", 77)]
        # What others on this machine listen at may change meanwhile.
        here = {each.address for each in listening_sockets()}
        assert f"127.0.0.1:{ours.getsockname()[1]}" in here
        process.stdin.write("\n")


def test_a_namespace_that_is_not_there_is_named():
    with pytest.raises(AdapterError, match="`/proc/none/ns/net` cannot be told: no such file"):
        listening_sockets("/proc/none/ns/net")


def test_a_unix_socket_is_told_with_its_queue(tmp_path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
        named.bind(str(path))
        named.listen(7)
        abstract.bind(f"\0{tmp_path}")
        abstract.listen(3)
        with socket.socket(socket.AF_UNIX) as client, closing(Diagnosis()) as diagnosis:
            client.connect(str(path))
            found = {each.address: each for each in diagnosis.listening()}
            inode = os.fstat(named.fileno()).st_ino
    one = found[f"unix:{path}"]
    assert (one.backlog, one.waiting, one.inode) == (7, 1, inode)
    assert found[f"unix:@{tmp_path}"].backlog == 3


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_connections_are_counted_by_state_at_this_ends_port(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
        assert connection_states([port]) == {}
        with socket.create_connection((host, port)) as client:
            accepted, _ = server.accept()
            with accepted:
                assert connection_states([port]) == {"established": 1}
                client.shutdown(socket.SHUT_WR)
                assert accepted.recv(1) == b""
                assert connection_states([port]) == {"close-wait": 1}


def test_only_connections_at_these_ports_are_counted():
    servers = sorted(
        (socket.create_server(("127.0.0.1", 0)) for _ in range(3)),
        key=lambda each: each.getsockname()[1],
    )
    clients = [socket.create_connection(each.getsockname()) for each in servers]
    try:
        ports = [each.getsockname()[1] for each in servers]
        assert connection_states([]) == {}
        for port in ports:
            assert connection_states([port]) == {"established": 1}
        # The one in the middle is not asked for.
        assert connection_states([ports[0], ports[2]]) == {"established": 2}
    finally:
        for each in (*servers, *clients):
            each.close()


@pytest.fixture
def diagnosis():
    asking = Diagnosis()
    yield asking
    asking.close()


def found(diagnosis, each):
    inode = os.fstat(each.fileno()).st_ino
    return next(told for told in diagnosis.connections() if told.inode == inode)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_has_two_ends(host, diagnosis):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family) as server,
        socket.create_connection(server.getsockname()[:2]) as client,
    ):
        accepted, _ = server.accept()
        with accepted:
            here, there = found(diagnosis, client), found(diagnosis, accepted)
            assert here.port == client.getsockname()[1]
            assert there.port == server.getsockname()[1]
            assert (here.address, here.peer) == (there.peer, there.address)
            written = f"[{host}]" if ":" in host else host
            assert here.peer == f"{written}:{there.port}"


def test_an_address_of_version_4_is_one_on_either_socket(diagnosis):
    with (
        socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server,
        socket.create_connection(("127.0.0.1", server.getsockname()[1])),
    ):
        accepted, _ = server.accept()
        with accepted:
            assert found(diagnosis, accepted).address == f"127.0.0.1:{server.getsockname()[1]}"


def test_a_connection_without_ports_has_ends_too(diagnosis):
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
    ):
        server.bind(("127.0.0.1", 0))
        client.connect(server.getsockname())
        assert found(diagnosis, client).peer == f"127.0.0.1:{server.getsockname()[1]}"


def test_a_unix_connection_is_known_by_where_it_went(tmp_path, diagnosis):
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen(1)
        client.connect(path)
        # Nobody has accepted it yet.
        assert found(diagnosis, client).peer == f"unix:{path}"
        accepted, _ = server.accept()
        with accepted:
            here, there = found(diagnosis, client), found(diagnosis, accepted)
    assert (here.address, here.peer, here.port) == (UNNAMED, f"unix:{path}", None)
    assert (there.address, there.peer) == (f"unix:{path}", UNNAMED)


def test_one_who_asks_again_sees_what_is_new(diagnosis):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert address in [each.address for each in diagnosis.listening()]
        with socket.create_connection(server.getsockname()):
            assert diagnosis.connection_states([server.getsockname()[1]]) == {"established": 1}
    assert address not in [each.address for each in diagnosis.listening()]


def test_a_kernel_that_tells_nothing_of_unix_sockets_tells_of_others(diagnosis, monkeypatch):
    answers = sock_diag._answers

    def without_unix(diag, body, **kind):
        if body[0] == socket.AF_UNIX:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return answers(diag, body, **kind)

    monkeypatch.setattr(sock_diag, "_answers", without_unix)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert address in [each.address for each in diagnosis.listening()]
        assert found(diagnosis, client).peer == address


def test_who_gave_a_question_up_has_the_answer_to_the_next_one(monkeypatch, diagnosis):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with monkeypatch.context() as patched:
            patched.setattr(socket.socket, "recv", interrupted)
            with pytest.raises(AdapterError):
                diagnosis.connections()
        assert address in {each.address for each in diagnosis.listening()}


def interrupted(*_):
    raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
