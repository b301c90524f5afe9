"""Where gunicorns send statsd, as the kernel lists their sockets; and to be there.

The arbiter opens the socket, connects it and lets its workers inherit it, so all that it says of
itself comes from one port. The kernel knows it whatever said so: a flag, a variable, code.

For gunicorns of a study the place is kept as long as they run, and heard now and then. Nobody makes
them send it: what is in force does. A packet to a port of loopback where nobody is comes back
refused, and gunicorn writes every second one of them into its log with a traceback, which doubles
the CPU time of a small answer. Were somebody there only while it is looked at, what is seen would
be of another server than what was timed. So the place is taken as soon as the server is ready. In
between nobody reads: the kernel drops what it has no room for, which costs the server no more and
no less than to be heard. A place that is not the study's own is left alone: somebody of the machine
may want it.

Source: gunicorn 27's gunicorn/instrument/statsd.py (`_sock_send`) and gunicorn/arbiter.py
(`setup`); udp(7), on ECONNREFUSED.
"""

import os
import socket
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path

from httpdyno.errors import AdapterError, TargetError
from httpdyno.host.foreign_text import reason
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import Running
from httpdyno.servers.network.address import network_of, within
from httpdyno.servers.network.listening import address_text, socket_inodes

_TABLES = ("udp", "udp6")
_BUFFER_BYTES = 4 << 20
"""As much of it as the machine allows."""
_COUNT_LOST = 40
"""`SO_RXQ_OVFL`: with each packet comes how many were dropped before it."""
_NAME = b"gunicorn"
_MOST_BYTES = 1 << 16
_AT_ONCE = 1 << 14
"""More packets than a socket's buffer holds."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptPlace:
    """A port of loopback where gunicorns send statsd, and nobody else of the machine is."""

    peer: str
    """`127.0.0.1:8125`, in their network."""
    ports: frozenset[int]
    """That they send from: others may send there, too."""
    place: socket.socket

    def packets(self) -> Iterator[tuple[bytes, int]]:
        """Yield theirs that have come and were not read, with how many had been dropped by then."""
        for _ in range(_AT_ONCE):
            try:
                packet, port, n_dropped = heard(self.place, _MOST_BYTES)
            except OSError:  # none is there, or the place was let go
                return
            if port in self.ports:
                yield packet, n_dropped


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnStatsd:
    """What is known of the statsd that a study's server sends."""

    places: tuple[KeptPlace, ...] = ()
    untold: tuple[Reason, ...] = ()
    """What cannot be heard, and why."""

    def close(self) -> None:
        """Let the places go; idempotent."""
        for each in self.places:
            each.place.close()


NO_STATSD = OwnStatsd()


def own_statsd(running: Running) -> OwnStatsd:
    """Take the places that a server which is ready sends statsd to, where they are the study's own.

    They are where its network is its own, or where the port has the number of one that it listens
    at: `statsd_host = "127.0.0.1:{{ port }}"`. What answers none of the load is not asked.
    """
    ports = {each.rpartition(":")[2] for each in running.addresses if not _is_unix(each)}
    others = running.companions().values()
    beside = {pid for each in others for pid in each.root_pids}
    places: list[KeptPlace] = []
    untold: list[Reason] = []
    for pid in running.root_pids:
        if pid in beside or not _is_gunicorn(pid):
            continue
        for peer, senders in _peers(pid).items():
            if not (network_of(pid) or peer.rpartition(":")[2] in ports):
                untold.append(because("gunicorn.statsd_elsewhere", peer=peer))
                continue
            try:
                place = place_to_hear(pid, peer)
            except TargetError:
                untold.append(because("gunicorn.statsd_taken", peer=peer))
                continue
            place.setblocking(False)
            places.append(KeptPlace(peer=peer, ports=frozenset(senders), place=place))
    return OwnStatsd(places=tuple(places), untold=tuple(untold))


def _peers(pid: int) -> dict[str, list[int]]:
    """Return where on loopback a process sends packets, and from which ports."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    with suppress(AdapterError):  # it has just ended
        for each in sending(pid):
            if ip_address(each.peer.rpartition(":")[0].strip("[]")).is_loopback:
                found[each.peer].append(each.port)
    return found


def _is_gunicorn(pid: int) -> bool:
    # With setproctitle it writes `gunicorn: master [shop]` there.
    try:
        return _NAME in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _is_unix(address: str) -> bool:
    return address.startswith("unix:")
