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
kernel already. A process whose parent died first becomes the child of the tree's keeper, and stays
in the tree. Without a keeper it is followed where it was seen before, and what it used until the
last reading before its own end is kept.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from httpdyno.host.procfs import (
    DEAD,
    ProcessStat,
    children_now,
    ignores_children,
    of_process,
    process_clock,
    stat_of,
    walk,
)
from httpdyno.telemetry.file_pages import file_bytes
from httpdyno.telemetry.worker import Worker, WorkerSampler

_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What a server's processes used so far, and how many they are."""

    cpu_s: float
    """CPU seconds since they began, those of them included that have ended."""
    n_processes: int
    major_faults: int = 0
    """Pages for which a disk had to be read, of those that are there and of children that they
    reaped."""


class Memory(NamedTuple):
    """What processes take together, pages that they share counted once."""

    pss_bytes: int
    """In memory."""
    swapped_bytes: int
    """In swap."""
    uss_bytes: int
    """In memory, pages that only one process has."""
    processes: tuple[Worker, ...] = ()
    """Each of them, and children of theirs that have ended and that nobody has asked how."""


class ProcessTree:
    """The tree below a root process. Not for several threads at once."""

    def __init__(self, root_pid: int, *, keeper_pid: int = 0) -> None:
        """Watch a tree.

        Args:
            root_pid: The process that it began with.
            keeper_pid: The parent of that, which takes over whatever in the tree loses its parent,
                and has nothing else below it; itself is no part of the tree. 0: nobody does.
        """
        self._root = keeper_pid or root_pid
        self._keeper = keeper_pid
        self._known: dict[int, ProcessStat] = {}
        self._used_s: dict[int, float] = {}
        """What each known process and its reaped children had used at the last reading."""
        self._lost_s = 0.0
        """What processes used that nobody of this tree reaped."""

    def read(self) -> Usage:
        """Return the tree's CPU time so far; what it was at last when the root is gone."""
        for attempt in range(_ATTEMPTS):
            processes, is_whole = self._walk()
            own_s = {pid: self._own_cpu_s(pid) for pid in processes}
            vanished = [pid for pid, used_s in own_s.items() if used_s is None]
            is_over = self._root not in processes or attempt == _ATTEMPTS - 1
            if is_over or (is_whole and not vanished):
                break
        for pid in vanished:
            del processes[pid]
        if self._root not in processes:
            return Usage(cpu_s=sum(self._used_s.values()) + self._lost_s, n_processes=0)
        self._keep_orphans_time(processes)
        self._known = processes
        self._used_s = {
            pid: (own_s[pid] or 0.0) + process.reaped_s for pid, process in processes.items()
        }
        return Usage(
            cpu_s=sum(self._used_s.values()) + self._lost_s,
            n_processes=len(processes) - (self._keeper in processes),
            major_faults=sum(
                each.reaped_major_faults + (0 if pid == self._keeper else each.major_faults)
                for pid, each in processes.items()
            ),
        )

    def pids(self) -> frozenset[int]:
        """Return the tree's processes."""
        processes, _ = self._walk()
        return frozenset(processes) - {self._keeper}

    def memory(self) -> Memory | None:
        """Return what the tree takes of memory; None where it may not be read.

        Pages that its processes share count once, whoever else has them too. The kernel walks all
        page tables for it: some milliseconds for each process, so not for every window.
        """
        return memory_of(self.pids())

    def ignores_children(self) -> bool:
        """Whether one of its processes ignores how children end, so that their time is lost."""
        return any(ignores_children(of_process(pid, b"status")) for pid in self.pids())

    def _own_cpu_s(self, pid: int) -> float | None:
        return 0.0 if pid == self._keeper else _own_cpu_s(pid)

    def _walk(self) -> tuple[dict[int, ProcessStat], bool]:
        """Return the processes by pid, and whether none was reaped while they were looked for."""
        children_of = children_now()
        found: dict[int, ProcessStat] = {}

        def below(pid: int) -> list[int]:
            # If it began threads since, what those forked is seen at the next reading.
            known = self._known.get(pid)
            children = children_of(pid, has_one_thread=known is not None and known.n_threads == 1)
            process = stat_of(pid)
            # One that is being reaped is listed, but its parent's reaped time may have it already.
            if process is None or process.state == DEAD:
                return []
            found[pid] = process
            return children

        met = walk(self._tops(found), below)
        return found, len(found) == len(met)

    def _tops(self, found: dict[int, ProcessStat]) -> Iterator[int]:
        """Yield those below which the tree is; what was found by then grows meanwhile."""
        yield self._root
        # Those whose parent died are no longer below the root.
        for pid, before in self._known.items():
            if pid not in found:
                now = stat_of(pid)
                if now is not None and now.started_ticks == before.started_ticks:
                    yield pid

    def _keep_orphans_time(self, processes: dict[int, ProcessStat]) -> None:
        for pid, before in self._known.items():
            if pid not in processes and pid != self._root and before.parent not in self._known:
                self._lost_s += self._used_s[pid]


def memory_of(pids: Iterable[int]) -> Memory | None:
    """Return what some processes take together; None where that may not be read.

    What none of them shares with anybody but each other is the sum of their shares. Of files, which
    other servers may have too, it is the pages that one of them has at least. Of a large pool's
    processes some are looked at for that; what the others have besides is in the sum of shares,
    which is never more than all of it.
    """
    pids = tuple(pids)
    asked = frozenset(pids)
    # Children are looked for, since a control group does not list those that have ended.
    found = WorkerSampler((), others=lambda: pids).read().workers
    processes = tuple(each for each in found if each.pid in asked or each.is_zombie)
    if any(each.lacks_memory for each in processes):
        return None  # without those that may not be looked at, a sum would be too little
    known = [each.memory for each in processes if each.memory is not None]
    if not known:
        return None
    own = [
        each.anonymous_pss_bytes - each.named_pss_bytes
        for each in known
        if each.anonymous_pss_bytes is not None
    ]
    of_files = file_bytes(pids) if len(own) == len(known) else None
    by_shares = sum(each.pss_bytes for each in known)
    return Memory(
        max(by_shares, sum(own) + (of_files or 0)),
        sum(each.swap_bytes for each in known),
        sum(each.uss_bytes for each in known),
        processes,
    )


def own_cpu_s_of(pids: Iterable[int]) -> dict[int, float]:
    """Return the CPU seconds of each of some processes, its own alone, up to the moment."""
    return {pid: used_s for pid in pids if (used_s := _own_cpu_s(pid)) is not None}


def faults_of(pids: Iterable[int]) -> int:
    """Return the major faults of some processes and of children that they reaped."""
    known = [process for pid in pids if (process := stat_of(pid)) is not None]
    return sum(each.major_faults + each.reaped_major_faults for each in known)


def _own_cpu_s(pid: int) -> float | None:
    try:
        return time.clock_gettime_ns(process_clock(pid)) / 1e9
    except OSError:
        return None
