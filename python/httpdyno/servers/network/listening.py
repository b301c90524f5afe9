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

from httpdyno.host.runnable import user_name
from httpdyno.servers.network.address import place_of, unix_address

PROC = Path("/proc")
_TCP_LISTEN = "0A"
_ACCEPTS = 0x10000
"""Flag of a unix socket that listens (`__SO_ACCEPTCON`)."""
_SOCKET = "socket:["
_EPOLL = "anon_inode:[eventpoll]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Listening:
    """One socket that a process holds."""

    pid: int
    address: str
    """`0.0.0.0:80`, `[::]:443`, `unix:/path`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListeningSocket:
    """One socket that takes connections."""

    inode: int
    host: str
    """Address, or a unix socket's path; abstract ones begin with `@`."""
    port: int
    """0 for a unix socket."""
    user_id: int | None = None
    """Whose it is; not known of unix sockets."""

    @property
    def user(self) -> str:
        """The name of that user; empty where it is not known."""
        return "" if self.user_id is None else user_name(self.user_id)

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


def listening(pids: Iterable[int], *, with_unix: bool = False) -> list[Listening]:
    """Return where these processes listen; those that cannot be looked at are left out.

    Each is looked at in its own network namespace. Unix sockets are told where they are asked for.
    """
    found: list[Listening] = []
    for pid in pids:
        if held := socket_inodes(pid):
            net = PROC / str(pid) / "net"
            sockets = (*_tcp(net), *(_unix(net) if with_unix else ()))
            table = {each.inode: each.address for each in sockets}
            found += [
                Listening(pid=pid, address=table[inode]) for inode in sorted(held & table.keys())
            ]
    return found


def accepting(pid: int) -> bool:
    """Whether a process waits for connections: one of its epolls watches a socket that listens.

    To hold such a socket is not enough, because processes inherit it long before they are ready.
    """
    sockets = listening_sockets(PROC / str(pid) / "net")
    table = {each.inode for each in sockets}
    watched: set[int] = set()
    held: dict[int, int] = {}
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError, ValueError):
                target = os.readlink(entry.path)  # noqa: PTH115 - hundreds of them
                if target == _EPOLL:
                    watched |= set(_watched(f"/proc/{pid}/fdinfo/{entry.name}"))
                elif target.startswith(_SOCKET):
                    held[int(entry.name)] = int(target.removeprefix(_SOCKET).rstrip("]"))
    return any(held.get(handle) in table for handle in watched)


def _watched(info: str) -> Iterator[int]:
    """Yield the descriptors that an epoll watches."""
    for line in Path(info).read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "tfd":
            yield int(value.split()[0])


def listening_sockets(net: Path = PROC / "net") -> tuple[ListeningSocket, ...]:
    """Return the sockets of one network namespace that take connections, TCP first."""
    return (*_tcp(net), *_unix(net))


def _tcp(net: Path) -> Iterator[ListeningSocket]:
    for name in ("tcp", "tcp6"):
        yield from tcp_sockets(_listening_lines(net / name))


def _unix(net: Path) -> Iterator[ListeningSocket]:
    return unix_sockets(_lines(net / "unix"))


def tcp_sockets(lines: Iterable[str]) -> Iterator[ListeningSocket]:
    """Yield those of /proc/net/tcp or tcp6 that listen."""
    for line in lines:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _TCP_LISTEN:  # noqa: PLR2004 - up to the inode
            host, _, port = fields[1].partition(":")
            yield ListeningSocket(
                inode=int(fields[9]),
                host=_host(host),
                port=int(port, 16),
                user_id=int(fields[7]),
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
            if link.startswith(_SOCKET):
                inodes.add(int(link[len(_SOCKET) : -1]))
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


def address_text(hexadecimal: str) -> str:
    """Return an address of the kernel's table as people write it.

    `0100007F:1F90` is `127.0.0.1:8080`: words of four bytes in the machine's order.
    """
    packed, _, port = hexadecimal.partition(":")
    host = _host(packed)
    # A peer that is none has port 0.
    return f"{f'[{host}]' if ':' in host else host}:{int(port, 16)}"


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
