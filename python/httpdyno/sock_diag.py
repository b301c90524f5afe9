"""Sockets of a network namespace: who listens with which backlog, and what states there are.

`/proc/net/tcp` does not tell a listener's backlog; NETLINK_SOCK_DIAG does (sock_diag(7)): for a
socket that listens, `idiag_rqueue` is what waits to be accepted and `idiag_wqueue` the most that
may. The answer is of the namespace that the netlink socket was made in, so for another one a thread
of its own enters it, makes the socket, and ends: only that thread is ever there.

Of unix sockets unix_diag tells the same (`udiag_rqueue`, `udiag_wqueue`), and by their inode whose
they are.
"""

import ctypes
import os
import socket
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from httpdyno.errors import AdapterError
from httpdyno.foreign_text import reason

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST_DUMP = 0x301
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_TCP_LISTEN = 10
_CLONE_NEWNET = 0x4000_0000
_HEADER = struct.Struct("=IHHII")
# inet_diag_req_v2: family, protocol, extensions, states, then the id of one socket, here none.
_REQUEST = struct.Struct("=BBBxI48x")
# inet_diag_msg: family, state, timer, retransmits; ports and addresses; interface, cookie;
# expires, rqueue, wqueue, uid, inode.
_SOCKET = struct.Struct("=4B2s2s16s16sI8sIIIII")
# unix_diag_req: family, protocol, states, inode, what to show, cookie; unix_diag_msg; an attribute.
_UNIX_REQUEST = struct.Struct("=BBxxIIIII")
_UNIX_SOCKET = struct.Struct("=BBBxI8x")
_ATTRIBUTE = struct.Struct("=HH")
_SHOW_NAME_AND_QUEUE = 0x11
_UNIX_NAME, _UNIX_QUEUE = 0, 4
_STATES = (
    *("", "established", "syn-sent", "syn-received", "fin-wait-1", "fin-wait-2", "time-wait"),
    *("closed", "close-wait", "last-ack", "listen", "closing", "syn-received"),
)
"""By number: `TCP_ESTABLISHED` and so on of <net/tcp_states.h>."""
_ANSWER_BYTES = 1 << 16
_TIMEOUT_S = 5.0
_Told = TypeVar("_Told")


@dataclass(frozen=True, kw_only=True, slots=True)
class ListeningSocket:
    """One socket that listens."""

    address: str
    """`0.0.0.0:80`, `[::]:80` or `unix:/path`; abstract ones begin with `@`."""
    backlog: int
    """The most connections that may wait to be accepted."""
    waiting: int
    """Those that wait."""
    inode: int


def listening_sockets(network: str = "") -> tuple[ListeningSocket, ...]:
    """Return the TCP sockets that listen in a network namespace.

    Args:
        network: Its path, such as `/proc/PID/ns/net`; empty for the one that this process is in.

    Raises:
        AdapterError: The namespace cannot be entered, or the kernel does not answer.
    """
    return _asked(network, _listening)


def listening_unix_sockets(network: str = "") -> tuple[ListeningSocket, ...]:
    """Return the unix sockets that listen in a network namespace, as `listening_sockets`."""
    return _asked(network, _listening_unix)


def connection_states(ports: Collection[int], network: str = "") -> Mapping[str, int]:
    """Return how many TCP sockets at these local ports are in which state, listening ones left out.

    Args:
        ports: Of this end.
        network: As `listening_sockets`, with what it raises.
    """
    return _asked(network, lambda diag: _states(diag, frozenset(ports)))


def _asked(network: str, ask: Callable[[socket.socket], _Told]) -> _Told:
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_asked_in, network, ask).result()


def _asked_in(network: str, ask: Callable[[socket.socket], _Told]) -> _Told:
    try:
        if network:
            _enter(network)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as diag:
            diag.settimeout(_TIMEOUT_S)
            return ask(diag)
    except OSError as error:
        where = f" of `{network}`" if network else ""
        raise AdapterError(f"the sockets{where} cannot be told: {reason(error)}") from error


def _enter(network: str) -> None:
    handle = os.open(network, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(handle, _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)


def _listening(diag: socket.socket) -> tuple[ListeningSocket, ...]:
    return tuple(_socket(each) for each in _tcp(diag, 1 << _TCP_LISTEN))


def _states(diag: socket.socket, ports: frozenset[int]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in _tcp(diag, ~(1 << _TCP_LISTEN) & 0xFFFF_FFFF):
        if int.from_bytes(each[4:6], "big") in ports:
            found[_STATES[each[1]]] += 1
    return dict(found)


def _tcp(diag: socket.socket, states: int) -> Iterator[bytes]:
    for family in (socket.AF_INET, socket.AF_INET6):
        yield from _answers(diag, _REQUEST.pack(family, socket.IPPROTO_TCP, 0, states))


def _listening_unix(diag: socket.socket) -> tuple[ListeningSocket, ...]:
    request = (socket.AF_UNIX, 0, 1 << _TCP_LISTEN, 0, _SHOW_NAME_AND_QUEUE, 0, 0)
    told = _answers(diag, _UNIX_REQUEST.pack(*request))
    return tuple(each for each in map(_unix_socket, told) if each is not None)


def _answers(diag: socket.socket, body: bytes) -> Iterator[bytes]:
    """Yield what the kernel says of each socket."""
    length = _HEADER.size + len(body)
    diag.send(_HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, 1, 0) + body)
    while True:
        answer = diag.recv(_ANSWER_BYTES)
        at = 0
        while at + _HEADER.size <= len(answer):
            length, kind, *_ = _HEADER.unpack_from(answer, at)
            if kind == _NLMSG_DONE:
                return
            if kind == _NLMSG_ERROR:
                (number,) = struct.unpack_from("=i", answer, at + _HEADER.size)
                raise OSError(-number, os.strerror(-number))
            yield answer[at + _HEADER.size : at + length]
            at += (length + 3) & ~3


def _unix_socket(answer: bytes) -> ListeningSocket | None:
    """Return one with a name: without, nobody could connect to it."""
    *_, inode = _UNIX_SOCKET.unpack_from(answer)
    attributes: dict[int, bytes] = {}
    at = _UNIX_SOCKET.size
    while at + _ATTRIBUTE.size <= len(answer):
        length, kind = _ATTRIBUTE.unpack_from(answer, at)
        attributes[kind] = answer[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3
    name = attributes.get(_UNIX_NAME, b"")
    if not name or _UNIX_QUEUE not in attributes:
        return None
    waiting, backlog = struct.unpack("=II", attributes[_UNIX_QUEUE])
    path = b"@" + name[1:] if name[0] == 0 else name.rstrip(b"\0")
    address = f"unix:{path.decode(errors='surrogateescape')}"
    return ListeningSocket(address=address, backlog=backlog, waiting=waiting, inode=inode)


def _socket(answer: bytes) -> ListeningSocket:
    fields = _SOCKET.unpack_from(answer)
    family, port, source = fields[0], int.from_bytes(fields[4], "big"), fields[6]
    waiting, backlog, inode = fields[11], fields[12], fields[14]
    if family == socket.AF_INET:
        host = socket.inet_ntop(socket.AF_INET, source[:4])
    else:
        host = f"[{socket.inet_ntop(socket.AF_INET6, source)}]"
    return ListeningSocket(address=f"{host}:{port}", backlog=backlog, waiting=waiting, inode=inode)
