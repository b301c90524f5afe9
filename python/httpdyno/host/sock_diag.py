"""Sockets of a network namespace: who listens with which backlog, and what states there are.

`/proc/net/tcp` does not tell a listener's backlog; NETLINK_SOCK_DIAG does (sock_diag(7)): for a
socket that listens, `idiag_rqueue` is what waits to be accepted and `idiag_wqueue` the most that
may. The answer is of the namespace that the netlink socket was made in, so for another one a thread
of its own enters it, makes the socket, and ends: only that thread is ever there. Of unix sockets
unix_diag tells the same (`udiag_rqueue`, `udiag_wqueue`), and by their inode whose they are.

The kernel answers in many messages. An answer is known by the number of its question: one that was
given up, because it took too long or because of Ctrl-C, may still lie in the socket when the next
is asked.

Source: netlink(7); the kernel's Documentation/userspace-api/netlink/intro.rst, section "Dump
consistency" for answers that are not whole.
"""

import ctypes
import errno
import os
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, TypeVar

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason

_NLM_F_REQUEST_DUMP, _NLM_F_DUMP_INTR = 0x301, 0x10
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_HEADER = struct.Struct("=IHHII")
_ANSWER_BYTES = 1 << 16
_LONGEST_S = 5.0
_TRIES = 3
_NUMBERS = count(1)


class NetlinkMessage(NamedTuple):
    """One of an answer."""

    kind: int
    flags: int
    number: int
    """Of the question."""
    content: bytes

    @property
    def is_last(self) -> bool:
        """Whether no other follows."""
        return self.kind in (_NLMSG_DONE, _NLMSG_ERROR)

    @property
    def fault(self) -> int:
        """Which error the last one tells; 0: none. Also a proper end may tell one."""
        return -int.from_bytes(self.content[:4], sys.byteorder, signed=True)


def answers(asking: socket.socket, kind: int, body: bytes) -> list[bytes]:
    """Return all that the kernel says to a question.

    Args:
        asking: A netlink socket with a timeout.
        kind: Of the question.
        body: What is asked.

    Raises:
        OSError: It refuses, does not answer, or what it tells of changed each time meanwhile.
    """
    for _ in range(_TRIES):
        found = _answers_once(asking, kind, body)
        if found is not None:
            return found
    raise _error(errno.EBUSY)


def messages(answer: bytes) -> Iterator[NetlinkMessage]:
    """Yield what one datagram holds.

    Raises:
        OSError: It is cut off.
    """
    at = 0
    while at + _HEADER.size <= len(answer):
        length, kind, flags, number, _ = _HEADER.unpack_from(answer, at)
        if not _HEADER.size <= length <= len(answer) - at:
            raise _error(errno.EBADMSG)
        yield NetlinkMessage(kind, flags, number, answer[at + _HEADER.size : at + length])
        at += (length + 3) & ~3


def _answers_once(asking: socket.socket, kind: int, body: bytes) -> list[bytes] | None:
    """Return what the kernel says; None where it is not whole, or nothing can be asked yet."""
    number, length = next(_NUMBERS) & 0xFFFF_FFFF, _HEADER.size + len(body)
    asking.send(_HEADER.pack(length, kind, _NLM_F_REQUEST_DUMP, number, 0) + body)
    found, is_whole, is_busy = list[bytes](), True, False
    end_s = time.monotonic() + _LONGEST_S
    while time.monotonic() < end_s:
        for each in messages(asking.recv(_ANSWER_BYTES)):
            if each.number != number:
                if each.is_last and is_busy:
                    return None
                continue
            is_whole = is_whole and not each.flags & _NLM_F_DUMP_INTR
            if not each.is_last:
                found.append(each.content)
            elif each.fault == errno.EBUSY:
                # It still answers an earlier question, whose end is read first.
                is_busy = True
            elif each.fault:
                raise _error(each.fault)
            else:
                return found if is_whole else None
    raise _error(errno.ETIMEDOUT)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY, _TCPDIAG_GETSOCK = 20, 18
