"""One hostile origin: `python hostile_origin.py KIND SIZE` prints its port, and is hostile.

It ends when its standard input does. Each kind takes a connection, whose request was read, and a
size, whose meaning is the kind's own.
"""

import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable

SIZES = (1, 100, 10_000, 1_000_000)
_HEAD = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
_OK = _HEAD + b"Content-Length: 2\r\n\r\nok"
_PIECE_BYTES = 65_536
Kind = Callable[[socket.socket, int], None]


def _again(connection: socket.socket, piece: bytes, *, every_s: float = 0.0) -> None:
    """Send a piece for ever; small ones many at a time."""
    many = piece if every_s else piece * max(1, _PIECE_BYTES // len(piece))
    while True:
        connection.sendall(many)
        time.sleep(every_s)


def _chunk(size: int) -> bytes:
    return b"%x\r\n%s\r\n" % (size, b"x" * size)


def _ended(connection: socket.socket, data: bytes, how: str) -> None:
    connection.sendall(data)
    if how == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if how == "hang":
        while connection.recv(_PIECE_BYTES):
            pass


def _chunks_without_end(connection: socket.socket, size: int) -> None:
    connection.sendall(_CHUNKED)
    _again(connection, _chunk(size))


def _fields_without_end(connection: socket.socket, size: int) -> None:
    connection.sendall(_HEAD)
    _again(connection, b"X: " + b"y" * size + b"\r\n")


def _body_without_end(connection: socket.socket, size: int) -> None:
    connection.sendall(_HEAD + b"\r\n")
    _again(connection, b"x" * size)


def _dripping(start: bytes, piece: Callable[[int], bytes]) -> Kind:
    def drip(connection: socket.socket, size: int) -> None:
        connection.sendall(start)
        _again(connection, piece(min(size, 10_000)), every_s=0.02)

    return drip


def _sent(data: Callable[[int], bytes], how: str = "close") -> Kind:
    return lambda connection, size: _ended(connection, data(size), how)


def _for_ever(piece: Callable[[int], bytes]) -> Kind:
    return lambda connection, size: _again(connection, piece(size))


def _promised(size: int) -> bytes:
    return _HEAD + b"Content-Length: %d\r\n\r\n" % (size + 1) + b"x" * size


KINDS: dict[str, Kind] = {
    "chunks without end": _chunks_without_end,
    "fields without end": _fields_without_end,
    "body without end": _body_without_end,
    "one field without end": _for_ever(lambda size: b"HTTP/1.1 200 OK" + b"y" * size),
    "dripping head": _dripping(_HEAD, lambda size: b"X: " + b"y" * size + b"\r\n"),
    "dripping body": _dripping(_HEAD + b"\r\n", lambda size: b"x" * size),
    "dripping chunks": _dripping(_CHUNKED, _chunk),
    "garbage": _sent(os.urandom),
    "garbage without end": _for_ever(lambda size: b"\0\xff\r\n" + b"\x80" * size),
    "zeros": _sent(bytes, "hang"),
    "half a body, reset": _sent(_promised, "reset"),
    "half a body, closed": _sent(_promised),
    "half a body, silence": _sent(_promised, "hang"),
    "half a head, reset": _sent(lambda size: _HEAD + b"X: " + b"y" * size, "reset"),
    "huge chunk size": _sent(lambda size: _CHUNKED + b"f" * (size % 15 + 1) + b"\r\nx", "hang"),
    "absurd chunk size": _sent(lambda size: _CHUNKED + b"f" * size + b"\r\nx", "hang"),
    "chunk extension": _sent(lambda size: _CHUNKED + b"1;" + b"e" * size + b"\r\nx", "hang"),
    "trailers": _sent(lambda size: _CHUNKED + b"0\r\n" + b"T: y\r\n" * size, "hang"),
    "absurd length": _sent(
        lambda size: _HEAD + b"Content-Length: " + b"9" * size + b"\r\n\r\nx", "hang"
    ),
    "continue without end": _for_ever(lambda size: b"HTTP/1.1 100 Continue\r\n\r\n" * size),
    "hints without end": _for_ever(
        lambda size: b"HTTP/1.1 103 Early Hints\r\nLink: " + b"l" * size + b"\r\n\r\n"
    ),
    "answers nobody asked for": _for_ever(lambda size: _OK * size),
    "cookies": _sent(
        lambda size: _HEAD + b"Set-Cookie: " + b"c" * size + b"=1\r\nContent-Length: 2\r\n\r\nok"
    ),
    "TLS": _sent(lambda size: b"\x16\x03\x03\x3f\xff" + os.urandom(size), "hang"),
}
"""24 of them."""


def _served(connection: socket.socket, kind: Kind, size: int) -> None:
    try:
        connection.recv(_PIECE_BYTES)
        kind(connection, size)
    except OSError:
        pass
    finally:
        connection.close()


def _accept(listener: socket.socket, kind: Kind, size: int) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_served, args=(connection, kind, size), daemon=True).start()


def main() -> None:
    """Be hostile until standard input ends."""
    kind, size = KINDS[sys.argv[1]], int(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=_accept, args=(listener, kind, size), daemon=True).start()
    sys.stdin.read()
    os._exit(0)  # threads that send without end do not let the interpreter go


if __name__ == "__main__":
    main()
