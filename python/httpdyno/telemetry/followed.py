"""Servers that somebody else measures now, looked at so cheaply that it changes little.

How many processes a server has and what CPU time they used is read, as a window's edges read it.
Their memory is not: the kernel holds up a process whose page tables it walks, and that one is being
timed. Whoever measures reads it when windows are over, and stores it.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from httpdyno.host.procfs import stat_of
from httpdyno.model import RootProcess
from httpdyno.telemetry.account import account_found

Roots = tuple[RootProcess, ...]
"""What names a server: no other one began as the same processes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSeen:
    """A server at one moment."""

    roots: tuple[tuple[int, str], ...]
    """The pid and the name of each process that it began as and that is there."""
    n_processes: int
    cpu_ratio: float | None = None
    """CPU seconds per second since the look before; None at the first."""
    misses_children: bool = False
    """Whether children that nobody waits for are not in that."""


class Follower:
    """Looks at servers again and again; they come and go. Not for several threads at once."""

    def __init__(self) -> None:
        self._eyes: dict[Roots, _Eyes] = {}

    def look(self, servers: Iterable[Roots]) -> Mapping[Roots, ServerSeen]:
        """Return those that are there and can be seen from here."""
        self._eyes = {roots: self._eyes.get(roots) or _Eyes(roots) for roots in servers if roots}
        seen = {roots: eyes.look() for roots, eyes in self._eyes.items()}
        return {roots: each for roots, each in seen.items() if each is not None}


class _Eyes:
    """On one server."""

    def __init__(self, roots: Sequence[RootProcess]) -> None:
        self._roots = tuple(roots)
        self._account = account_found([each.pid for each in roots])
        self._misses_children = self._account.misses_children()
        self._before: tuple[float, float] | None = None

    def look(self) -> ServerSeen | None:
        """Return it now; None where none of its roots is there."""
        names = ((each, _name(each)) for each in self._roots)
        there = tuple((each.pid, name) for each, name in names if name)
        if not there:
            return None
        at_s, usage = time.monotonic(), self._account.read()
        before, self._before = self._before, (at_s, usage.cpu_s)
        ratio = None
        if before is not None and at_s > before[0]:
            # Reaped time is cut to ticks, so a reading may be a little less than the one before.
            ratio = max(0.0, usage.cpu_s - before[1]) / (at_s - before[0])
        return ServerSeen(
            roots=there,
            n_processes=usage.n_processes,
            cpu_ratio=ratio,
            misses_children=self._misses_children,
        )


def _name(process: RootProcess) -> str:
    """Return what a process is called; empty where it has ended, and another may have its pid."""
    now = stat_of(process.pid)
    return now.name if now is not None and now.started_ticks == process.start_ticks else ""
