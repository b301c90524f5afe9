"""Who listens where, by /proc/net and the files that processes hold; nothing is connected to.

A process in a container has network tables of its own: those below its own /proc folder.
"""

import ipaddress
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from httpdyno.servers.address import place_of, unix_address
from httpdyno.servers.source.process import PROC, user_name

_TCP_LISTEN = "0A"
_ACCEPTS = 0x10000
"""__SO_ACCEPTCON of a unix socket's flags."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListeningSocket:
    """One socket that takes connections."""

    inode: int
    host: str
    """Address, or a unix socket's path; abstract ones begin with `@`."""
    port: int
    """0 for a unix socket."""
    user: str = ""
    """Whose it is; not known of unix sockets."""

    @property
    def address(self) -> str:
        """`0.0.0.0:80`, `[::]:443` or `unix:/path`."""
        if not self.port:
            return f"unix:{self.host}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def answers_at(self, host: str, port: int) -> bool:
        """Whether it is what answers there; an empty host is any."""
        if port != self.port:
            return False
        if not port:
            return place_of(self.address) == place_of(unix_address(host))
        if host == "localhost":
            return _is_local(self.host)
        is_covered = _is_any(self.host) and (":" not in host or ":" in self.host)
        return host in {"", self.host} or is_covered


def listening_sockets(net: Path = PROC / "net") -> tuple[ListeningSocket, ...]:
    """Return the sockets of one network namespace that take connections, TCP first."""
    found: list[ListeningSocket] = []
    for name in ("tcp", "tcp6"):
        found += tcp_sockets(_listening_lines(net / name))
    return (*found, *unix_sockets(_lines(net / "unix")))


def tcp_sockets(lines: Iterable[str]) -> Iterator[ListeningSocket]:
    """Yield those of /proc/net/tcp or tcp6 that listen."""
    for line in lines:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _TCP_LISTEN:  # noqa: PLR2004 - up to the inode
            address, port = fields[1].split(":")
            yield ListeningSocket(
                inode=int(fields[9]),
                host=_host(address),
                port=int(port, 16),
                user=user_name(int(fields[7])),
            )


def unix_sockets(lines: Iterable[str]) -> Iterator[ListeningSocket]:
    """Yield those of /proc/net/unix that take connections and have a name."""
    for line in lines:
        fields = line.rstrip("\n").split(None, 7)
        if len(fields) == 8 and int(fields[3], 16) & _ACCEPTS:  # noqa: PLR2004 - with a name
            yield ListeningSocket(inode=int(fields[6]), host=fields[7], port=0)


def socket_inodes(pid: int, proc: Path = PROC) -> frozenset[int] | None:
    """Return the sockets that a process holds; None where this user may not know."""
    folder = f"{proc}/{pid}/fd"
    inodes: set[int] = set()
    try:
        names = os.listdir(folder)  # noqa: PTH208 - hot
    except OSError:
        return None
    for name in names:
        with suppress(OSError):
            link = os.readlink(f"{folder}/{name}")  # noqa: PTH115 - hot
            if link.startswith("socket:["):
                inodes.add(int(link[8:-1]))
    return frozenset(inodes)


def network_of(pid: int | str, proc: Path = PROC) -> str:
    """Return what names its network namespace; empty where this user may not know."""
    try:
        return os.readlink(f"{proc}/{pid}/ns/net")  # noqa: PTH115 - hot
    except OSError:
        return ""


def _listening_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a table up to the first socket that does not listen.

    The kernel tells those that listen first (`tcp_seq_start`, net/ipv4/tcp_ipv4.c), and there may
    be a hundred thousand others: reading them all took half a second at 65,000.
    """
    try:
        with path.open("rb") as table:
            next(table, b"")
            for line in map(bytes.decode, table):
                if line.split(None, 4)[3:4] != [_TCP_LISTEN]:
                    return
                yield line
    except OSError:  # a kernel without IPv6, or a process that is gone
        return


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode(errors="surrogateescape")
    except OSError:  # a kernel without IPv6, or a process that is gone
        return []
    return text.splitlines()[1:]


def _host(hexadecimal: str) -> str:
    # Words of 32 bits, each in the byte order of the machine.
    words = [int(hexadecimal[k : k + 8], 16) for k in range(0, len(hexadecimal), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, packed)


def _is_any(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_unspecified
    return False


def _is_local(host: str) -> bool:
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        return address.is_unspecified or address.is_loopback
    return False
