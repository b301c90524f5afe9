"""One GET to a server that may do anything with it: every wait has an end, whatever trickles in.

How long something is waited for is counted in time in which we really looked (`Patience`). A
process can be stopped for a while (SIGSTOP, a suspended machine, a host that takes the CPU), and
the clock goes on meanwhile. Who then gives up because the time is over blames the server for what
it had no chance to do. So a gap between two looks counts as no more than `LONGEST_GAP_S`, however
long it was, and who waits looks much more often than that.

A server's own status page is asked so, where its configuration in force has one; nobody adds one.
"""

import http.client
import io
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from httpdyno.reason import Reason, because
from httpdyno.servers.network.address import connected, host_header

LONGEST_GAP_S = 1.0
SLICE_S = 0.25
"""No single wait is longer, so that a gap is told from a wait."""


class Patience:
    """Time to wait that is used up by looking. Every wait with it has an end."""

    def __init__(self, timeout_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.timeout_s = timeout_s
        self._clock = clock
        self._looked_at_s = clock()
        self._spent_s = 0.0

    @property
    def spent_s(self) -> float:
        """How long was waited so far, without gaps."""
        now_s = self._clock()
        self._spent_s += min(now_s - self._looked_at_s, LONGEST_GAP_S)
        self._looked_at_s = now_s
        return self._spent_s

    @property
    def left_s(self) -> float:
        """How long may still be waited; never below 0."""
        return max(0.0, self.timeout_s - self.spent_s)

    @property
    def is_over(self) -> bool:
        """Whether it is used up. Whoever gives up for it tries once more: it may just be there."""
        return self.left_s <= 0

    @property
    def slice_s(self) -> float:
        """How long the next single wait may be; above 0."""
        return min(max(self.left_s, 0.001), SLICE_S)


_MOST_HEAD_BYTES = 1 << 17
_PIECE_BYTES = 1 << 16
_STATUS_LINE = re.compile(rb"HTTP/\d\.\d (\d{3})([^\r\n]*)")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r?\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\ntransfer-encoding:[^\r\n]*chunked", re.IGNORECASE)
_LAST_CHUNK = b"0\r\n\r\n"
_INTERIM = 200
"""Below are answers that announce another one."""
_SHOWN_BYTES = 60
_LATE = frozenset({"servers.timed_out", "servers.said_nothing"})
TIMED_OUT, HUNG_UP, NO_HTTP = "servers.timed_out", "servers.hung_up", "servers.no_http"
"""Codes of why there is no answer. Ports of other protocols end a connection without a byte, or
answer something else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came of a GET."""

    status: int
    """0 where there was no answer."""
    line: str = ""
    """The status line without its version; empty where there was no answer."""
    why: Reason | None = None
    """Why there was none."""
    body: bytes = b""
    is_whole: bool = False
    head: str = ""
    """The status line and the header fields."""

    @property
    def is_late(self) -> bool:
        """Whether nothing came in time."""
        return self.why is not None and self.why.code in _LATE

    def field(self, name: str) -> str:
        """Return a header field's value; empty where there is none of that name."""
        for line in self.head.splitlines()[1:]:
            key, _, value = line.partition(":")
            if key.strip().lower() == name.lower():
                return value.strip()
        return ""


def ask(  # noqa: PLR0913 - whom, what, and the three bounds
    address: str,
    path: str,
    patience: Patience,
    *,
    body_patience: Patience,
    most_bytes: int,
    network: str = "",
    host: str = "",
    is_tls: bool = False,
) -> Answer:
    """Send a GET over a connection of its own and return what came.

    Args:
        address: `ip:port` or `unix:/path`.
        path: What to ask for; what is no ASCII is sent percent-encoded.
        patience: Until the head of the answer is whole.
        body_patience: From then on.
        most_bytes: Of the body; more is left unread.
        network: Path of the network namespace that the address is in; empty is this process's.
        host: What the request names as its host; empty is the address.
        is_tls: Whether to speak TLS, whatever certificate is shown.
    """
    # What may stand in a target as it is (RFC 3986, 2.2 and 2.3), and `%` for what is encoded.
    target = quote(path, safe="/?#[]@!$&'()*+,;=:%~|^")
    named = host or host_header(address)
    request = f"GET {target} HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n\r\n"
    try:
        with _connection(address, patience, network, host if is_tls else None) as connection:
            connection.sendall(request.encode("ascii"))
            return _answer(connection, patience, body_patience, most_bytes)
    except TimeoutError:
        return Answer(status=0, why=because("servers.timed_out"))
    except ConnectionResetError:
        return Answer(status=0, why=because("servers.hung_up"))
    except OSError as error:
        why = because("servers.no_connection", error=str(error) or type(error).__name__)
        return Answer(status=0, why=why)


def _connection(
    address: str, patience: Patience, network: str, tls_name: str | None
) -> socket.socket:
    """Return a new connection, with TLS where a name for it is given."""
    plain = connected(address, patience.slice_s, network)
    if tls_name is None:
        return plain
    import ssl  # noqa: PLC0415 - takes 20 ms, and few servers that are tuned speak TLS

    context = ssl.create_default_context()
    # A private copy has the certificate of the real host, and is not asked who it is.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    plain.settimeout(patience.timeout_s)
    try:
        return context.wrap_socket(plain, server_hostname=tls_name or None)
    except BaseException:
        plain.close()
        raise


def _answer(
    connection: socket.socket, patience: Patience, body_patience: Patience, most_bytes: int
) -> Answer:
    raw = bytearray()
    while True:
        end = _HEAD_END.search(raw)
        if end is None:
            if len(raw) > _MOST_HEAD_BYTES:
                why = because("servers.head_too_long", most=_MOST_HEAD_BYTES)
                return Answer(status=0, why=why)
            if not raw[:5].startswith(b"HTTP/"[: len(raw)]):
                return _no_answer(raw)
            if not _more(connection, raw, patience):
                if raw or patience.is_over:
                    return _no_answer(raw)
                return Answer(status=0, why=because("servers.hung_up"))
            continue
        line = _STATUS_LINE.match(raw)
        if line is None:
            return _no_answer(raw)
        if int(line[1]) >= _INTERIM:
            break
        del raw[: end.end()]
    status_line = (line[1] + line[2]).decode("latin-1").strip()
    body, is_whole = _body(connection, raw, end.end(), body_patience, most_bytes)
    head = bytes(raw[: end.end()]).decode("latin-1").strip()
    return Answer(status=int(line[1]), line=status_line, body=body, is_whole=is_whole, head=head)


def _body(
    connection: socket.socket, raw: bytearray, begins: int, patience: Patience, most_bytes: int
) -> tuple[bytes, bool]:
    head = bytes(raw[:begins])
    length = _LENGTH.search(head)
    is_chunked = _CHUNKED.search(head) is not None
    is_whole = False
    while not is_whole and len(raw) - begins <= most_bytes:
        if is_chunked:
            is_whole = raw.endswith(_LAST_CHUNK)
        elif length is not None:
            is_whole = len(raw) - begins >= int(length[1])
        if not is_whole and not _more(connection, raw, patience):
            is_whole = not patience.is_over and length is None and not is_chunked
            break
    return (_decoded(bytes(raw)) if is_whole else b""), is_whole


def _more(connection: socket.socket, raw: bytearray, patience: Patience) -> bool:
    """Add what comes next; return whether anything came in time."""
    while not patience.is_over:
        connection.settimeout(patience.slice_s)
        try:
            piece = connection.recv(_PIECE_BYTES)
        except TimeoutError:
            continue
        raw += piece
        return bool(piece)
    return False


def _no_answer(raw: bytearray) -> Answer:
    if not raw:
        return Answer(status=0, why=because("servers.said_nothing"))
    if _STATUS_LINE.match(raw):
        return Answer(status=0, why=because("servers.head_did_not_end"))
    begins = repr(bytes(raw[:_SHOWN_BYTES]))
    return Answer(status=0, why=because("servers.no_http", begins=begins))


def _decoded(raw: bytes) -> bytes:
    """Return the body of a whole answer, out of its chunks."""
    response = http.client.HTTPResponse(_Recorded(raw))  # type: ignore[arg-type] # it only reads
    try:
        response.begin()
        return response.read()
    except (http.client.HTTPException, ValueError, OverflowError):
        return b""
    finally:
        response.close()


class _Recorded:
    """What `HTTPResponse` needs of a socket."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def makefile(self, mode: str) -> io.BytesIO:
        del mode
        return io.BytesIO(self._raw)


FOR_PROGRAMS = "?auto"
"""After the path of Apache's mod_status; without it the page is for people, and tells more."""
_MOST_BYTES = 1 << 20
_OK = 200


class StatusPage(Protocol):
    """What can be asked how a server is."""

    @property
    def is_apart(self) -> bool:
        """Whether none of those that the page tells of answers for it."""

    def text(self, timeout_s: float) -> str:
        """Ask once, and return the page.

        Raises:
            TimeoutError: There is no answer in time: all that could answer are busy.
            OSError: There is another answer, or none will come.
        """

    def workers_text(self, timeout_s: float) -> str:
        """Ask once, and return the page that has each worker; empty where there is none.

        Raises:
            OSError: As above.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusAddress:
    """Where a status page is."""

    address: str
    path: str
    """With its query."""
    network: str = ""
    """Path of the network namespace that the address is in; empty is this process's."""
    is_apart: bool = False
    """Whether another process than the workers answers for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpStatusPage(StatusAddress):
    """A page that is asked over HTTP, by a connection of its own each time."""

    host: str = ""

    def text(self, timeout_s: float) -> str:
        """Ask once, and return the page.

        Raises:
            OSError: It does not answer in time (`TimeoutError`), or with something else.
        """
        return self._asked(self.path, timeout_s)

    def workers_text(self, timeout_s: float) -> str:
        """Ask Apache's page for people, which has each worker; empty of others, that have none.

        Raises:
            OSError: As the page itself.
        """
        path = self.path.removesuffix(FOR_PROGRAMS)
        return "" if path == self.path else self._asked(path, timeout_s)

    def _asked(self, path: str, timeout_s: float) -> str:
        answer = ask(
            self.address,
            path,
            Patience(timeout_s),
            body_patience=Patience(timeout_s),
            most_bytes=_MOST_BYTES,
            network=self.network,
            host=self.host,
        )
        if answer.status == _OK and answer.is_whole:
            return answer.body.decode("utf-8", errors="replace")
        if answer.is_late:
            raise TimeoutError("there was no answer in time")
        raise ConnectionError(f"it answers `{answer.line}`" if answer.status else "no answer")
