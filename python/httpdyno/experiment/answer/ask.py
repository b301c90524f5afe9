"""Requests asked one by one, and their answers as they came.

Codings of a body undone: gzip and deflate, and brotli where a decoder is here.

Requests of a workload asked one by one, as its users ask them, with all of each answer.

Where the redirects of a URL lead, asked once before the load begins.
"""

import ctypes
import http.client
import re
import ssl
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from secrets import token_hex
from socket import SHUT_RDWR, socket
from threading import Timer
from typing import Protocol
from urllib.parse import urljoin

from msgspec import structs

from httpdyno.errors import TargetError, UsageError
from httpdyno.host.foreign_files import opened_regular
from httpdyno.load.access_log import read_access_log
from httpdyno.load.check import PLACEHOLDER
from httpdyno.load.message import headers
from httpdyno.load.target import Target, check_permitted, parse_url, resolve
from httpdyno.model import Replay, RequestSpec, TlsSpec, Workload
from httpdyno.reason import Reason, because
from httpdyno.servers.network.address import connected, host_header

MOST_BYTES = 16 << 20
"""Of a decoded body; a few bytes may decode to any number."""

_BROTLI = "libbrotlidec.so.1"
_BROTLI_SUCCESS = 1
_GZIP = 16 + zlib.MAX_WBITS
_EITHER_ZLIB = 32 + zlib.MAX_WBITS
_NONE = ("", "identity")


def accepted() -> str:
    """Return the `Accept-Encoding` of a browser, as far as its codings can be undone here."""
    known = ("gzip", "deflate", "br") if _brotli() else ("gzip", "deflate")
    return ", ".join(known)


class UndecodableError(ValueError):
    """A body is not what its coding says; lower case, no full stop."""


class UnknownCodingError(ValueError):
    """Nothing here undoes the coding."""


def decoded(body: bytes, coding: str) -> bytes:
    """Return a body with its codings undone, the last one first (RFC 9110 section 8.4).

    Args:
        body: As it came, out of its chunks.
        coding: The `Content-Encoding`; empty is none.

    Raises:
        UndecodableError: It is broken, cut short or too large.
        UnknownCodingError: Nothing here undoes it.
    """
    if not body:
        return body  # as of a redirect, which may name the coding that it would have
    for name in reversed([part.strip().lower() for part in coding.split(",")]):
        if name in {"gzip", "x-gzip"}:
            body = _inflated(body, _GZIP, name)
        elif name == "deflate":
            body = _deflated(body)
        elif name == "br":
            body = _unbrotlied(body)
        elif name not in _NONE:
            raise UnknownCodingError(name)
    return body


def _inflated(body: bytes, window_bits: int, name: str) -> bytes:
    whole = bytearray()
    rest = body
    while rest:  # A gzip body may be several members, one after the other.
        inflater = zlib.decompressobj(window_bits)
        try:
            whole += inflater.decompress(rest, MOST_BYTES + 1 - len(whole))
        except zlib.error as error:
            raise UndecodableError(f"its {name} is broken ({error})") from error
        if len(whole) > MOST_BYTES:
            raise UndecodableError(f"its {name} holds more than {MOST_BYTES:,} bytes")
        if not inflater.eof:
            raise UndecodableError(f"its {name} is cut short")
        rest = inflater.unused_data
    return bytes(whole)


def _deflated(body: bytes) -> bytes:
    """Return what a `deflate` body holds: with the head that it ought to have, or without."""
    try:
        return _inflated(body, _EITHER_ZLIB, "deflate")
    except UndecodableError:
        return _inflated(body, -zlib.MAX_WBITS, "deflate")


def _unbrotlied(body: bytes) -> bytes:
    library = _brotli()
    if library is None:
        raise UnknownCodingError("br")
    n_bytes, room = len(body), max(1 << 16, 8 * len(body))
    while True:
        room = min(room, MOST_BYTES)
        target, size = ctypes.create_string_buffer(room), ctypes.c_size_t(room)
        outcome = library.BrotliDecoderDecompress(
            ctypes.c_size_t(n_bytes), body, ctypes.byref(size), target
        )
        if outcome == _BROTLI_SUCCESS:
            return target.raw[: size.value]
        if room >= MOST_BYTES:
            raise UndecodableError(f"its br is broken or holds more than {MOST_BYTES:,} bytes")
        room *= 16


@cache
def _brotli() -> ctypes.CDLL | None:
    """Return the decoder's library, of which a server that codes brotli mostly has the other half.

    Source:
        `BrotliDecoderDecompress` in brotli/decode.h: 1 is success.
    """
    try:
        return ctypes.CDLL(_BROTLI)
    except OSError:
        return None


