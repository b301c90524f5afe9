r"""The seam between windows and what is read of a server and its host while they are loaded.

A collector reads counters of one kind at both edges of a window, when no request is in flight: what
happened in between, happened for the window's requests, all of them and no others. A further kind
is a class of its own and a line in `server_collectors`; `tests.conformance.collector` has what all
of them must do. What works or asks the server while it is loaded is none: it would be measured too.

A server that httpdyno started is in a control group of its own where the kernel has those, and then
what waited for memory are its own tasks. Elsewhere it is told of the group that it is in, or of the
machine, and then only other windows can say whose fault it is. Pages that came back from swap are
those of the whole machine, as no cheap file has them by process; on a machine without swap nobody
asks. An edge takes 4 to 5 µs, 11 µs more where there is swap, and 9 µs for each limit that its
study sets; what limits the machine's other groups, a profile of the loaded server tells:

    python -m timeit -s 'from httpdyno.host.procfs import content' \
        'content(b"/proc/vmstat")'

Source: the kernel's Documentation/accounting/psi.rst; Documentation/admin-guide/cgroup-v2.rst, "CPU
Interface Files" (cpu.stat); Documentation/scheduler/sched-bwc.rst, "Statistics", where version 1
counts nanoseconds.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec import structs

from httpdyno.host.procfs import content
from httpdyno.model import Telemetry
from httpdyno.telemetry.account import Account, Usage
from httpdyno.telemetry.kernel import counters, hits, steal_s
from httpdyno.telemetry.pool import worker_groups, zombies_by_parent


class Collector(Protocol):
    """Counters of one kind for one server. Its windows come one after the other."""

    def open(self) -> None:
        """Take note of the counters as a window opens."""

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Return `seen` with what the counters did since `open`, and nothing else changed.

        A server that is gone is no error: what was known of it stays.

        Args:
            seen: What other collectors told of the same window.
            is_last: Of the server's windows in this start: what is too slow to be read at every
                edge is read now.
        """


_REST_S, _REST_RATIO = 1e-4, 1e-4
"""Who used less than this, and less of a core, did nothing: nginx's cache manager wakes up each ten
seconds all the same. One answer takes more of a worker."""


class AccountCollector:
    """CPU time, processes, faults and memory of a server over its windows."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._opened = Usage(cpu_s=0.0, n_processes=0)
        self._began: dict[int, float] | None = None
        """What each process had used as the first window opened; None before that."""
        self._began_at_s = 0.0

    def open(self) -> None:
        """Take note of the counters as a window opens."""
        if self._began is None:
            self._began, self._began_at_s = self._account.own_cpu_s(), time.monotonic()
        self._opened = self._account.read()

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Add what was used since; after the last window only what is slow to read."""
        now = self._account.read()
        idle = self._idle() if is_last else frozenset()
        memory = self._account.memory() if is_last else None
        return structs.replace(
            seen,
            # Reaped time is cut to ticks, so a reading may be a little less than the one before.
            cpu_s=max(0.0, now.cpu_s - self._opened.cpu_s),
            n_processes=now.n_processes,
            # Those of a process that no other one of the server reaped are gone with it.
            major_faults=max(0, now.major_faults - self._opened.major_faults),
            pss_bytes=memory.pss_bytes if memory else None,
            swapped_bytes=memory.swapped_bytes if memory else None,
            uss_bytes=memory.uss_bytes if memory else None,
            workers=worker_groups(memory.processes, idle, pss_bytes=memory.pss_bytes)
            if memory
            else (),
            zombies=zombies_by_parent(memory.processes) if memory else {},
            misses_cpu=is_last and self._account.misses_children(),
        )

    def _idle(self) -> frozenset[int]:
        """Return the processes that used no CPU since the first window opened."""
        most_s = max(_REST_S, _REST_RATIO * (time.monotonic() - self._began_at_s))
        began, self._began = self._began or {}, None
        return frozenset(
            pid
            for pid, used_s in self._account.own_cpu_s().items()
            # Of one that was born since it is all that it used.
            if used_s - began.get(pid, 0.0) < most_s
        )


