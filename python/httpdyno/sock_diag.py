"""Listening sockets of a network namespace, with the backlog that the kernel gave them.

`/proc/net/tcp` does not tell a listener's backlog; NETLINK_SOCK_DIAG does (sock_diag(7)): for a
socket that listens, `idiag_rqueue` is what waits to be accepted and `idiag_wqueue` the most that
may. The answer is of the namespace that the netlink socket was made in, so for another one a thread
of its own enters it, makes the socket, and ends: only that thread is ever there.
"""

import ctypes
import os
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

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
_ANSWER_BYTES = 1 << 16
_TIMEOUT_S = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ListeningSocket:
    """One TCP socket that listens."""

    address: str
    """`0.0.0.0:80` or `[::]:80`."""
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
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_asked_in, network).result()


def _asked_in(network: str) -> tuple[ListeningSocket, ...]:
    try:
        if network:
            _enter(network)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as diag:
            diag.settimeout(_TIMEOUT_S)
            return tuple(
                each
                for family in (socket.AF_INET, socket.AF_INET6)
                for each in _answers(diag, family)
            )
    except OSError as error:
        where = f" of `{network}`" if network else ""
        raise AdapterError(
            f"the listening sockets{where} cannot be told: {reason(error)}"
        ) from error


def _enter(network: str) -> None:
    handle = os.open(network, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(handle, _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)


def _answers(diag: socket.socket, family: int) -> Iterator[ListeningSocket]:
    body = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 1 << _TCP_LISTEN)
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
            yield _socket(answer, at + _HEADER.size)
            at += (length + 3) & ~3


def _socket(answer: bytes, at: int) -> ListeningSocket:
    fields = _SOCKET.unpack_from(answer, at)
    family, port, source = fields[0], int.from_bytes(fields[4], "big"), fields[6]
    waiting, backlog, inode = fields[11], fields[12], fields[14]
    if family == socket.AF_INET:
        host = socket.inet_ntop(socket.AF_INET, source[:4])
    else:
        host = f"[{socket.inet_ntop(socket.AF_INET6, source)}]"
    return ListeningSocket(address=f"{host}:{port}", backlog=backlog, waiting=waiting, inode=inode)
