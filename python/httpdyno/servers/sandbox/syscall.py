"""A system call that waits for its listener: whom it would reach, which files it would change.

All is read from its process as long as it waits: memory, sockets, and files as that sees them. For
naming, never for deciding.
"""

import ctypes
import errno
import fcntl
import ipaddress
import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import NamedTuple

_HEAD_BYTES = 2
_IPV4_BYTES, _IPV6_BYTES = 8, 24
_DNS_HEAD_BYTES = 12
_LONGEST_LABEL = 63
DNS = 53


class Target(NamedTuple):
    """Where somebody is to be reached."""

    family: str
    """`ip` or `unix`."""
    host: str
    """An address, or a socket's path; abstract ones begin with `@`, as the kernel lists them."""
    port: int = 0

    @property
    def text(self) -> str:
        """`10.0.0.5:5432`, `[2001:db8::5]:5432`, `unix:/path` or `unix:@name`."""
        if self.family == "unix":
            return f"unix:{self.host}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def target(address: bytes) -> Target | None:
    """Return whom a `sockaddr` names; None for other families, for none and for what is cut off."""
    if len(address) < _HEAD_BYTES:
        return None
    (family,) = struct.unpack_from("=H", address)
    if family == socket.AF_INET and len(address) >= _IPV4_BYTES:
        port, host = struct.unpack_from(">H4s", address, _HEAD_BYTES)
        return Target("ip", socket.inet_ntop(socket.AF_INET, host), port)
    if family == socket.AF_INET6 and len(address) >= _IPV6_BYTES:
        port, _, packed = struct.unpack_from(">HI16s", address, _HEAD_BYTES)
        found = ipaddress.IPv6Address(packed)
        return Target("ip", str(found.ipv4_mapped or found), port)
    if family == socket.AF_UNIX and len(address) > _HEAD_BYTES:
        name = address[_HEAD_BYTES:]
        is_abstract = name[0] == 0
        # A path ends at a NUL, an abstract name does not: there the kernel lists each as `@`.
        name = name.replace(b"\0", b"@") if is_abstract else name.partition(b"\0")[0]
        return Target("unix", name.decode(errors="surrogateescape"))
    return None


def asked_name(query: bytes) -> str:
    """Return the name that a DNS query asks for; empty where it is none."""
    labels: list[str] = []
    at = _DNS_HEAD_BYTES
    while at < len(query) and 0 < query[at] <= _LONGEST_LABEL:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii", "replace"))
        at += 1 + query[at]
    return ".".join(labels)


_RECEIVE, _ANSWER, _IS_THERE = 0xC050_2100, 0xC018_2101, 0x4008_2102
_GO_ON = 1
_ASKED = struct.Struct("=QIIiIQ6Q")
_ANSWERED = struct.Struct("=QqiI")


class Call(NamedTuple):
    """One call that waits."""

    id: int
    """Of this one alone."""
    thread: int
    """The thread that asks."""
    number: int
    arguments: tuple[int, ...]


def received(listener: int) -> Call:
    """Return a call that waits; there is one when the listener can be read.

    Raises:
        OSError: It waits no more: a signal came, or its process has ended.
    """
    content = bytearray(_ASKED.size)
    fcntl.ioctl(listener, _RECEIVE, content)
    number, thread, _, call, _, _, *arguments = _ASKED.unpack(content)
    return Call(number, thread, call, tuple(arguments))


def is_waiting(listener: int, call: Call) -> bool:
    """Whether the call still waits; so what was opened by its thread's number is that thread's."""
    try:
        fcntl.ioctl(listener, _IS_THERE, struct.pack("=Q", call.id))
    except OSError:
        return False
    return True


def go_on(listener: int, call: Call) -> None:
    """Let a call go on as if nobody had listened.

    Raises:
        OSError: It waits no more.
    """
    fcntl.ioctl(listener, _ANSWER, _ANSWERED.pack(call.id, 0, 0, _GO_ON))


def refuse(listener: int, call: Call) -> None:
    """Let a call fail, as one that its process has no right to.

    Raises:
        OSError: It waits no more.
    """
    fcntl.ioctl(listener, _ANSWER, _ANSWERED.pack(call.id, 0, -errno.EPERM, 0))


def close(listener: int) -> None:
    """Listen no more; whoever still waits, or comes later, is told that there is no such call."""
    os.close(listener)


_PIDFD_GETFD, _OPENAT2 = 438, 437
"""The same on all architectures."""
_IN_ROOT = 0x10
_SOCKADDR_BYTES = 128
_PATH_BYTES = 4096
PAYLOAD_BYTES = 512
"""As much is read of what is sent: a question to a name server is no longer."""
_HERE = -100
"""AT_FDCWD."""
_MSGHDR, _IOVEC = struct.Struct("=QI4xQQ"), struct.Struct("=QQ")
_MMSGHDR_BYTES = 64
_MOST_MESSAGES = 1024
_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}

_libc = ctypes.CDLL(None, use_errno=True)


class Message:
    """One of what is sent in a call."""

    def __init__(self, to: Target | None, content: bytes) -> None:
        self.to = to
        """None where only its socket knows."""
        self.content = content
        """The beginning of it."""


