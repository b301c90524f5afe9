"""Where a server listens, as text: `ip:port`, or `unix:/path` for a unix socket.

The load engine reads the same two forms.
"""

import socket

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
        connection.connect(address.removeprefix(_UNIX))
    except BaseException:
        connection.close()
        raise
    return connection


def host_header(address: str) -> str:
    """Return what a request to it names as its host."""
    return "localhost" if address.startswith(_UNIX) else address
