"""One request after the other, each over a connection of its own: to be watched, not measured."""

import http.client
import io
import socket
import ssl
import time
from collections import Counter

from httpdyno.errors import TargetError
from httpdyno.load.target import Target
from httpdyno.units import format_bytes, format_duration

_TIMEOUT_S = 30.0
_MOST_BYTES = 1 << 28
"""What is longer may have no end."""
_PIECE_BYTES = 1 << 16
_HEADERS = {"User-Agent": "httpdyno", "Connection": "close"}


class OneByOne:
    """Asks for a target's path, and counts how it is answered."""

    def __init__(
        self, target: Target, *, timeout_s: float = _TIMEOUT_S, most_bytes: int = _MOST_BYTES
    ) -> None:
        """Ask nothing yet.

        Args:
            target: What is asked; the certificate of a server is not looked at.
            timeout_s: How long the way there may take, and then the whole answer.
            most_bytes: That an answer may have.
        """
        self._target = target
        self._timeout_s = timeout_s
        self._most_bytes = most_bytes
        self.answers: Counter[int] = Counter()
        """Status → how often."""

    def ask(self) -> None:
        """Send a request and read its answer to the end.

        Raises:
            TargetError: There was none, or none that ended.
        """
        connection = self._connection()
        try:
            connection.request("GET", self._target.path, headers=_HEADERS)
            status = self._answered(connection.sock)
        except (OSError, http.client.HTTPException) as error:
            raise TargetError(f"`{self._target.url}` did not answer: {error}") from error
        finally:
            connection.close()
        self.answers[status] += 1

    def _answered(self, sent_over: socket.socket) -> int:
        """Read an answer to its end; return its status."""
        with http.client.HTTPResponse(sent_over, method="GET") as answer:
            answer.fp.close()
            answer.fp = io.BufferedReader(_Bounded(sent_over, self._timeout_s, self._most_bytes))
            answer.begin()
            while answer.read(_PIECE_BYTES):
                pass
            if answer.length:
                raise http.client.IncompleteRead(b"", answer.length)
            return answer.status

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._target.host, self._target.port
        if not self._target.is_tls:
            return http.client.HTTPConnection(host, port, timeout=self._timeout_s)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=context)


class _Bounded(io.RawIOBase):
    """What comes over a connection, for so long and so much of it."""

    def __init__(self, comes_over: socket.socket, longest_s: float, most_bytes: int) -> None:
        super().__init__()
        self._comes_over = comes_over
        self._longest_s = longest_s
        self._end_s = time.monotonic() + longest_s
        self._most_bytes = self._left_bytes = most_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # what is given
        """Read some of it.

        Raises:
            OSError: It takes too long, or is too long.
        """
        left_s = self._end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"the answer had no end after {format_duration(self._longest_s)}")
        self._comes_over.settimeout(left_s)
        n = self._comes_over.recv_into(buffer)
        self._left_bytes -= n
        if self._left_bytes < 0:
            raise OSError(f"the answer had no end after {format_bytes(self._most_bytes)}")
        return n
