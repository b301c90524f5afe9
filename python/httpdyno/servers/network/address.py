"""Where a server listens, as text: `ip:port` or `unix:/path`; in a network namespace or out of it.

The load engine reads the same two forms.
"""

import ctypes
import errno
import os
import socket
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import held

T = TypeVar("T")

LOOPBACK = "127.0.0.1"
_CLONE_NEWNET = 0x40000000


def within(network: str, act: Callable[[], T]) -> T:
    """Do something in a network namespace, and return what came of it.

    A socket that is made there stays there. That is done on a thread of its own, which ends with
    it: whoever may enter a namespace may not always go back.

    Args:
        network: Its path, such as `/proc/4711/ns/net`; empty is the one that the caller is in.
        act: What is done, on another thread.

    Raises:
        OSError: There is no such namespace, or this process may not enter it.
    """
    if not network:
        return act()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_entered, network, act).result()


def network_of(pid: int) -> str:
    """Return the path of a process's network namespace; empty where it is this process's own."""
    theirs = Path(f"/proc/{pid}/ns/net")
    try:
        is_ours = theirs.readlink() == Path("/proc/self/ns/net").readlink()
    except OSError:
        return ""
    return "" if is_ours else str(theirs)


def _entered(network: str, act: Callable[[], T]) -> T:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(network, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        # `os.setns` came with Python 3.12.
        if libc.setns(descriptor, _CLONE_NEWNET) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), network)
    finally:
        os.close(descriptor)
    return act()


SOCKET_PATH_BYTES = 107
"""Of a unix socket's path at most, without the byte that ends it (unix(7))."""
_UNIX = "unix:"
_HELD = "/proc/self/fd/"
"""A socket that this process holds."""


def unix_address(path: str) -> str:
    """Return the address of a unix socket."""
    return f"{_UNIX}{path}"


def connected(address: str, timeout_s: float, network: str = "") -> socket.socket:
    """Return a new connection.

    Args:
        address: `ip:port` or `unix:/path`.
        timeout_s: Of the connecting, and then of each call on the connection.
        network: Path of the network namespace that the address is in; empty is this thread's.

    Raises:
        OSError: Nobody listens there, or not in time; or the namespace cannot be entered.
    """
    return within(network, lambda: _connected(address, timeout_s))


def _connected(address: str, timeout_s: float) -> socket.socket:
    if not address.startswith(_UNIX):
        host, _, port = address.rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_s)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        connection.settimeout(timeout_s)
        with _socket_at(address.removeprefix(_UNIX)) as path:
            connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


def place_of(address: str) -> str:
    """Return an address as all have it who mean the same: of a unix socket its path without links.

    `/var/run` is a link to `/run` on most systems, and configurations name either.
    """
    path = address.removeprefix(_UNIX)
    is_file = address.startswith(_UNIX) and not path.startswith("@")
    return unix_address(os.path.realpath(path)) if is_file else address


@contextmanager
def _socket_at(path: str) -> Iterator[str]:
    """Give a path that leads to the socket at another one.

    In another process's mounts the kernel would follow a whole link from our own root, to a socket
    that is none of that process's.
    """
    if not path.startswith("/proc/") or path.startswith(_HELD):
        yield path
        return
    with held_socket(path) as handle:
        yield f"{_HELD}{handle}"


@contextmanager
def held_socket(path: str) -> Iterator[int]:
    """Hold the socket at a path, whoever changes that meanwhile.

    Raises:
        OSError: There is none, or a link on the way is not to be followed.
    """
    with held(path) as found:
        if not stat.S_ISSOCK(found.info().st_mode):
            raise OSError(errno.ENOTSOCK, os.strerror(errno.ENOTSOCK), path)
        yield found.handle


def host_header(address: str) -> str:
    """Return what a request to it names as its host."""
    return "localhost" if address.startswith(_UNIX) else address


class HeldPort:
    """A free port of 127.0.0.1, or of another address of the loopback, held until `release`.

    The port is bound here with SO_REUSEADDR and never listened on. Linux lets another socket that
    sets SO_REUSEADDR as well (gunicorn's, Apache's and nearly every server's does) bind the same
    port and listen on it, but gives it to nobody who asks for any free port. So there is no moment
    between choosing a port and the server's listening in which somebody else could take it.
    """

    def __init__(self, host: str = LOOPBACK, network: str = "") -> None:
        """Take one that is free.

        Args:
            host: The address.
            network: Path of the network namespace that it is in; empty is this process's.

        Raises:
            AdapterError: There is none.
        """
        self._host = host
        try:
            self._socket = within(network, lambda: _bound(host))
        except OSError as error:
            raise AdapterError(
                f"no free port on {host}: {error}",
                hint="End what uses them, or widen `net.ipv4.ip_local_port_range`.",
            ) from error
        self.number: int = self._socket.getsockname()[1]

    @property
    def address(self) -> str:
        """`ip:port`."""
        return f"{self._host}:{self.number}"

    def release(self) -> None:
        """Give it back; idempotent."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _bound(host: str) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, 0))
    except BaseException:
        found.close()
        raise
    return found
