"""What a copy that is measured tried to reach outside of its cell: told after its windows.

By the kernel's counters of the cell's own network, which cost nothing: a connection that nobody
took, a datagram that nobody read. Of unix sockets there are none, so each call that names one waits
until it was noted, as in `attempts.py`; and of the first only it is read whom they name. A member
that reaches others by unix sockets at each request would wait at each, so it is not listened to.
"""

from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from httpdyno.servers.calls.filter import REACH_FILE
from httpdyno.servers.cell.attempts import Attempts, Watched

_TOLD = ("AttemptFails", "NoPorts", "Udp6NoPorts", "ListenOverflows")
_UNTAKEN = "TCP addresses that nobody listens at"
_UNREAD = "UDP addresses that nobody reads at"


class Refusals:
    """Of one cell, from before anything runs in it until all has ended."""

    def __init__(self, seat: Watched) -> None:
        self._attempts = Attempts(seat, kind=REACH_FILE)
        self._counts = Path(seat.network).parent.parent / "net"
        self._before: dict[str, int] = {}
        self._attempts.__enter__()

    def begin(self) -> None:
        """Count from now on: whoever waits for a copy is refused himself until it is up."""
        self._before = self._read()

    def told(self) -> tuple[str, ...]:
        """Return what was tried, such as `unix:/run/redis.sock`; what the kernel counts, as such.

        While the copy runs.
        """
        now = self._read()
        more = {name: n - self._before.get(name, n) for name, n in now.items()}
        found = [*self._attempts.refused()]
        # Where more come than are accepted, it is the load that goes away unanswered.
        if more.get("AttemptFails", 0) > 0 and not more.get("ListenOverflows", 0):
            found.append(_UNTAKEN)
        if more.get("NoPorts", 0) > 0 or more.get("Udp6NoPorts", 0) > 0:
            found.append(_UNREAD)
        return tuple(found)

    def close(self) -> None:
        """Listen no more; what ran in the cell has ended."""
        self._attempts.__exit__(None, None, None)

    def _read(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for table in ("snmp", "snmp6", "netstat"):
            with suppress(OSError):  # a kernel without IPv6, or a cell that is gone
                text = (self._counts / table).read_text(encoding="ascii")
                found |= counters(text)
        return found


def counters(text: str) -> dict[str, int]:
    """Return the counters that are told, of a table as the kernel writes it. Pure."""
    found: dict[str, int] = {}
    lines = text.splitlines()
    for names, values in pairwise(lines):
        head, _, rest = names.partition(":")
        # Of protocols in two lines only those that are meant; of IPv6 a name and a value a line.
        if head in {"Tcp", "Udp", "TcpExt"} and values.startswith(f"{head}:"):
            pairs = zip(rest.split(), values.partition(":")[2].split(), strict=False)
            found |= {name: int(n) for name, n in pairs if name in _TOLD and n.isdecimal()}
    for line in lines:
        name, _, value = line.partition(" ")
        if name in _TOLD:
            found[name] = int(value)
    return found
