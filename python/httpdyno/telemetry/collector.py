"""The seam between windows and what is read of a server and its host while they are loaded.

A collector reads counters of one kind at both edges of a window, when no request is in flight: what
happened in between, happened for the window's requests, all of them and no others. A further kind
is a class of its own and a line in `server_collectors`; `tests.conformance.collector` has what all
of them must do. What works or asks the server while it is loaded is none: it would be measured too.
"""

import time
from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec import structs

from httpdyno.model import Telemetry
from httpdyno.telemetry.account import Account
from httpdyno.telemetry.ticks import steal_s
from httpdyno.telemetry.limit import Groups, LimitCollector
from httpdyno.telemetry.lookups import LookupCollector
from httpdyno.telemetry.process_tree import Usage
from httpdyno.telemetry.worker_group import worker_groups, zombies_by_parent
from httpdyno.telemetry.shortage import ShortageCollector

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
