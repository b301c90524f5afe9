import socket
import time

from httpdyno.servers.network.address import HeldPort


def test_a_server_can_listen_on_a_held_port_and_be_reached():
    with HeldPort() as port, socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port.number))
        server.listen()
        with socket.create_connection(("127.0.0.1", port.number), timeout=5):
            server.accept()[0].close()


def test_nobody_listens_on_a_held_port_as_such():
    with HeldPort() as port, socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port.number)) != 0


def test_nobody_else_gets_a_held_port():
    held = [HeldPort() for _ in range(200)]
    try:
        assert len({port.number for port in held}) == len(held)
    finally:
        for port in held:
            port.release()


def test_a_released_port_is_free():
    port = HeldPort()
    port.release()
    port.release()
    deadline = time.monotonic() + 5
    with socket.socket() as other:
        while other.connect_ex(("127.0.0.1", port.number)) == 0:
            assert time.monotonic() < deadline
    with socket.socket() as other:
        other.bind(("127.0.0.1", port.number))
