"""What of a trace is not a request's: its connection, and the time zone's file. Pure.

A connection costs calls whatever is asked over it: it is accepted, set up, waited for at its end
and closed. With keep-alive many requests share that, without it each has it; so it is counted
apart. `/etc/localtime` is looked at when a new second has begun: requests that are asked one a time
see it more often than those under load.
"""

from collections.abc import Iterable
from typing import Literal

from httpdyno.telemetry.census.call import Call
from httpdyno.telemetry.census.kind import kind_of

Part = Literal["request", "connection", "zone"]
_ZONE = "/etc/localtime"
_OF_CONNECTIONS = frozenset(
    {"close", "shutdown", "fcntl", "ioctl", "setsockopt", "getsockopt", "getsockname"}
    | {"getpeername", "epoll_ctl"}
)


class Frame:
    """Tells calls of a trace apart, in the order in which they ended."""

    def __init__(self) -> None:
        self.n_accepted = 0
        """Connections, without those of unix sockets."""
        self._listeners: set[str] = set()
        self._connections: set[str] = set()
        self._shut: set[str] = set()
        self._zone: set[str] = set()

    def learn(self, calls: Iterable[Call]) -> None:
        """Take note of the sockets that somebody listens at, before calls are told apart."""
        self._listeners |= {each.file for each in calls if kind_of(each) == "accept"}

    def part(self, call: Call) -> Part:
        """Return what a call belongs to."""
        if call.path == _ZONE:
            self._zone |= {call.made} - {""}
            return "zone"
        if call.file in self._zone:
            return "zone"
        return "connection" if self._is_of_connection(call) else "request"

    def _is_of_connection(self, call: Call) -> bool:
        kind, file = kind_of(call), call.file
        if kind == "accept":
            # Programs of one server speak with each other through unix sockets.
            self.n_accepted += not call.error and "AF_UNIX" not in call.arguments
            self._connections |= {call.made} - {""}
            return True
        if kind == "poll":
            return not (self._listeners | self._shut).isdisjoint(call.files)
        if file not in self._connections:
            return False
        if call.name == "shutdown":
            self._shut.add(file)
        # At its end nothing is read.
        is_end = kind == "read" and call.result == 0
        return call.name in _OF_CONNECTIONS or is_end or file in self._shut
