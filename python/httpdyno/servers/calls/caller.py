"""The process that a call is of: its memory, its sockets, and files as it sees them."""

import ctypes
import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress

from httpdyno.servers.calls.address import Target, target

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