MOST_OF_LOG = 50
"""Requests of a replayed log that are asked: a log may hold many thousands."""

RANDOM = "{random}"
"""What stands for a random number where answers are compared."""

_MOST_BYTES = 16 << 20
_REDIRECT_OR_OK = range(200, 400)
_COUNTED = {"", "identity", "gzip", "x-gzip"}
"""Codings whose bodies the load knows the decoded length of."""
_ACCEPTS = "accept-encoding"
_WITH_BODY = ("POST", "PUT", "PATCH")
"""Methods whose requests say how long their body is, also where there is none."""
_USERS = (1, 2)
"""Two tell whether one gets what belongs to another."""
_TELLING = ("{user}", "{n}")
_SHORTEST_COOKIE = 8
"""A shorter value may stand anywhere by chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A request as one of the users asks it."""

    request: RequestSpec
    user: int = 1
    is_plain: bool = False
    """Asked by a client that accepts no coding, which the workload's does."""

    @property
    def name(self) -> str:
        """`GET /list`, with who asks where that is not the only one."""
        request = self.request
        name = f"{request.method} {_filled(request.path, self.user, RANDOM)}"
        if self.user != _USERS[0] and not _tells_apart(request.path):
            name += f" as user {self.user}"
        return f"{name} without a coding" if self.is_plain else name

    @property
    def is_usual(self) -> bool:
        """Whether it is asked by the first user, as the workload asks it."""
        return self.user == _USERS[0] and not self.is_plain

    @property
    def negotiates(self) -> bool:
        """Whether the workload's client says which codings it accepts."""
        return any(name.lower() == _ACCEPTS for name, _ in self.request.headers)

    @property
    def bare(self) -> "Question":
        """What is asked alone: without what is expected, and without the codings it accepts.

        Whichever coding is taken, one body is in it.
        """
        heads = tuple(each for each in self.request.headers if each[0].lower() != _ACCEPTS)
        request = structs.replace(
            self.request, headers=heads, expect_status=None, expect_length=None, name=""
        )
        return replace(self, request=request)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """All of an answer that should be the same again."""

    question: Question
    status: int = 0
    """0 where there was no answer."""
    why: Reason | None = None
    """Why there was none; None where there was one."""
    duration_s: float = 0.0
    body: bytes = b""
    """As it came, out of its chunks."""
    kind: str = ""
    """Its `Content-Type`."""
    location: str = ""
    coding: str = ""
    vary: str = ""
    cookies: tuple[str, ...] = ()
    """Its `Set-Cookie` lines."""
    reason: str = ""
    """What its status line says beside the status."""
    length: int | None = None
    """Its `Content-Length`; None where it has none."""
    etag: str = ""
    modified: str = ""
    """Its `Last-Modified`."""
    own: tuple[tuple[bytes, bytes], ...] = ()
    """What only this asking put in: a random number, the server's address, the cookies that no
    other user has; each with what stands for it where answers are compared."""

    @property
    def is_right(self) -> bool:
        """Whether the load would count it as right."""
        request = self.question.request
        wanted = request.expect_status
        is_status = self.status in _REDIRECT_OR_OK if wanted is None else self.status == wanted
        return is_status and (
            request.expect_length in {None, self._decoded_length} or self.question.is_plain
        )

    @property
    def _decoded_length(self) -> int:
        """Of the body without its coding, where that is one that the load can undo; else -1."""
        if self.coding.strip().lower() not in _COUNTED:
            return -1 if self.body else 0
        try:
            return len(decoded(self.body, self.coding))
        except UndecodableError:
            return -1

    def without_own(self, text: bytes) -> bytes:
        """Return a text of the answer with what only this asking put in replaced."""
        for value, stand_in in self.own:
            text = text.replace(value, stand_in)
        return text


class Reached(Protocol):
    """What is known of a server that is asked: where it is."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it listens; the first is asked."""

    @property
    def networks(self) -> tuple[str, ...]:
        """The network namespace of each, as of a `Running`."""


def asked_requests(workload: Workload) -> Sequence[RequestSpec]:
    """Return what is asked: what users ask for first, then the rest, once each."""
    arrival = workload.arrival
    own = read_access_log(arrival).requests if isinstance(arrival, Replay) else ()
    return tuple(dict.fromkeys(chain(workload.first, own or workload.asked)))


