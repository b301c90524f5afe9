"""What a call asks for, as its process has it in memory: whom to reach, which files to change."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from httpdyno.servers.calls.address import DNS, Target, asked_name
from httpdyno.servers.calls.caller import PAYLOAD_BYTES, Caller
from httpdyno.servers.calls.listener import Call

_KINDS = {
    (socket.SOCK_STREAM, 6): "tcp",
    (socket.SOCK_STREAM, 132): "sctp",
    (socket.SOCK_STREAM, 262): "mptcp",
    (socket.SOCK_DGRAM, 17): "udp",
    (socket.SOCK_DGRAM, 1): "icmp",
    (socket.SOCK_DGRAM, 58): "icmp",
}
"""Of internet sockets by type and protocol."""
_INTERNET = (socket.AF_INET, socket.AF_INET6)
_OPENS = {"open": (None, 0, 1), "openat": (0, 1, 2), "openat2": (0, 1, 2), "creat": (None, 0, None)}
"""Which argument is the folder that a path is relative to, which the path, which the flags."""
_CREATES = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_MAKES = {
    "mkdir": (None, 0),
    "mkdirat": (0, 1),
    "mknod": (None, 0),
    "mknodat": (0, 1),
    "symlink": (None, 1),
    "symlinkat": (1, 2),
    "link": (None, 1),
    "linkat": (2, 3),
}
_CHANGES = {
    "truncate": ((None, 0),),
    "rmdir": ((None, 0),),
    "unlink": ((None, 0),),
    "unlinkat": ((0, 1),),
    "rename": ((None, 0), (None, 1)),
    "renameat": ((0, 1), (2, 3)),
    "renameat2": ((0, 1), (2, 3)),
}
_HERE = -100 & 0xFFFF_FFFF


class Reach(NamedTuple):
    """Somebody that is to be reached."""

    kind: str
    """`tcp`, `udp`, … of an address; `stream` or `datagram` of a unix socket."""
    to: Target
    name: str
    """What a name server is asked for; else empty."""
    is_connect: bool
    handle: int


class Write(NamedTuple):
    """A file that is to be changed."""

    path: str
    """From the process's root; links in it stay."""
    must: str
    """For the call to change anything: `new`, `there`, or `any`."""
    is_followed: bool
    """Whether it is what a link leads to."""


def reaches(caller: Caller, call: Call, name: str) -> Iterator[Reach]:
    """Yield whom a call would reach; nobody where it names none and no name server is asked."""
    handle, *arguments = call.arguments
    if name == "connect":
        to = caller.address(arguments[0], arguments[1])
        # Nothing is sent by connecting a datagram socket: resolvers do it only to see the way.
        if to and ((kind := _kind(caller, handle, to)) != "udp" or to.port == DNS):
            yield Reach(kind or ("udp" if to.port == DNS else "tcp"), to, "", True, handle)
        return
    for to, content in _messages(caller, call, name):
        # Who is connected by a stream was named as he connected.
        if found := to or _peer(caller, handle):
            kind = _kind(caller, handle, found) or "udp"
            asked = asked_name(content) if found.port == DNS else ""
            yield Reach(kind, found, asked, False, handle)


def _messages(caller: Caller, call: Call, name: str) -> Iterator[tuple[Target | None, bytes]]:
    _, first, second, _, address, n_address = call.arguments
    if name == "sendto":
        content = caller.read(first, min(second, PAYLOAD_BYTES))
        yield caller.address(address, n_address), content
    elif name == "sendmsg":
        if found := caller.message(first):
            yield found.to, found.content
    else:
        yield from ((each.to, each.content) for each in caller.messages(first, second))


def _kind(caller: Caller, handle: int, to: Target) -> str:
    """Return what kind of socket it is; empty where this cannot be known."""
    found = caller.socket(handle)
    if found is None:
        return "stream" if to.family == "unix" else ""
    with closing(found):
        if to.family == "unix":
            return "datagram" if found.type == socket.SOCK_DGRAM else "stream"
        kind = socket.SocketKind(found.type)
        return _KINDS.get((kind, found.proto), kind.name.removeprefix("SOCK_").lower())


def _peer(caller: Caller, handle: int) -> Target | None:
    """Return whom a socket for datagrams to internet addresses is connected to."""
    found = caller.socket(handle)
    if found is None:
        return None
    with closing(found):
        if found.type != socket.SOCK_DGRAM or found.family not in _INTERNET:
            return None
        try:
            host, port, *_ = found.getpeername()
        except OSError:
            return None
        return Target("ip", host.removeprefix("::ffff:") if "." in host else host, port)


def writes(caller: Caller, call: Call, name: str) -> Iterator[Write]:
    """Yield the files that a call would change."""
    if name == "bind":
        to = caller.address(call.arguments[1], call.arguments[2])
        if to and to.family == "unix" and not to.host.startswith("@"):
            yield Write(caller.absolute(to.host), "new", False)
    elif name in _OPENS:
        folder, path, at = _OPENS[name]
        flags = _CREATES if at is None else call.arguments[at]
        if name == "openat2":
            (flags,) = struct.unpack("=Q", caller.read(flags, 8).ljust(8, b"\0"))
        if flags & _TO_WRITE and not flags & os.O_PATH:
            must = "any" if flags & os.O_CREAT else "there"
            if flags & os.O_EXCL and flags & os.O_CREAT:
                must = "new"
            yield from _named(caller, call, folder, path, must, is_followed=must != "new")
    elif name in _MAKES:
        yield from _named(caller, call, *_MAKES[name], "new")
    else:
        for n, (folder, path) in enumerate(_CHANGES[name]):
            is_followed = name == "truncate"
            must = "any" if n else "there"
            yield from _named(caller, call, folder, path, must, is_followed=is_followed)


def _named(  # noqa: PLR0913 - a call, where in it, and what for
    caller: Caller,
    call: Call,
    folder: int | None,
    path: int,
    must: str,
    *,
    is_followed: bool = False,
) -> Iterator[Write]:
    found = caller.path(call.arguments[path])
    base = _HERE if folder is None else call.arguments[folder]
    if found:
        yield Write(caller.absolute(found, base), must, is_followed)