_TCP_LISTEN = 10
_CLONE_NEWNET = 0x4000_0000
# inet_diag_req_v2: family, protocol, extensions, states, then the id of one socket, here none.
_REQUEST = struct.Struct("=BBBxI48x")
# inet_diag_req: family, lengths, extensions, the id of one socket, here none; states, a table.
_OLD_REQUEST = struct.Struct("=4x48xI4x")
# inet_diag_msg: family, state, timer, retransmits; ports and addresses; interface, cookie;
# expires, rqueue, wqueue, uid, inode.
_SOCKET = struct.Struct("=4B2s2s16s16sI8sIIIII")
# unix_diag_req: family, protocol, states, inode, what to show, cookie; unix_diag_msg; an attribute.
_UNIX_REQUEST = struct.Struct("=BBxxIIIII")
_UNIX_SOCKET = struct.Struct("=BBBxI8x")
_ATTRIBUTE = struct.Struct("=HH")
# inet_diag_bc_op: code, how far to go if so and if not; INET_DIAG_BC_S_GE and INET_DIAG_BC_S_LE.
_CONDITION, _FROM, _UP_TO = 1, 2, 3
_SHOW_NAME_AND_QUEUE, _SHOW_NAME_AND_PEER, _SHOW_NAME_AND_WAITING = 0x11, 0x05, 0x09
_UNIX_NAME, _UNIX_PEER, _UNIX_WAITING, _UNIX_QUEUE = 0, 2, 3, 4
_ESTABLISHED, _TIME_WAIT = 1, 6
_STATES = (
    *("", "established", "syn-sent", "syn-received", "fin-wait-1", "fin-wait-2", "time-wait"),
    *("closed", "close-wait", "last-ack", "listen", "closing", "syn-received"),
)
"""By number: `TCP_ESTABLISHED` and so on of <net/tcp_states.h>."""
_MAPPED = b"\0" * 10 + b"\xff\xff"
"""Begins an IPv4 address that is written as one of IPv6."""
UNNAMED = "unix"
"""What a unix socket without a name is called."""
_TIMEOUT_S = 5.0
_Told = TypeVar("_Told")