def questions(workload: Workload, requests: Sequence[RequestSpec]) -> tuple[Question, ...]:
    """Return what to ask to see whether answers are the same, user by user.

    There are two users where the workload tells users apart, and a second client where it accepts
    codings: one that accepts none.
    """
    is_told = workload.users.has_cookies or any(
        _tells_apart(text)
        for each in requests
        for text in (each.path, each.body, *(value for _, value in each.headers))
    )
    return tuple(
        Question(request=request, user=user, is_plain=is_plain)
        for user in (_USERS if is_told else _USERS[:1])
        for request in requests
        for is_plain in ((False, True) if Question(request=request).negotiates else (False,))
    )


def answers(
    running: Reached,
    workload: Workload,
    asked: Sequence[Question],
    *,
    limit_s: float,
    goes_on: bool = False,
) -> Iterator[Answer]:
    """Yield what comes of each question; none after one that was not answered at all.

    Args:
        running: Who is asked.
        workload: How its users are, and how they connect.
        asked: In this order. Each user keeps its cookies where the load's do.
        limit_s: Of all of them together.
        goes_on: Ask the others also after one that was not answered.
    """
    visitors: dict[int, Visitor] = {}
    taken: set[str] = set()
    until_s = time.monotonic() + limit_s
    for question in asked:
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            return
        visitor = visitors.get(question.user)
        if visitor is None:
            # What a former user was given is nobody's own any more.
            taken.update(*(each.cookies.values() for each in visitors.values()))
            visitor = Visitor(running=running, workload=workload, taken=frozenset(taken))
            visitors[question.user] = visitor
        answer = visitor.ask(question, limit_s=min(left_s, workload.timeout_s))
        yield answer
        if not (answer.status or goes_on):
            return


@dataclass(kw_only=True)
class Visitor:
    """A user of the load."""

    running: Reached
    workload: Workload
    cookies: dict[str, str] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    """Cookies that others were given."""

    def ask(self, question: Question, *, limit_s: float) -> Answer:
        """Return what came of one question; takes in the cookies that it brought."""
        began_s = time.monotonic()
        random = token_hex(8)
        address = host_header(self.running.addresses[0])
        own = [(random.encode(), RANDOM.encode()), (address.encode(), b"{address}")]
        found = Answer(question=question)
        try:
            with _Connection(self.running, self.workload, limit_s) as connection:
                response = self._sent(connection.http, question, random)
                body = response.read(_MOST_BYTES)
                heads = response.headers
                found = Answer(
                    question=question,
                    status=response.status,
                    body=body,
                    kind=heads.get("content-type", ""),
                    location=heads.get("location", ""),
                    coding=heads.get("content-encoding", ""),
                    vary=", ".join(heads.get_all("vary", [])),
                    cookies=tuple(heads.get_all("set-cookie", [])),
                    reason=response.reason,
                    length=int(said)
                    if (said := heads.get("content-length", "")).isdecimal()
                    else None,
                    etag=heads.get("etag", ""),
                    modified=heads.get("last-modified", ""),
                )
                for line in found.cookies:
                    name, _, value = line.partition(";")[0].partition("=")
                    self.cookies[name.strip()] = value.strip()
        except TimeoutError:
            found = Answer(
                question=question, why=because("experiment.no_answer_within", limit_s=limit_s)
            )
        except (OSError, http.client.HTTPException, ValueError) as error:
            words = str(error) or type(error).__name__
            found = Answer(question=question, why=because("experiment.said", words=words))
        own += [
            (value.encode("latin-1", "replace"), f"{{cookie {name}}}".encode("latin-1", "replace"))
            for name, value in self.cookies.items()
            if len(value) >= _SHORTEST_COOKIE and value not in self.taken
        ]
        duration_s = time.monotonic() - began_s
        return replace(found, duration_s=duration_s, own=tuple(own))

    def _sent(
        self, connection: http.client.HTTPConnection, question: Question, random: str
    ) -> http.client.HTTPResponse:
        request, user = question.request, question.user
        body = _body(request, user, random)
        # The load sends no word of codings of its own, so nothing here may.
        connection.putrequest(
            request.method,
            _filled(request.path, user, random),
            skip_host=True,
            skip_accept_encoding=True,
        )
        heads = self._headers(question, random)
        if body or request.method in _WITH_BODY:
            heads.append(("Content-Length", str(len(body))))
        for name, value in heads:
            connection.putheader(name, value)
        connection.endheaders(body or None)
        return connection.getresponse()

    def _headers(self, question: Question, random: str) -> list[tuple[str, str]]:
        request = question.request
        found = [
            (name, "identity" if question.is_plain and name.lower() == _ACCEPTS else value)
            for name, value in headers(request, host_header(self.running.addresses[0]))
        ]
        given = {name.lower() for name, _ in found}
        keeps = self.workload.users.has_cookies or bool(self.workload.first)
        if self.cookies and keeps and "cookie" not in given:
            jar = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            found.append(("Cookie", jar))
        if "connection" not in given:
            found.append(("Connection", "close"))
        return [(name, _filled(value, question.user, random)) for name, value in found]


