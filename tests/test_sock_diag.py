import os
import shutil
import socket
import subprocess
import sys

import pytest

from httpdyno.errors import AdapterError
from httpdyno.sock_diag import connection_states, listening_sockets, listening_unix_sockets

_IN_A_NAMESPACE = """
import socket, sys
listening = socket.create_server(("0.0.0.0", 80), backlog=77)
print("there", flush=True)
sys.stdin.readline()
"""


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
    before = {each.address for each in listening_sockets()}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "there\n"
        network = f"/proc/{process.pid}/ns/net"
        found = listening_sockets(network)
        assert [(each.address, each.backlog) for each in found] == [("0.0.0.0:80", 77)]
        assert {each.address for each in listening_sockets()} == before
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
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            found = {each.address: each for each in listening_unix_sockets()}
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
