"""What becomes of an attempt: it stays within the copy, it is refused, or it gets out.

What a copy reaches of itself, or through a door, is its own. In a cell that is whatever somebody of
the copy listens at, since nobody else is in its network; behind a wall, where their addresses have
others in their place, what somebody listens at of those, and what its processes hold.
"""

import os
import socket
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from httpdyno.servers.network.listening import address_text, socket_inodes
from httpdyno.servers.sandbox import landlock_rules
from httpdyno.servers.sandbox.sandbox import Bounds
from httpdyno.servers.sandbox.syscall import Caller, Reach, Target, Write

Verdict = Literal["own", "refused", "reached", "unsure"]
"""`unsure`: the outcome will tell whether it was reached."""
_LISTENS = "0A"
_ACCEPTS = 0x1_0000
"""__SO_ACCEPTCON of a unix socket's flags."""
_DATAGRAM = 2
"""SOCK_DGRAM, as the kernel's table has it."""
_EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - as listeners are written
_UNIX_FIELDS = 8
_PRIVATE_TABLES = {"tcp": ("tcp", "tcp6"), "udp": ("udp", "udp6")}


def reach_in_cell(caller: Caller, reach: Reach, bounds: Bounds) -> Verdict:
    """Return what becomes of reaching somebody from a cell."""
    if reach.to.family == "ip":
        is_own = any(_answering(caller, reach))
    elif reach.to.host.startswith("@"):
        is_own = any(name == reach.to.host for name, _ in _unix_sockets(caller, reach.kind))
    else:
        path = caller.absolute(reach.to.host)
        file = caller.file_of(path)
        if _is_door(caller, path, bounds) or _is_below(path, bounds.folders):
            return "own"
        if file is None:
            return "refused"
        if _is_listed(caller, path, file, reach.kind):
            return "own"
        # It may be left from somebody, or be a socket of others that no mount could hide.
        return "unsure"
    return "own" if is_own else "refused"


def reach_behind_wall(
    caller: Caller, reach: Reach, bounds: Bounds, own_pids: Callable[[], Iterable[int]]
) -> Verdict:
    """Return what becomes of reaching somebody from behind a wall."""
    to = reach.to
    if to.family == "ip":
        return _address_behind_wall(caller, reach, bounds, own_pids)
    if to.host.startswith("@"):
        inodes = [n for name, n in _unix_sockets(caller, reach.kind) if name == to.host]
        if not inodes:
            return "refused"
        return "own" if _held(own_pids()).intersection(inodes) else "unsure"
    path = os.path.realpath(caller.own_file(caller.absolute(to.host)))
    if _is_door(caller, path, bounds):
        return "own"
    if _is_below(path, bounds.folders):
        file = caller.file_of(path)
        return "own" if file and _is_listed(caller, path, file, reach.kind) else "refused"
    try:
        is_there = stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116
    except OSError:
        is_there = False
    return "unsure" if is_there else "refused"


def write_behind_wall(caller: Caller, write: Write, bounds: Bounds) -> tuple[Verdict, str]:
    """Return what becomes of changing a file from behind a wall, and which file it is.

    What would not change anything without a wall either is nothing to name: it is `own`.
    """
    path = caller.own_file(os.path.normpath(write.path))
    if not path:
        return "own", ""
    if write.is_followed:
        path = os.path.realpath(path)
    else:
        folder, name = os.path.split(path)
        path = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118
    is_there = os.path.lexists(path)
    is_idle = {
        "new": is_there,
        "there": not is_there,
        "any": not os.path.isdir(os.path.dirname(path)),  # noqa: PTH112, PTH120
    }[write.must]
    return ("own" if is_idle or _is_below(path, bounds.folders) else "refused"), path


def is_connected(connecting: socket.socket) -> bool:
    """Whether somebody took a connection."""
    try:
        connecting.getpeername()
    except OSError:
        return False
    return True


def is_at(listens: str, to: Target) -> bool:
    """Whether a socket at an address, as listeners are written, is what answers there. Pure."""
    host, _, port = listens.rpartition(":")
    host = host.strip("[]").removeprefix("::ffff:")
    return port == str(to.port) and (host in _EVERYWHERE or host == to.host)


def unix_sockets(lines: Iterable[str], kind: str) -> Iterator[tuple[str, int]]:
    """Yield name and number of those of /proc/net/unix that take what is sent so. Pure."""
    for line in lines:
        fields = line.split(None, 7)
        if len(fields) < _UNIX_FIELDS:
            continue
        is_datagram = int(fields[4], 16) == _DATAGRAM
        if is_datagram if kind == "datagram" else int(fields[3], 16) & _ACCEPTS:
            yield fields[7], int(fields[6])


def _address_behind_wall(
    caller: Caller, reach: Reach, bounds: Bounds, own_pids: Callable[[], Iterable[int]]
) -> Verdict:
    if reach.kind == "tcp":
        doors = [each for each in bounds.doors if not each.startswith("unix:")]
        if any(is_at(each, reach.to) for each in doors):
            return "own"
        if reach.to.text in bounds.addresses:
            return "own" if any(_answering(caller, reach)) else "refused"
        ports = {each.rpartition(":")[2] for each in (*bounds.addresses, *doors)}
        # Rules are of ports, and of connect(2) alone: data may go with the first packet.
        is_kept = landlock_rules.keeps_tcp() and reach.is_connect
        if is_kept and str(reach.to.port) not in ports:
            return "refused"
    inodes = set(_answering(caller, reach))
    return "own" if inodes and _held(own_pids()).intersection(inodes) else "reached"


def _answering(caller: Caller, reach: Reach) -> Iterator[int]:
    """Yield the numbers of the sockets that answer at an address."""
    for table in _PRIVATE_TABLES.get(reach.kind, ()):
        for line in caller.table(table):
            fields = line.split()
            is_open = reach.kind == "udp" or fields[3] == _LISTENS
            if is_open and is_at(address_text(fields[1]), reach.to):
                yield int(fields[9])


def _unix_sockets(caller: Caller, kind: str) -> Iterator[tuple[str, int]]:
    return unix_sockets(caller.table("unix"), kind)


def _is_listed(caller: Caller, path: str, file: tuple[int, int], kind: str) -> bool:
    """Whether somebody of this network listens at a socket's file."""
    for name, _ in _unix_sockets(caller, kind):
        if name.startswith("@"):
            continue
        # It is listed as it was bound: relative to a folder that nobody knows.
        is_named = not name.startswith("/") and path.endswith(f"/{name.removeprefix('./')}")
        if is_named or caller.file_of(caller.absolute(name)) == file:
            return True
    return False


def _is_door(caller: Caller, path: str, bounds: Bounds) -> bool:
    doors = [each.removeprefix("unix:") for each in bounds.doors if each.startswith("unix:")]
    if path in doors:
        return True
    file = caller.file_of(path)
    return file is not None and any(caller.file_of(each) == file for each in doors)


def _held(pids: Iterable[int]) -> set[int]:
    return {inode for pid in pids for inode in socket_inodes(pid) or ()}


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == each or path.startswith(f"{each.rstrip('/')}/") for each in folders)