class Caller:
    """A thread that waits in a call; what is asked of it is right as long as it waits.

    Raises:
        OSError: This process may not look into it, or it is gone.
    """

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self._memory = os.open(f"/proc/{thread}/mem", os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Look no more."""
        os.close(self._memory)

    def read(self, at: int, n: int) -> bytes:
        """Return bytes of its memory, as many of them as are there."""
        with suppress(OSError, OverflowError):
            return os.pread(self._memory, n, at)
        return b""

    def address(self, at: int, n: int) -> Target | None:
        """Return whom a `sockaddr` of its memory names."""
        return target(self.read(at, min(n & 0xFFFF_FFFF, _SOCKADDR_BYTES))) if at else None

    def path(self, at: int) -> str:
        """Return a path of its memory; empty where there is none."""
        found = b""
        # Not across a page at once: the next may not be there.
        while b"\0" not in found and len(found) < _PATH_BYTES:
            piece = self.read(at + len(found), 4096 - (at + len(found)) % 4096)
            if not piece:
                return ""
            found += piece
        return os.fsdecode(found.partition(b"\0")[0])

    def message(self, at: int) -> Message | None:
        """Return what a `msghdr` of its memory has sent."""
        head = self.read(at, _MSGHDR.size)
        if len(head) < _MSGHDR.size:
            return None
        name, n_name, parts, n_parts = _MSGHDR.unpack(head)
        content = b""
        for n in range(min(n_parts, 16)):
            part = self.read(parts + n * _IOVEC.size, _IOVEC.size)
            if len(part) < _IOVEC.size or len(content) >= PAYLOAD_BYTES:
                break
            start, length = _IOVEC.unpack(part)
            content += self.read(start, min(length, PAYLOAD_BYTES))
        return Message(self.address(name, n_name), content)

    def messages(self, at: int, n: int) -> Iterator[Message]:
        """Yield those of `sendmmsg`."""
        for k in range(min(n & 0xFFFF_FFFF, _MOST_MESSAGES)):
            if found := self.message(at + k * _MMSGHDR_BYTES):
                yield found

    def socket(self, handle: int) -> socket.socket | None:
        """Return a socket of its own, shared; None where it cannot be had.

        Who holds it keeps it open, so it is to be closed at once.
        """
        try:
            process = os.pidfd_open(self._process())
        except (OSError, ValueError):
            return None
        try:
            number = int(_libc.syscall(_PIDFD_GETFD, process, handle & 0xFFFF_FFFF, 0))
            if number < 0:
                return None
            try:
                return socket.socket(fileno=number)
            except OSError:
                os.close(number)
                return None
        finally:
            os.close(process)

    def file_of(self, path: str) -> tuple[int, int] | None:
        """Return device and number of the socket at a path as it sees it; None without one."""
        try:
            root = os.open(f"/proc/{self.thread}/root", os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return None
        how = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC, 0, _IN_ROOT)
        try:
            found = int(_libc.syscall(_OPENAT2, root, os.fsencode(path), how, len(how)))
        finally:
            os.close(root)
        if found < 0:
            return None
        try:
            facts = os.fstat(found)
        finally:
            os.close(found)
        return (facts.st_dev, facts.st_ino) if stat.S_ISSOCK(facts.st_mode) else None

    def absolute(self, path: str, folder: int = _HERE) -> str:
        """Return a path of its as one from its root; links in it stay."""
        if path.startswith("/"):
            return path
        # Arguments of 32 bits come with anything above them.
        number = ctypes.c_int(folder & 0xFFFF_FFFF).value
        base = "cwd" if number == _HERE else f"fd/{number}"
        with suppress(OSError):
            found = os.readlink(f"/proc/{self.thread}/{base}")  # noqa: PTH115
            return os.path.join(found, path) if path else found  # noqa: PTH118
        return path

    def own_file(self, path: str) -> str:
        """Return where a path leads that names its own descriptors; another as it is.

        Empty where that is no file: a pipe, a socket.
        """
        for prefix in ("/proc/self/", "/proc/thread-self/"):
            if path.startswith(prefix):
                path = f"/proc/{self.thread}/{path.removeprefix(prefix)}"
        if path in _STANDARD:
            path = f"/proc/{self.thread}/fd/{_STANDARD[path]}"
        elif path.startswith("/dev/fd/"):
            path = f"/proc/{self.thread}/fd/{path.removeprefix('/dev/fd/')}"
        if path.startswith(f"/proc/{self.thread}/fd/"):
            with suppress(OSError):
                found = os.readlink(path)  # noqa: PTH115
                return found if found.startswith("/") else ""
        return path

    def table(self, name: str) -> list[str]:
        """Return the lines of a table of its network, such as `tcp`."""
        try:
            with open(f"/proc/{self.thread}/net/{name}", "rb") as file:  # noqa: PTH123
                return file.read().decode(errors="surrogateescape").splitlines()[1:]
        except OSError:  # a kernel without IPv6
            return []

    def _process(self) -> int:
        with open(f"/proc/{self.thread}/status", "rb") as file:  # noqa: PTH123
            for line in file:
                if line.startswith(b"Tgid:"):
                    return int(line.split()[1])
        return self.thread


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
_HERE_ARGUMENT = -100 & 0xFFFF_FFFF


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
    base = _HERE_ARGUMENT if folder is None else call.arguments[folder]
    if found:
        yield Write(caller.absolute(found, base), must, is_followed)
