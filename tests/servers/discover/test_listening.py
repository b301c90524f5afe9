import os
import socket

from tests.rows import each_row

from httpdyno.servers.network.listening import (
    ListeningSocket,
    listening_sockets,
    socket_inodes,
    tcp_sockets,
    unix_sockets,
)


def test_a_socket_that_listens_is_seen_as_it_is(tmp_path):
    path = str(tmp_path / "a b.sock")
    with (
        socket.create_server(("127.0.0.1", 0)) as four,
        socket.create_server(("::1", 0), family=socket.AF_INET6) as six,
        socket.socket(socket.AF_UNIX) as named,
    ):
        named.bind(path)
        named.listen()
        with socket.create_connection(four.getsockname()):
            found = {each.address: each for each in listening_sockets()}
            mine = socket_inodes(os.getpid()) or frozenset()
        expected = {
            f"127.0.0.1:{four.getsockname()[1]}",
            f"[::1]:{six.getsockname()[1]}",
            f"unix:{path}",
        }
        assert expected <= set(found)
        assert {found[each].inode for each in expected} <= mine
        assert found[f"unix:{path}"].answers_at(path, 0)
    # A connection of the same port is none that listens.
    assert expected & {each.address for each in listening_sockets()} == set()


@each_row(
    ("host", "asked", "answers"),
    [
        ("0.0.0.0", "", True),
        ("0.0.0.0", "127.0.0.1", True),
        ("0.0.0.0", "localhost", True),
        ("0.0.0.0", "::1", False),
        ("::", "::1", True),
        ("::", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "", True),
        ("127.0.0.1", "10.0.0.1", False),
        ("10.0.0.1", "localhost", False),
        ("127.0.0.1", "localhost", True),
    ],
)
def test_what_answers_at_an_address(host, asked, answers):
    listener = ListeningSocket(inode=1, host=host, port=80)
    assert listener.answers_at(asked, 80) == answers
    assert not listener.answers_at(asked, 81)


def test_lines_that_are_cut_short_are_left_out():
    assert list(tcp_sockets(["", "0: 0100007F:1F90", "  sl"])) == []
    assert list(unix_sockets(["", "0000: 00000002 00000000 00010000 0001 01 20"])) == []


LISTENING = "   0: 0100007F:1F90 00000000:0000 0A 0:0 00:0 0 1000 0 41 1 0 100 0 0 10 0"
CONNECTED = "   1: 0100007F:1F90 0100007F:C001 06 0:0 03:9 0 0 0 0 3 0"


def test_a_table_is_read_no_further_than_sockets_listen(tmp_path):
    """The kernel tells them first, and of a busy server tens of thousands of others."""
    (tmp_path / "unix").write_text("Num\n")
    rest = [CONNECTED, LISTENING.replace("1F90", "1F91")]
    (tmp_path / "tcp").write_text("\n".join(["  sl", LISTENING, *rest, ""]))
    assert [each.port for each in listening_sockets(tmp_path)] == [0x1F90]
