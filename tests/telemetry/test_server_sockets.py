"""What real sockets of a server do."""

import os
import socket
from pathlib import Path

import pytest
from tests.namespace import may_make_networks, serving_elsewhere

from httpdyno.telemetry.server_sockets import ServerSockets


def test_what_waits_at_a_server_is_told(tmp_path):
    path = str(tmp_path / "s")
    with (
        socket.create_server(("127.0.0.1", 0), backlog=9) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        unix.bind(path)
        unix.listen(7)
        address = f"127.0.0.1:{tcp.getsockname()[1]}"
        inodes = [os.fstat(each.fileno()).st_ino for each in (tcp, unix)]
        with socket.create_connection(tcp.getsockname()), socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            seen = ServerSockets(inodes).look(os.getpid())
            other = ServerSockets(inodes[1:]).look(os.getpid())
    queues = {each.address: (each.waiting, each.backlog) for each in seen.queues}
    assert queues == {address: (1, 9), f"unix:{path}": (1, 7)}
    # The server's end of the one connection; the client's has another port.
    assert seen.states == {"established": 1}
    assert seen.overflows is not None
    assert seen.drops is not None
    assert seen.drops >= 0
    assert (len(other.queues), other.states) == (1, {})


def test_overflows_are_counted():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        inode = os.fstat(server.fileno()).st_ino
        before = ServerSockets([inode]).look(os.getpid()).overflows
        assert before is not None
        clients = []
        try:
            for _ in range(6):
                client = socket.socket()
                clients.append(client)
                client.setblocking(False)
                client.connect_ex(server.getsockname())
            after = ServerSockets([inode]).look(os.getpid()).overflows
        finally:
            for client in clients:
                client.close()
    assert after is not None
    assert after > before


@pytest.mark.skipif(not may_make_networks(), reason="needs network namespaces")
def test_another_network_has_its_own():
    with serving_elsewhere(8080) as network:
        pid = int(network.split("/")[2])
        inodes = {each.stat().st_ino for each in Path(f"/proc/{pid}/fd").iterdir()}
        seen = ServerSockets(inodes).look(pid)
    assert [each.address for each in seen.queues] == ["127.0.0.1:8080"]
    assert seen.overflows == 0


def test_connections_are_read_seldom_where_that_is_bound():
    with socket.create_server(("127.0.0.1", 0)) as server:
        inode = os.fstat(server.fileno()).st_ino
        # A millionth of a core: after the first time not for an hour.
        seldom, often = ServerSockets([inode], most_ratio=1e-6), ServerSockets([inode])
        assert seldom.states_age_s == float("inf")
        with socket.create_connection(server.getsockname()):
            assert seldom.look(os.getpid()).states == {"established": 1}
            with socket.create_connection(server.getsockname()):
                assert seldom.look(os.getpid()).states == {"established": 1}
                assert often.look(os.getpid()).states == {"established": 2}
        assert 0 < seldom.states_age_s < float("inf")
        # Who waits is told anew each time.
        assert seldom.look(os.getpid()).queues[0].waiting == 2
