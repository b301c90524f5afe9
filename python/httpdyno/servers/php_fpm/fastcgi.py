"""A FastCGI client for one question at a time: php-fpm's status page, and scripts of ours.

Source: FastCGI Specification 1.0, sections 3 and 5: records of a version, a type, a request id, a
length and a padding; parameters as pairs of lengths and bytes; the request ends with an empty
record of standard input.

php-fpm's status page of one pool.

Source: the manual of PHP, install.fpm.configuration, `pm.status_path`.
"""

import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from httpdyno.servers.network.address import connected
from httpdyno.servers.network.probe import StatusAddress

_VERSION = 1
_BEGIN, _END, _PARAMETERS, _INPUT, _OUTPUT, _ERRORS = 1, 3, 4, 5, 6, 7
_RESPONDER = 1
_REQUEST = 1
_HEAD = struct.Struct(">BBHHBB")
_LONG_FROM = 128
"""From this length on a length has four bytes, its first bit set."""
_RECORD_BYTES = 65_535
_MOST_BYTES = 1 << 20
_OK = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """What a FastCGI server answered."""

    status: int
    body: bytes
    errors: str
    """What it wrote for its web server's error log."""


def ask(
    address: str, parameters: Mapping[str, str], *, timeout_s: float, network: str = ""
) -> Response:
    """Send a GET request over a connection of its own and return the answer.

    Args:
        address: `ip:port` or `unix:/path`.
        parameters: CGI variables, such as `SCRIPT_FILENAME`.
        timeout_s: For all of it.
        network: Path of the network namespace that the address is in; empty is this process's.

    Raises:
        OSError: Nobody answers there in time, or it is no FastCGI.
    """
    until_s = time.monotonic() + timeout_s
    with connected(address, timeout_s, network) as connection:
        connection.sendall(request({"REQUEST_METHOD": "GET", **parameters}))
        output, errors = _received(connection, until_s)
    head, _, body = output.partition(b"\r\n\r\n")
    return Response(
        status=_status(head), body=body, errors=errors.decode("utf-8", errors="replace")
    )


def request(parameters: Mapping[str, str]) -> bytes:
    """Return the bytes of a request without a body."""
    packed = b"".join(_pair(name.encode(), text.encode()) for name, text in parameters.items())
    pieces = [packed[at : at + _RECORD_BYTES] for at in range(0, len(packed), _RECORD_BYTES)]
    return b"".join(
        [
            _record(_BEGIN, struct.pack(">HB5x", _RESPONDER, 0)),
            *(_record(_PARAMETERS, piece) for piece in pieces),
            _record(_PARAMETERS, b""),
            _record(_INPUT, b""),
        ]
    )


def _record(kind: int, content: bytes) -> bytes:
    return _HEAD.pack(_VERSION, kind, _REQUEST, len(content), 0, 0) + content


def _pair(name: bytes, text: bytes) -> bytes:
    return _length(len(name)) + _length(len(text)) + name + text


def _length(n_bytes: int) -> bytes:
    return bytes([n_bytes]) if n_bytes < _LONG_FROM else struct.pack(">I", n_bytes | 1 << 31)


def _received(connection: socket.socket, until_s: float) -> tuple[bytes, bytes]:
    """Return output and errors, up to the record that ends the request."""
    output, errors = bytearray(), bytearray()
    while len(output) + len(errors) < _MOST_BYTES:
        version, kind, _, n_bytes, n_padding, _ = _HEAD.unpack(
            _exactly(connection, _HEAD.size, until_s)
        )
        if version != _VERSION:
            raise ConnectionError("it does not speak FastCGI")
        content = _exactly(connection, n_bytes + n_padding, until_s)[:n_bytes]
        if kind == _OUTPUT:
            output += content
        elif kind == _ERRORS:
            errors += content
        elif kind == _END:
            break
    return bytes(output), bytes(errors)


def _exactly(connection: socket.socket, n_bytes: int, until_s: float) -> bytes:
    found = bytearray()
    while len(found) < n_bytes:
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the answer did not come in time")
        connection.settimeout(left_s)
        piece = connection.recv(n_bytes - len(found))
        if not piece:
            raise ConnectionError("the connection ended within the answer")
        found += piece
    return bytes(found)


def _status(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, text = line.partition(b":")
        number = text.strip()[:3]
        if name.strip().lower() == b"status" and number.isdigit():
            return int(number)
    return _OK


_HTTP_OK = 200


class PoolStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a pool tells of itself since it was started."""

    pool: str
    manager: str = msgspec.field(name="process manager")
    """`static`, `dynamic` or `ondemand`."""
    n_accepted: int = msgspec.field(name="accepted conn")
    n_idle: int = msgspec.field(name="idle processes")
    n_active: int = msgspec.field(name="active processes")
    n_total: int = msgspec.field(name="total processes")
    n_full: int = msgspec.field(name="max children reached")
    """How often all children that may be were there, and more were wanted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolStatusPage(StatusAddress):
    """The status page of a pool, for whoever wants it as text."""

    def text(self, timeout_s: float) -> str:
        """Ask once, and return the page as JSON.

        Raises:
            OSError: It does not answer in time, or with something else.
        """
        return self._text("json", timeout_s)

    def workers_text(self, timeout_s: float) -> str:
        """Ask once, and return the page that has each child, as JSON.

        Raises:
            OSError: It does not answer in time, or with something else.
        """
        return self._text("json&full", timeout_s)

    def _text(self, query: str, timeout_s: float) -> str:
        body = _asked(self.address, self.path, timeout_s, self.network, query)
        return body.decode("utf-8", "replace")


def pool_status(address: str, path: str, timeout_s: float, network: str = "") -> PoolStatus:
    """Ask a pool's status page.

    Raises:
        OSError: It does not answer in time, or with something else.
    """
    body = _asked(address, path, timeout_s, network)
    try:
        return msgspec.json.decode(body, type=PoolStatus)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConnectionError(f"its status page is not understood: {error}") from error


def _asked(address: str, path: str, timeout_s: float, network: str, query: str = "json") -> bytes:
    parameters = {"SCRIPT_NAME": path, "SCRIPT_FILENAME": path, "QUERY_STRING": query}
    answer = ask(address, parameters, timeout_s=timeout_s, network=network)
    if answer.status != _HTTP_OK:
        raise ConnectionError(f"its status page answers {answer.status}")
    return answer.body
