"""A free loopback port that stays ours.

The port is bound here with SO_REUSEADDR and never listened on. Linux lets another socket that
sets SO_REUSEADDR as well (gunicorn's, Apache's and nearly every server's does) bind the same port
and listen on it, but gives it to nobody who asks for any free port. So there is no moment between
choosing a port and the server's listening in which somebody else could take it.
"""

import socket
from types import TracebackType
from typing import Self

from httpdyno.errors import AdapterError
from httpdyno.servers.network import within
from httpdyno.servers.render import LOOPBACK


class HeldPort:
    """A port of 127.0.0.1, or of another address of the loopback, held until `release`."""

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