class HostCollector:
    """What the machine's host took from it."""

    def __init__(self) -> None:
        self._opened_s = 0.0

    def open(self) -> None:
        """Take note of the stolen time as a window opens."""
        self._opened_s = steal_s()

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Add what was stolen since."""
        del is_last
        return structs.replace(seen, steal_s=max(0.0, steal_s() - self._opened_s))


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


_MACHINE = b"/proc/pressure/memory"
_SWAP_INS = b"\npswpin "


class ShortageCollector:
    """Time in which the server waited for memory, and what came back from swap meanwhile."""

    def __init__(self, groups: Iterable[Path]) -> None:
        """Find out what can be read.

        Args:
            groups: The control groups that the server is in; none: the machine is asked.
        """
        self._files = pressure_files(groups)
        self._has_swap = has_swap(content(b"/proc/swaps"))
        self._opened_s = [0.0] * len(self._files)
        self._opened_pages = 0

    def open(self) -> None:
        """Take note of both as a window opens."""
        self._opened_s = [waited_s(content(file)) or 0.0 for file in self._files]
        self._opened_pages = self._pages()

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Add what there was since."""
        del is_last
        now = [waited_s(content(file)) for file in self._files]
        since = [s - was for s, was in zip(now, self._opened_s, strict=True) if s is not None]
        return structs.replace(
            seen,
            # Of several groups they may be the same moments, so they are not added up.
            memory_wait_s=max(0.0, *since) if since else None,
            swap_ins=max(0, self._pages() - self._opened_pages),
        )

    def _pages(self) -> int:
        return swapped_in(content(b"/proc/vmstat")) if self._has_swap else 0


def pressure_files(groups: Iterable[Path]) -> tuple[bytes, ...]:
    """Return the files that tell how long the tasks of these groups waited for memory.

    The machine's where one tells nothing, and none where that is not told either.
    """
    files = [os.fsencode(group / "memory.pressure") for group in groups] or [_MACHINE]
    told = (file if waited_s(content(file)) is not None else _MACHINE for file in files)
    return tuple(file for file in dict.fromkeys(told) if waited_s(content(file)) is not None)


def waited_s(text: bytes) -> float | None:
    """Return for how long at least one task waited so far; None where that is not told.

    Args:
        text: Of a file such as /proc/pressure/memory: `some avg10=… total=1234`, in µs.
    """
    some, _, _ = text.partition(b"\n")
    _, found, total = some.partition(b" total=")
    return int(total) / 1e6 if found and some.startswith(b"some ") else None


def swapped_in(vmstat: bytes) -> int:
    """Return the pages that were read back from swap so far; 0 where that is not told."""
    _, found, rest = vmstat.partition(_SWAP_INS)
    return int(rest.partition(b"\n")[0]) if found else 0


def has_swap(swaps: bytes) -> bool:
    """Tell whether there is any swap, by /proc/swaps: a line each, below a line of names."""
    return swaps.count(b"\n") > 1


class LookupCollector:
    """By what the resolver counts."""

    def __init__(self, n_lookups: Callable[[], int | None]) -> None:
        """Take what says how many questions there were so far, None where that is not known."""
        self._n_lookups = n_lookups
        self._before: int | None = None

    def open(self) -> None:
        """Take note of the count as a window opens."""
        self._before = self._n_lookups()

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Return `seen` with the questions since `open`."""
        del is_last
        now = self._n_lookups()
        if now is None or self._before is None:
            return seen
        return structs.replace(seen, lookups=now - self._before)


def server_collectors(
    account: Account,
    limits: Iterable[Groups] = (),
    n_lookups: Callable[[], int | None] | None = None,
) -> tuple[Collector, ...]:
    """Return the collectors of a server, new ones for each start.

    Args:
        account: Of the server's processes, for these collectors alone.
        limits: The control groups that limit it.
        n_lookups: Says how many questions its resolver of names was asked so far, where it has one
            of its own.
    """
    limited = tuple(limits)
    of_limits = (LimitCollector(limited),) if limited else ()
    names = () if n_lookups is None else (LookupCollector(n_lookups),)
    shortage = ShortageCollector(account.groups())
    # The account comes last: memory is slow to read, and what happens meanwhile is no window's.
    return (HostCollector(), *of_limits, shortage, *names, AccountCollector(account))


class WindowTelemetry:
    """Takes the engine's edges; give `on_edge` to `start_load`."""

    def __init__(
        self, collectors: Sequence[Sequence[Collector]], window_arms: Sequence[int]
    ) -> None:
        """Watch some servers.

        Args:
            collectors: Of each arm's server; (n_arms, n_collectors).
            window_arms: The arm that each window loads; (n_windows,).
        """
        self._collectors = collectors
        self._window_arms = window_arms
        self._last = {arm: window for window, arm in enumerate(window_arms)}
        self._seen: dict[int, Telemetry] = {}

    def on_edge(self, window: int, is_opening: bool) -> None:
        """Read the counters of the window's server."""
        arm = self._window_arms[window]
        if is_opening:
            for collector in self._collectors[arm]:
                collector.open()
            return
        seen = Telemetry(cpu_s=0.0)
        for collector in self._collectors[arm]:
            seen = collector.close(seen, is_last=self._last[arm] == window)
        self._seen[window] = seen

    def of(self, window: int) -> Telemetry:
        """Return what was seen over a window that has ended."""
        return self._seen[window]
