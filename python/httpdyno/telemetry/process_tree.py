"""CPU time and memory of a server's whole process tree, cheap enough for every window's edges.

What a process used itself comes from its POSIX CPU clock: nanoseconds, up to the moment, all of
its threads, those that ended too, and of a zombie still what it used in all. What its reaped
children used comes from `cutime + cstime` in /proc/PID/stat. A child that is reaped between two
readings moves from the one to the other.

So that it is neither lost nor counted twice, a reading goes in this order: the list of a process's
children, then its reaped time, and at the very end all clocks. A child missing from the list had
been reaped before, so the reaped time that is read next has it. One that was not being reaped when
its own entry was read, after its parent's, and whose clock can be read at the end, is in no reaped
time. One that is gone at either point was reaped in between, and then everything is read again.

What remains: the kernel prints reaped time in ticks, user and system cut apart, so a sum is up to
two ticks (20 ms) too low for each process that reaps children; that does not add up over
readings. Where children are reaped faster than the tree can be read, a reading may lack what some
of them used; the next has it. A server that ignores SIGCHLD loses its children's time in the
kernel already. A process whose parent died first is still followed, and what it used until the
last reading before its own end is kept.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import structs

from httpdyno.model import Telemetry
from httpdyno.telemetry.proc_file import (
    KERNEL_LISTS_CHILDREN,
    content,
    listed_children,
    scanned_children,
)

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_ATTEMPTS = 5
_CPUCLOCK_SCHED = 2
"""Of <linux/posix-timers.h>: a process clock's id is its inverted pid, three bits up, and this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeReading:
    """A process tree at one moment."""

    cpu_s: float
    """CPU seconds since the tree began, reaped children included."""
    n_processes: int


class _Process(NamedTuple):
    """A process as a reading saw it."""

    pid: int
    parent: int
    is_being_reaped: bool
    """It is listed, but its parent's reaped time may have it already."""
    started_ticks: int
    reaped_ticks: int
    n_threads: int


class ProcessTree:
    """The tree below a root process. Not for several threads at once."""

    def __init__(self, root_pid: int) -> None:
        self._root = root_pid
        self._known: dict[int, _Process] = {}
        self._used_s: dict[int, float] = {}
        """What each known process and its reaped children had used at the last reading."""
        self._lost_s = 0.0
        """What processes used that nobody of this tree reaped."""

    def read(self) -> TreeReading:
        """Return the tree's CPU time so far; what it was at last when the root is gone."""
        for attempt in range(_ATTEMPTS):
            processes, is_whole = self._walk()
            own_s = {pid: _own_cpu_s(pid) for pid in processes}
            vanished = [pid for pid, used_s in own_s.items() if used_s is None]
            is_over = self._root not in processes or attempt == _ATTEMPTS - 1
            if is_over or (is_whole and not vanished):
                break
        for pid in vanished:
            del processes[pid]
        if self._root not in processes:
            return TreeReading(cpu_s=sum(self._used_s.values()) + self._lost_s, n_processes=0)
        self._keep_orphans_time(processes)
        self._known = processes
        self._used_s = {
            pid: (own_s[pid] or 0.0) + process.reaped_ticks / _TICKS_PER_S
            for pid, process in processes.items()
        }
        return TreeReading(
            cpu_s=sum(self._used_s.values()) + self._lost_s, n_processes=len(processes)
        )

    def pss_bytes(self) -> int | None:
        """Return the tree's proportional set size; None where it may not be read.

        Shared pages count in proportion to how many processes share them, so the sum is what the
        tree really occupies. The kernel walks all page tables for it: about a millisecond for
        each process, so not for every window.
        """
        processes, _ = self._walk()
        sizes = [_pss_bytes(pid) for pid in processes]
        known = [size for size in sizes if size is not None]
        return sum(known) if known else None

    def _walk(self) -> tuple[dict[int, _Process], bool]:
        """Return the processes by pid, and whether none was reaped while they were looked for."""
        children_of = self._listed_children if KERNEL_LISTS_CHILDREN else scanned_children(_parent)
        found: dict[int, _Process] = {}
        is_whole = _descend(self._root, found, children_of)
        # Those whose parent died are no longer below the root.
        for pid, before in self._known.items():
            if pid not in found and _has_start(pid, before.started_ticks):
                is_whole &= _descend(pid, found, children_of)
        return found, is_whole

    def _listed_children(self, pid: int) -> list[int]:
        # If it began threads since, what those forked is seen at the next reading.
        known = self._known.get(pid)
        return listed_children(pid, has_one_thread=known is not None and known.n_threads == 1)

    def _keep_orphans_time(self, processes: dict[int, _Process]) -> None:
        for pid, before in self._known.items():
            if pid not in processes and pid != self._root and before.parent not in self._known:
                self._lost_s += self._used_s[pid]


class TreeCollector:
    """CPU time, processes and memory of a server: of all its process trees together."""

    def __init__(self, root_pids: Sequence[int]) -> None:
        self._trees = [ProcessTree(pid) for pid in root_pids]
        self._opened_cpu_s = 0.0

    def open(self) -> None:
        """Take note of the CPU time as a window opens."""
        self._opened_cpu_s = self._read().cpu_s

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Add what was used since; memory after the last window only, since it is slow to read."""
        now = self._read()
        return structs.replace(
            seen,
            # Reaped time is cut to ticks, so a reading may be a little less than the one before.
            cpu_s=max(0.0, now.cpu_s - self._opened_cpu_s),
            n_processes=now.n_processes,
            pss_bytes=self._pss_bytes() if is_last else None,
        )

    def _read(self) -> TreeReading:
        readings = [tree.read() for tree in self._trees]
        return TreeReading(
            cpu_s=sum(each.cpu_s for each in readings),
            n_processes=sum(each.n_processes for each in readings),
        )

    def _pss_bytes(self) -> int | None:
        sizes = [tree.pss_bytes() for tree in self._trees]
        known = [size for size in sizes if size is not None]
        return sum(known) if known else None


def _descend(pid: int, found: dict[int, _Process], children_of: Callable[[int], list[int]]) -> bool:
    """Add the process and those below it; return whether all that were listed were still there."""
    is_whole = True
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        children = children_of(current)
        process = _process(current)
        if process is None or process.is_being_reaped:
            is_whole = False
        else:
            found[current] = process
            waiting += children
    return is_whole


def _process(pid: int) -> _Process | None:
    stat = content(b"/proc/%d/stat" % pid)
    if not stat:
        return None
    # The second field is the name in parentheses, which may itself contain anything.
    fields = stat[stat.rindex(b")") + 2 :].split(None, 20)
    return _Process(
        pid=pid,
        parent=int(fields[1]),
        is_being_reaped=fields[0] == b"X",
        started_ticks=int(fields[19]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        n_threads=int(fields[17]),
    )


def _parent(pid: int) -> int | None:
    process = _process(pid)
    return None if process is None else process.parent


def _has_start(pid: int, started_ticks: int) -> bool:
    process = _process(pid)
    return process is not None and process.started_ticks == started_ticks


def _own_cpu_s(pid: int) -> float | None:
    try:
        return time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED) / 1e9
    except OSError:
        return None


def _pss_bytes(pid: int) -> int | None:
    for line in content(b"/proc/%d/smaps_rollup" % pid).splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return None
