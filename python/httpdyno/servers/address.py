"""Where a server listens, as text: `ip:port`, or `unix:/path` for a unix socket.

The load engine reads the same two forms.
"""

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from httpdyno.host.foreign_files import held
from httpdyno.servers.network import within

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