@dataclass(frozen=True, kw_only=True, slots=True)
class ListenQueue:
    """Connections that wait to be accepted."""

    address: str
    """`0.0.0.0:80`, `[::]:80` or `unix:/path`; abstract ones begin with `@`."""
    waiting: int
    backlog: int
    """The most that may wait."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListeningSocket(ListenQueue):
    """One socket that listens."""

    inode: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """One socket that is connected, or is on its way to be."""

    inode: int
    address: str
    """Of this end, as `ListeningSocket`; `unix` where it has no name."""
    peer: str
    """Of the other end, likewise."""
    port: int | None
    """Of this end; None of a unix socket."""


class Diagnosis:
    """Asks one namespace again and again, which is cheaper. Not for several threads at once."""

    def __init__(self, network: str = "") -> None:
        """Begin to ask; `close` it.

        Args:
            network: As `listening_sockets`, with what it raises.
        """
        self._network = network
        with ThreadPoolExecutor(max_workers=1) as thread:
            self._diag = thread.submit(_opened_in, network).result()

    def close(self) -> None:
        """Ask no more."""
        self._diag.close()

    def listening(self) -> tuple[ListeningSocket, ...]:
        """Return the TCP and the unix sockets that listen; the latter where the kernel tells."""
        return self._told(lambda diag: (*_listening(diag), *_if_told(_listening_unix, diag)))

    def connection_states(self, ports: Collection[int]) -> Mapping[str, int]:
        """Return local TCP sockets at these ports by state, listening ones left out."""
        return self._told(lambda diag: _states(diag, frozenset(ports)))

    def unread(self, ports: Collection[int]) -> Mapping[int, int]:
        """Return local port → TCP connections there with bytes that no process has read yet."""
        return self._told(lambda diag: _unread(diag, frozenset(ports)))

    def connections(self) -> tuple[Connection, ...]:
        """Return all TCP, UDP and unix connections that some process may have open.

        The kernel goes through those of the whole machine: some 2 ms where there are none.
        """
        return self._told(lambda diag: (*_connections(diag), *_if_told(_unix_connections, diag)))

    def _told(self, ask: Callable[[socket.socket], _Told]) -> _Told:
        try:
            return ask(self._diag)
        except OSError as error:
            raise _untold(self._network, error) from error


def _if_told(
    ask: Callable[[socket.socket], Iterable[_Told]], diag: socket.socket
) -> tuple[_Told, ...]:
    """Return what a kernel says that may lack the part that says it, such as unix_diag."""
    with suppress(FileNotFoundError):
        return tuple(ask(diag))
    return ()


def listening_sockets(network: str = "") -> tuple[ListeningSocket, ...]:
    """Return the TCP sockets that listen in a network namespace.

    Args:
        network: Its path, such as `/proc/PID/ns/net`; empty for the one that this process is in.

    Raises:
        AdapterError: The namespace cannot be entered, or the kernel does not answer.
    """
    return _asked(network, _listening)


def _asked(network: str, ask: Callable[[socket.socket], _Told]) -> _Told:
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_asked_in, network, ask).result()


def _asked_in(network: str, ask: Callable[[socket.socket], _Told]) -> _Told:
    with _opened_in(network) as diag:
        try:
            return ask(diag)
        except OSError as error:
            raise _untold(network, error) from error


def _opened_in(network: str) -> socket.socket:
    """Return a socket that asks, which stays in the namespace that it was made in."""
    try:
        if network:
            _enter(network)
        diag = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
    except OSError as error:
        raise _untold(network, error) from error
    diag.settimeout(_TIMEOUT_S)
    return diag


def _untold(network: str, error: OSError) -> AdapterError:
    where = f" of `{network}`" if network else ""
    return AdapterError(f"the sockets{where} cannot be told: {reason(error)}")


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
    if not ports:
        return {}
    for each in _tcp(diag, ~(1 << _TCP_LISTEN) & 0xFFFF_FFFF, _between(min(ports), max(ports))):
        if int.from_bytes(each[4:6], "big") in ports:
            found[_STATES[each[1]]] += 1
    return dict(found)


def _unread(diag: socket.socket, ports: frozenset[int]) -> dict[int, int]:
    found: Counter[int] = Counter()
    if not ports:
        return {}
    for each in _tcp(diag, 1 << _ESTABLISHED, _between(min(ports), max(ports))):
        fields = _SOCKET.unpack_from(each)
        if (port := int.from_bytes(fields[4], "big")) in ports and fields[11]:
            found[port] += 1
    return dict(found)


def _connections(diag: socket.socket) -> Iterator[Connection]:
    # What waits for its time to pass belongs to no process any more.
    told = _tcp(diag, ~(1 << _TCP_LISTEN | 1 << _TIME_WAIT) & 0xFFFF_FFFF)
    yield from map(_connection, told)
    with suppress(FileNotFoundError):  # not every kernel tells of UDP
        for family in (socket.AF_INET, socket.AF_INET6):
            request = _REQUEST.pack(family, socket.IPPROTO_UDP, 0, 1 << _ESTABLISHED)
            yield from map(_connection, _answers(diag, request))


def _tcp(diag: socket.socket, states: int, condition: bytes = b"") -> Iterator[bytes]:
    # The older question is answered for both families at once: the kernel goes through all sockets
    # of the machine one time instead of two.
    return _answers(diag, _OLD_REQUEST.pack(states) + condition, kind=_TCPDIAG_GETSOCK)


def _between(first: int, last: int) -> bytes:
    """Return the condition that this end's port lies between two, which the kernel then checks.

    A machine may have tens of thousands of sockets that wait for their time to pass.
    """
    # Each comparison is followed by its port. Both go on to the next, 8 bytes further, or to 4
    # bytes behind the end, which is no.
    code = struct.pack("=BBHBBHBBHBBH", _FROM, 8, 20, 0, 0, first, _UP_TO, 8, 12, 0, 0, last)
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(code), _CONDITION) + code


def _unix_connections(diag: socket.socket) -> list[Connection]:
    names: dict[int, str] = {}
    peers: dict[int, int] = {}
    for inode, attributes in _unix(diag, _ESTABLISHED, _SHOW_NAME_AND_PEER):
        names[inode] = _unix_name(attributes)
        peers[inode] = int.from_bytes(attributes.get(_UNIX_PEER, b""), sys.byteorder)
    waited_for = _waited_for(diag) if 0 in peers.values() else {}
    return [
        Connection(
            inode=inode,
            address=name or UNNAMED,
            peer=names.get(peers[inode]) or waited_for.get(inode) or UNNAMED,
            port=None,
        )
        for inode, name in names.items()
    ]


def _waited_for(diag: socket.socket) -> dict[int, str]:
    """Return at whose door the connections are that were not accepted: their other end is none."""
    return {
        inode: _unix_name(attributes)
        for _, attributes in _unix(diag, _TCP_LISTEN, _SHOW_NAME_AND_WAITING)
        for (inode,) in struct.iter_unpack("=I", attributes.get(_UNIX_WAITING, b""))
    }


def _listening_unix(diag: socket.socket) -> tuple[ListeningSocket, ...]:
    told = _unix(diag, _TCP_LISTEN, _SHOW_NAME_AND_QUEUE)
    found = (_unix_socket(inode, attributes) for inode, attributes in told)
    return tuple(each for each in found if each is not None)


def _unix(diag: socket.socket, state: int, shown: int) -> Iterator[tuple[int, dict[int, bytes]]]:
    """Yield the inodes of the unix sockets in a state, with what is asked of them."""
    request = _UNIX_REQUEST.pack(socket.AF_UNIX, 0, 1 << state, 0, shown, 0, 0)
    return map(_unix_attributes, _answers(diag, request))


def _answers(
    diag: socket.socket, body: bytes, *, kind: int = _SOCK_DIAG_BY_FAMILY
) -> Iterator[bytes]:
    """Yield what the kernel says of each socket."""
    return iter(answers(diag, kind, body))


def _unix_attributes(answer: bytes) -> tuple[int, dict[int, bytes]]:
    *_, inode = _UNIX_SOCKET.unpack_from(answer)
    attributes: dict[int, bytes] = {}
    at = _UNIX_SOCKET.size
    while at + _ATTRIBUTE.size <= len(answer):
        length, kind = _ATTRIBUTE.unpack_from(answer, at)
        attributes[kind] = answer[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3
    return inode, attributes


def _unix_name(attributes: Mapping[int, bytes]) -> str:
    name = attributes.get(_UNIX_NAME, b"")
    if not name:
        return ""
    path = b"@" + name[1:] if name[0] == 0 else name.rstrip(b"\0")
    return f"unix:{path.decode(errors='surrogateescape')}"


def _unix_socket(inode: int, attributes: Mapping[int, bytes]) -> ListeningSocket | None:
    """Return one with a name: without, nobody could connect to it."""
    address = _unix_name(attributes)
    if not address or _UNIX_QUEUE not in attributes:
        return None
    waiting, backlog = struct.unpack("=II", attributes[_UNIX_QUEUE])
    return ListeningSocket(address=address, backlog=backlog, waiting=waiting, inode=inode)


def _socket(answer: bytes) -> ListeningSocket:
    fields = _SOCKET.unpack_from(answer)
    return ListeningSocket(
        address=_written(fields[0], fields[6], fields[4]),
        backlog=fields[12],
        waiting=fields[11],
        inode=fields[14],
    )


def _connection(answer: bytes) -> Connection:
    fields = _SOCKET.unpack_from(answer)
    return Connection(
        inode=fields[14],
        address=_written(fields[0], fields[6], fields[4]),
        peer=_written(fields[0], fields[7], fields[5]),
        port=int.from_bytes(fields[4], "big"),
    )


def _written(family: int, address: bytes, port: bytes) -> str:
    if family == socket.AF_INET:
        host = socket.inet_ntop(socket.AF_INET, address[:4])
    elif address.startswith(_MAPPED):
        host = socket.inet_ntop(socket.AF_INET, address[len(_MAPPED) :])
    else:
        host = f"[{socket.inet_ntop(socket.AF_INET6, address)}]"
    return f"{host}:{int.from_bytes(port, 'big')}"
