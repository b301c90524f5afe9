"""What a server's hard limits did to it in a window: read at its edges, so it must be cheap.

Only those that its study sets are looked at; what limits the machine's other groups, a look at the
loaded server tells (`look/allowance.py`). An edge takes 9 µs for each limit.

Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, "CPU Interface Files" (cpu.stat);
Documentation/scheduler/sched-bwc.rst, "Statistics", where version 1 counts nanoseconds.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec import structs

from httpdyno.host.procfs import content
from httpdyno.model import Telemetry
from httpdyno.telemetry.kernel_text import counters
from httpdyno.telemetry.look.allowance import hits


class Group(Protocol):
    """A control group that limits something."""

    @property
    def folder(self) -> Path:
        """Where it is."""

    @property
    def version(self) -> int:
        """Of control groups: 1 or 2."""


class Groups(Protocol):
    """Those of one server."""

    @property
    def memory(self) -> Group | None:
        """None where there is no limit."""

    @property
    def cpu(self) -> Group | None:
        """Likewise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Throttling:
    """What CPU limits did so far."""

    n_periods: int = 0
    n_throttled: int = 0
    throttled_s: float = 0.0


class LimitCollector:
    """How often a server met its memory limit, and for how long its CPU limit made it wait."""

    def __init__(self, limits: Iterable[Groups]) -> None:
        """Find out what there is.

        Args:
            limits: Of each part of the server that has any.
        """
        of_all = tuple(limits)
        self._memory = [(str(g.folder), g.version) for each in of_all if (g := each.memory)]
        self._cpu = [(str(g.folder), g.version) for each in of_all if (g := each.cpu)]
        self._opened_hits: dict[str, int] = {}
        self._opened = Throttling()

    def open(self) -> None:
        """Take note of the counters as a window opens."""
        self._opened_hits = hits(self._memory)
        self._opened = throttling(self._cpu)

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Add what there was since."""
        del is_last
        now, met = throttling(self._cpu), hits(self._memory)
        since = (n - self._opened_hits.get(folder, n) for folder, n in met.items())
        return structs.replace(
            seen,
            n_at_memory_limit=max(0, sum(since)),
            n_cpu_periods=max(0, now.n_periods - self._opened.n_periods),
            n_throttled=max(0, now.n_throttled - self._opened.n_throttled),
            throttled_s=max(0.0, now.throttled_s - self._opened.throttled_s),
        )


def throttling(groups: Iterable[tuple[str, int]]) -> Throttling:
    """Return what the CPU limits of some groups did so far, of all together.

    Args:
        groups: Their folders, each with its version. One that is gone tells nothing.
    """
    n_periods, n_throttled, throttled_s = 0, 0, 0.0
    for folder, version in groups:
        told = counters(content(os.fsencode(f"{folder}/cpu.stat")).decode())
        n_periods += told.get("nr_periods", 0)
        n_throttled += told.get("nr_throttled", 0)
        name, per_s = ("throttled_usec", 1e6) if version > 1 else ("throttled_time", 1e9)
        throttled_s += told.get(name, 0) / per_s
    return Throttling(n_periods=n_periods, n_throttled=n_throttled, throttled_s=throttled_s)
