"""Where a server listens, as text: `ip:port`, or `unix:/path` for a unix socket.

The load engine reads the same two forms.
"""

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from httpdyno.foreign_path import held
from httpdyno.servers.network import within

SOCKET_PATH_BYTES = 107
"""Of a unix socket's path at most, without the byte that ends it (unix(7))."""
_UNIX = "unix:"


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


@contextmanager
def _socket_at(path: str) -> Iterator[str]:
    """Give a path that leads to the socket at another one.

    In another process's mounts the kernel would follow a whole link from our own root, to a socket
    that is none of that process's.
    """
    if not path.startswith("/proc/"):
        yield path
        return
    with held(path) as found:
        if not stat.S_ISSOCK(found.info().st_mode):
            raise OSError(errno.ENOTSOCK, os.strerror(errno.ENOTSOCK), path)
        yield f"/proc/self/fd/{found.handle}"


def host_header(address: str) -> str:
    """Return what a request to it names as its host."""
    return "localhost" if address.startswith(_UNIX) else address
