"""What the whole machine counts while a server is looked at."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from httpdyno.telemetry.look.allowance import limit_hits
from httpdyno.telemetry.surroundings import HostMemory, host_memory, listen_overflows
from httpdyno.telemetry.ticks import cpu_ticks, forks


class Machine:
    """Counters of the machine at one moment."""

    def __init__(self, roots: Sequence[int], networks: Iterable[str]) -> None:
        self.at_s = time.monotonic()
        self.ticks = cpu_ticks()
        self._forks = forks()
        self.memory = host_memory()
        self._hits = limit_hits(roots)
        self._overflows = listen_overflows(networks)

    def overflows_since(self, before: "Machine") -> int | None:
        """Return the growth in all network namespaces; None where nothing is told."""
        return _growth(before._overflows, self._overflows, sum)

    def forks_since(self, before: "Machine") -> int | None:
        """Return how many were begun; None where it is not told."""
        if self._forks is None or before._forks is None:
            return None
        return self._forks - before._forks

    def hits_since(self, before: "Machine") -> int | None:
        """Return the growth of the group that has most; None where nothing is told."""
        return _growth(before._hits, self._hits, max)


def _growth(
    before: Mapping[str, int], after: Mapping[str, int], together: Callable[[list[int]], int]
) -> int | None:
    grown = [max(0, now - before[name]) for name, now in after.items() if name in before]
    return together(grown) if grown else None


def pressed(before: HostMemory, after: HostMemory, seconds: float) -> dict[str, float]:
    """Return the part of the time in which some task waited, by resource."""
    return {
        name: min(1.0, max(0.0, now.some_s - before.pressure[name].some_s) / seconds)
        for name, now in after.pressure.items()
        if name in before.pressure and seconds > 0
    }
