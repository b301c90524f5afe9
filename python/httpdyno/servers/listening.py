"""Where processes listen for connections, as the kernel lists it."""

import os
import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LISTEN = "0A"
_TABLES = ("tcp", "tcp6")
_ACCEPTS = 0x10000
"""Flag of a unix socket that listens (`__SO_ACCEPTCON`)."""
_OF_UNIX = 7
_SOCKET = "socket:["
_EPOLL = "anon_inode:[eventpoll]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Listening:
    """One socket that a process holds."""

    pid: int
    address: str
    """`0.0.0.0:80`, `[::]:443`, `unix:/path`."""


def listening(pids: Iterable[int], *, with_unix: bool = False) -> list[Listening]:
    """Return where these processes listen; those that cannot be looked at are left out.

    Each is looked at in its own network namespace. Unix sockets are told where they are asked for.
    """
    found: list[Listening] = []
    for pid in pids:
        held = set(socket_inodes(pid))
        if held:
            table = dict(_listeners(pid)) | (dict(_unix_listeners(pid)) if with_unix else {})
            found += [
                Listening(pid=pid, address=table[inode]) for inode in sorted(held & table.keys())
            ]
    return found


def accepting(pid: int) -> bool:
    """Whether a process waits for connections: one of its epolls watches a socket that listens.

    To hold such a socket is not enough, because processes inherit it long before they are ready.
    """
    table = dict(_listeners(pid)) | dict(_unix_listeners(pid))
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


def socket_inodes(pid: int) -> Iterator[int]:
    """Yield the inodes of the sockets that a process holds."""
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError, ValueError):
                target = os.readlink(entry.path)  # noqa: PTH115 - hundreds of them
                if target.startswith(_SOCKET):
                    yield int(target.removeprefix(_SOCKET).rstrip("]"))


def _listeners(pid: int) -> Iterator[tuple[int, str]]:
    """Yield inode and address of each listening socket of a process's network namespace."""
    for name in _TABLES:
        with suppress(OSError):
            text = Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii")
            for line in text.splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    yield int(fields[9]), address_text(fields[1])


def _unix_listeners(pid: int) -> Iterator[tuple[int, str]]:
    """Yield inode and address of each listening unix socket that has a name."""
    with suppress(OSError):
        text = Path(f"/proc/{pid}/net/unix").read_text(encoding="utf-8", errors="surrogateescape")
        for line in text.splitlines()[1:]:
            fields = line.split(maxsplit=_OF_UNIX)
            if len(fields) > _OF_UNIX and int(fields[3], 16) & _ACCEPTS:
                yield int(fields[6]), f"unix:{fields[_OF_UNIX]}"


def address_text(hexadecimal: str) -> str:
    """Return an address of the kernel's table as people write it.

    `0100007F:1F90` is `127.0.0.1:8080`: words of four bytes in the machine's order.
    """
    host, _, port = hexadecimal.partition(":")
    words = [int(host[at : at + 8], 16) for at in range(0, len(host), 8)]
    raw = struct.pack(f"={len(words)}I", *words)
    if len(words) == 1:
        return f"{socket.inet_ntop(socket.AF_INET, raw)}:{int(port, 16)}"
    return f"[{socket.inet_ntop(socket.AF_INET6, raw)}]:{int(port, 16)}"
