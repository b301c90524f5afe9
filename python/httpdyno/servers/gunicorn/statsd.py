"""Where a gunicorn that runs sends statsd, as the kernel lists its sockets; and to be there.

The arbiter opens the socket, connects it and lets its workers inherit it, so all that it says of
itself comes from one port. The kernel knows it whatever said so: a flag, a variable, code.

Source: gunicorn 27's gunicorn/instrument/statsd.py and gunicorn/arbiter.py (`setup`).
"""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from httpdyno.errors import AdapterError, TargetError
from httpdyno.host.foreign_text import reason
from httpdyno.servers.network.address import network_of, within
from httpdyno.servers.network.listening import address_text, socket_inodes

_TABLES = ("udp", "udp6")
_BUFFER_BYTES = 4 << 20
"""As much of it as the machine allows."""
_COUNT_LOST = 40
"""`SO_RXQ_OVFL`: with each packet comes how many were dropped before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UdpSocket:
    """One of a network namespace."""

    address: str
    """Of this end, `127.0.0.1:41234`."""
    peer: str
    """Of the other end; port 0 where it is not connected."""

    @property
    def port(self) -> int:
        """Of this end."""
        return _port(self.address)

    @property
    def is_connected(self) -> bool:
        """Whether all that it sends goes to one peer."""
        return _port(self.peer) > 0


def udp_sockets(table: str) -> dict[int, UdpSocket]:
    """Return the sockets of the kernel's `/proc/net/udp` or `udp6` by inode. Pure."""
    rows = (line.split() for line in table.splitlines()[1:])
    return {
        int(row[9]): UdpSocket(address=address_text(row[1]), peer=address_text(row[2]))
        for row in rows
    }


def sending(pid: int) -> tuple[UdpSocket, ...]:
    """Return the sockets by which a process sends packets to one peer each.

    Raises:
        AdapterError: They may not be seen.
    """
    try:
        os.scandir(f"/proc/{pid}/fd").close()
    except OSError as error:
        raise AdapterError(
            f"the sockets of process {pid} cannot be seen: {reason(error)}",
            hint="those of other users' processes are told to root only: `sudo` shows them",
        ) from error
    known = _known(pid)
    return tuple(known[inode] for inode in socket_inodes(pid) or () if inode in known)


def place_to_hear(pid: int, peer: str) -> socket.socket:
    """Return a socket at the place that a process sends to, in its network.

    Raises:
        TargetError: Somebody is there, or it may not be entered.
    """
    try:
        return within(network_of(pid), partial(_bound, peer))
    except OSError as error:
        raise TargetError(
            f"what process {pid} sends to {peer} cannot be heard: {reason(error)}",
            hint="packets go to one listener only: where one is, ask it",
        ) from error


def _bound(peer: str) -> socket.socket:
    host, port = peer.rpartition(":")[0].strip("[]"), _port(peer)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_DGRAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, _COUNT_LOST, 1)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        found.bind((host, port))
    except BaseException:
        found.close()
        raise
    return found


def heard(place: socket.socket, most_bytes: int) -> tuple[bytes, int, int]:
    """Return a packet, the port that it is from, and how many were dropped until it came.

    Raises:
        OSError: None came in time (`TimeoutError`), or the socket was closed.
    """
    packet, told, _, sender = place.recvmsg(most_bytes, socket.CMSG_SPACE(4))
    n_lost = (
        int.from_bytes(data, sys.byteorder)
        for level, kind, data in told
        if (level, kind) == (socket.SOL_SOCKET, _COUNT_LOST)
    )
    return packet, sender[1], next(n_lost, 0)


def _known(pid: int) -> dict[int, UdpSocket]:
    """Return the sockets of a process's network that are connected, by inode."""
    return {
        inode: each
        for table in _tables(pid)
        for inode, each in udp_sockets(table).items()
        if each.is_connected
    }


def _tables(pid: int) -> Iterator[str]:
    for name in _TABLES:
        with suppress(OSError):
            yield Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii")


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
