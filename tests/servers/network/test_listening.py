import os
import select
import socket

from tests.rows import each_row

from httpdyno.servers.network.listening import accepting, address_text, listening


@each_row(
    ("raw", "text"),
    [
        ("0100007F:1F90", "127.0.0.1:8080"),
        ("00000000:0050", "0.0.0.0:80"),
        ("00000000000000000000000000000000:01BB", "[::]:443"),
        ("00000000000000000000000001000000:0016", "[::1]:22"),
    ],
)
def test_addresses_are_written_as_people_write_them(raw, text):
    assert address_text(raw) == text


def test_the_sockets_of_a_process_are_found_and_no_others():
    with (
        socket.create_server(("127.0.0.1", 0)) as listens,
        socket.socket() as bound,
    ):
        bound.bind(("127.0.0.1", 0))
        found = {each.address for each in listening([os.getpid()])}
        assert f"127.0.0.1:{listens.getsockname()[1]}" in found
        assert f"127.0.0.1:{bound.getsockname()[1]}" not in found
        assert listening([]) == []


def test_who_only_holds_a_listening_socket_does_not_accept():
    with socket.create_server(("127.0.0.1", 0)) as listens, select.epoll() as epoll:
        assert not accepting(os.getpid())
        epoll.register(listens, select.EPOLLIN)
        assert accepting(os.getpid())


def test_unix_sockets_are_found_where_they_are_asked_for(own_folders):
    path = f"{own_folders}/a socket"
    with socket.socket(socket.AF_UNIX) as listens, select.epoll() as epoll:
        listens.bind(path)
        assert f"unix:{path}" not in {e.address for e in listening([os.getpid()], with_unix=True)}
        listens.listen()
        assert f"unix:{path}" in {e.address for e in listening([os.getpid()], with_unix=True)}
        assert f"unix:{path}" not in {e.address for e in listening([os.getpid()])}
        assert not accepting(os.getpid())
        epoll.register(listens, select.EPOLLIN)
        assert accepting(os.getpid())