class _Connection:
    """A connection of its own, which is cut when the time is up, whatever trickles in."""

    def __init__(self, running: Reached, workload: Workload, limit_s: float) -> None:
        self.http = http.client.HTTPConnection("localhost", timeout=limit_s)
        self.http.sock = _socket(running, workload, limit_s)
        self._timer = Timer(limit_s, self._cut)
        self._timer.daemon = True
        self._is_cut = False

    def __enter__(self) -> "_Connection":
        self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
        self.http.close()
        if self._is_cut:
            raise TimeoutError

    def _cut(self) -> None:
        self._is_cut = True
        with suppress(OSError, AttributeError):
            self.http.sock.shutdown(SHUT_RDWR)


def _socket(running: Reached, workload: Workload, limit_s: float) -> socket:
    plain = connected(
        running.addresses[0], limit_s, running.networks[0] if running.networks else ""
    )
    tls = workload.tls
    if tls is None:
        return plain
    # As the load does where the copy has a stand-in for a key: it is our own server.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(plain, server_hostname=tls.server_name or "localhost")


def _tells_apart(text: str) -> bool:
    return any(each in text for each in _TELLING)


def _body(request: RequestSpec, user: int, random: str) -> bytes:
    if request.body_file:
        with opened_regular(request.body_file) as file:
            return file.read()
    return _filled(request.body, user, random).encode()


def _filled(text: str, user: int, random: str) -> str:
    """Return a text with what stands for a number, a user and something random put in."""
    values = {"n": str(user), "user": str(user), "random": random}

    def put(found: re.Match[str]) -> str:
        name = found[1]
        return found[0][1:-1] if name is None else values.get(name, found[0])

    return PLACEHOLDER.sub(put, text)


_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST = 10
_CREDENTIALS = frozenset({"authorization", "cookie"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """A server that is asked."""

    addresses: tuple[str, ...]
    networks: tuple[str, ...] = ()


def landing(
    target: Target, request: RequestSpec, allowed_host: str | None, timeout_s: float
) -> Target:
    """Return where redirects lead from a target; the same where it answers itself.

    Raises:
        TargetError: A server does not answer.
        UsageError: Redirects lead to where nobody may load, or round and round.
    """
    begin = target
    for _ in range(_MOST):
        location = _location(target, request, allowed_host, timeout_s)
        if not location:
            return target
        target = replace(parse_url(urljoin(target.url, location)), unix_path=target.unix_path)
        named = {name.lower() for name, _ in request.headers}
        if named & _CREDENTIALS and not _is_same_server(begin, target):
            raise UsageError(
                f"`{begin.url}` leads to `{target.origin}`, which your credentials are not for",
                hint=f"load `{target.url}` itself, with the credentials that are",
            )
    raise UsageError(f"`{begin.url}` leads from redirect to redirect, {_MOST} times")


def _is_same_server(begin: Target, end: Target) -> bool:
    """Whether it is the same server, or the same host by TLS."""
    is_by_tls = end.host == begin.host and end.is_tls and not begin.is_tls
    return end.origin == begin.origin or is_by_tls


def _location(
    target: Target, request: RequestSpec, allowed_host: str | None, timeout_s: float
) -> str:
    """Return where an answer leads; empty where it is none."""
    address = resolve(target, allowed_host=allowed_host)
    check_permitted(target, address, allowed_host=allowed_host)
    own = tuple(each for each in request.headers if each[0].lower() != "host")
    there = structs.replace(request, path=target.path, headers=(("Host", target.authority), *own))
    tls = TlsSpec(server_name=target.host) if target.is_tls else None
    visitor = Visitor(running=_Place(addresses=(address,)), workload=Workload(tls=tls))
    answer = visitor.ask(Question(request=there), limit_s=timeout_s)
    if not answer.status:
        raise TargetError(f"`{target.url}` did not answer", why=[answer.why] if answer.why else ())
    return answer.location if answer.status in _REDIRECTS else ""
