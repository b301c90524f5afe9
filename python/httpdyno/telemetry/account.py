"""CPU time and memory of a server: of its own control group, or else of its process trees.

**A control group** is where the kernel keeps the account: `cpu.stat` counts all that ever ran in
the group, whoever waited for it and whatever became of its parent. It is there without any
controller. A thread's time comes to it when the thread leaves its core, and at each tick while it
stays there; so what sleeps or is gone is in it to the microsecond, and of each core that the server
is at work on just then up to one tick (4 ms at 250 Hz) comes with the next reading, which does not
add up. A window's edges are where nothing is in flight. What a server itself moves into another
group is not in it, and what others do for it, such as a database, is in neither account. Without a
controller no file of a group has memory or faults: those are its members', a file for each (5.5 µs:
`faults_of` on one process, by `python -m timeit`).

**A process tree** costs some files for each process. What a process used itself comes from its
POSIX CPU clock: nanoseconds, up to the moment, all of its threads, those that ended too, and of a
zombie still what it used in all. What its reaped children used comes from `cutime + cstime` in
/proc/PID/stat. A child that is reaped between two readings moves from the one to the other.

So that it is neither lost nor counted twice, a reading goes in this order: the list of a process's
children, then its reaped time, and at the very end all clocks. A child missing from the list had
been reaped before, so the reaped time that is read next has it. One that was not being reaped when
its own entry was read, after its parent's, and whose clock can be read at the end, is in no reaped
time. One that is gone at either point was reaped in between, and then everything is read again.

What remains: the kernel prints reaped time in ticks, user and system cut apart, so a sum is up to
two ticks (20 ms) too low for each process that reaps children; that does not add up over
readings. Where children are reaped faster than the tree can be read, a reading may lack what some
of them used; the next has it. A process whose parent died first becomes the child of the tree's
keeper, and stays in the tree; without a keeper it is followed where it was seen before, and what it
used until the last reading before its own end is kept. Children that nobody waits for, because
their parent ignores SIGCHLD, are in no other process's time. That it ignores it can be seen; that
it set SA_NOCLDWAIT instead, which has the same effect, cannot.

Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, "CPU Interface Files" (cpu.stat) and
"Core Interface Files" (cgroup.procs), of version 1 Documentation/admin-guide/cgroup-v1/cgroups.rst,
section 1.2; kernel/cgroup/rstat.c, `__cgroup_account_cputime`; wait(2), "NOTES";
Documentation/scheduler/sched-stats.rst (`/proc/PID/task/TID/schedstat`).
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from httpdyno.host.procfs import (
    ProcessStat,
    content,
    group_folders,
    ignores_children,
    of_process,
    process_clock,
    stat_of,
    thread_ids,
)
from httpdyno.telemetry.file_pages import file_bytes
from httpdyno.telemetry.kernel import counters, text_of
from httpdyno.telemetry.processes import ProcessTable
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


class MemoryTotal(NamedTuple):
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
        self._table = ProcessTable([self._root], is_exact=True)
        self._known: dict[int, ProcessStat] = {}
        """As they were at the last reading."""
        self._used_s: dict[int, float] = {}
        """What each known process and its reaped children had used at the last reading."""
        self._lost_s = 0.0
        """What processes used that nobody of this tree reaped."""

    def read(self) -> Usage:
        """Return the tree's CPU time so far; what it was at last when the root is gone."""
        for attempt in range(_ATTEMPTS):
            looked = self._table.look()
            processes = dict(looked.found)
            own_s = {pid: self._own_cpu_s(pid) for pid in processes}
            vanished = [pid for pid, used_s in own_s.items() if used_s is None]
            is_over = self._root not in processes or attempt == _ATTEMPTS - 1
            if is_over or (looked.is_whole and not vanished):
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
        return frozenset(self._table.look().found) - {self._keeper}

    def memory(self) -> MemoryTotal | None:
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

    def _keep_orphans_time(self, processes: dict[int, ProcessStat]) -> None:
        for pid, before in self._known.items():
            if pid not in processes and pid != self._root and before.parent not in self._known:
                self._lost_s += self._used_s[pid]


def memory_of(pids: Iterable[int]) -> MemoryTotal | None:
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
    return MemoryTotal(
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


_LOOKS = 3
"""For processes that come and go while they are looked for."""


class Account(Protocol):
    """Of one server. Not for several threads at once."""

    def read(self) -> Usage:
        """Return what was used so far; of a server that is gone what it was at last."""

    def memory(self) -> MemoryTotal | None:
        """Return what its processes take together, which is slow; None where nothing is told."""

    def own_cpu_s(self) -> dict[int, float]:
        """Return the CPU seconds of each process that is there, its own alone, by its pid."""

    def misses_children(self) -> bool:
        """Whether some of its processes ignore how children end, whose time is in no reading."""

    def groups(self) -> tuple[Path, ...]:
        """Return the control groups that it is in: its own, or those that it shares."""


class StartedServer(Protocol):
    """A server that was started here: what of an adapter's `Running` an account is opened by."""

    @property
    def root_pids(self) -> tuple[int, ...]:
        """The processes whose trees are the server."""

    @property
    def keeper_pids(self) -> tuple[int, ...]:
        """The keeper of each; empty where they have none."""

    @property
    def groups(self) -> tuple[Path, ...]:
        """The control groups that hold the server and nothing else; empty where there are none."""


def account_of(server: StartedServer) -> Account:
    """Open the account of a server that was started here."""
    # A group without a figure would tell none for the whole server.
    if server.groups and all(group_cpu_s(group) is not None for group in server.groups):
        return GroupAccount(server.groups)
    return TreeAccount(server.root_pids, server.keeper_pids)


def account_found(root_pids: Sequence[int]) -> Account:
    """Open the account of a server that ran here before.

    Args:
        root_pids: The processes whose trees are the server.
    """
    groups = [lone_group(pid) for pid in root_pids]
    own = [group for group in groups if group is not None]
    return GroupAccount(own) if own and len(own) == len(groups) else TreeAccount(root_pids)


class GroupAccount:
    """By the control groups that are the server's own."""

    def __init__(self, groups: Sequence[Path]) -> None:
        self._used_s = {str(group): 0.0 for group in groups}

    def read(self) -> Usage:
        """Return what was used so far; of a group that is gone what it was at last."""
        for group in self._used_s:
            used_s = group_cpu_s(group)
            if used_s is not None:
                self._used_s[group] = used_s
        pids = self._pids()
        return Usage(
            cpu_s=sum(self._used_s.values()),
            n_processes=len(pids),
            major_faults=faults_of(pids),
        )

    def memory(self) -> MemoryTotal | None:
        """Return what all members take; None where it may not be read."""
        return memory_of(self._pids())

    def own_cpu_s(self) -> dict[int, float]:
        """Return the CPU seconds of each member, its own alone."""
        return own_cpu_s_of(self._pids())

    def misses_children(self) -> bool:
        """Say no: a group counts whatever ran in it."""
        return False

    def groups(self) -> tuple[Path, ...]:
        """Return the server's own."""
        return tuple(map(Path, self._used_s))

    def _pids(self) -> list[int]:
        return [pid for group in self._used_s for pid in members(group)]


class TreeAccount:
    """By the trees below its root processes."""

    def __init__(self, root_pids: Sequence[int], keeper_pids: Sequence[int] = ()) -> None:
        self._roots = tuple(root_pids)
        keepers = keeper_pids or [0] * len(root_pids)
        pairs = zip(root_pids, keepers, strict=True)
        self._trees = [ProcessTree(root, keeper_pid=keeper) for root, keeper in pairs]

    def read(self) -> Usage:
        """Return what was used so far, reaped children included."""
        readings = [tree.read() for tree in self._trees]
        return Usage(
            cpu_s=sum(each.cpu_s for each in readings),
            n_processes=sum(each.n_processes for each in readings),
            major_faults=sum(each.major_faults for each in readings),
        )

    def memory(self) -> MemoryTotal | None:
        """Return what all trees take; None where it may not be read."""
        return memory_of(pid for tree in self._trees for pid in tree.pids())

    def own_cpu_s(self) -> dict[int, float]:
        """Return the CPU seconds of each process of all trees, its own alone."""
        return own_cpu_s_of(pid for tree in self._trees for pid in tree.pids())

    def misses_children(self) -> bool:
        """Whether one of its processes ignores SIGCHLD."""
        return any(tree.ignores_children() for tree in self._trees)

    def groups(self) -> tuple[Path, ...]:
        """Return those of its root processes, which others may be in."""
        found = [_group_of(pid) for pid in self._roots]
        return tuple(dict.fromkeys(Path(each) for each in found if each is not None))


def lone_group(root_pid: int) -> Path | None:
    """Return the control group that holds a process's tree and nothing else.

    A unit's of systemd does, but a terminal's, a session's or a container's may hold others. None
    where it holds others, or what left the tree, and where there is none.
    """
    folder = _group_of(root_pid)
    # All groups but the machine's own, which is nobody's, have a type.
    if folder is None or group_cpu_s(folder) is None or not Path(folder, "cgroup.type").exists():
        return None
    tree = ProcessTree(root_pid)
    for _ in range(_LOOKS):
        held = {*members(folder)}
        if root_pid in held and held <= tree.pids():
            return Path(folder)
    return None


def members(group: str) -> Iterator[int]:
    """Yield the processes of a control group and of those in it."""
    for folder, _, _ in os.walk(group):
        for line in content(os.fsencode(folder) + b"/cgroup.procs").split():
            yield int(line)


def group_cpu_s(group: str | Path) -> float | None:
    """Return the CPU time of all that ever ran in a group; None where it is not told."""
    text = content(os.fsencode(group) + b"/cpu.stat").decode()
    used_us = counters(text).get("usage_usec")
    return None if used_us is None else used_us / 1e6


def _group_of(pid: int) -> str | None:
    """Return the control group that a process is in, whoever else is; None where there is none."""
    mounts = text_of("/proc/self/mountinfo")
    # No controller has an empty name: only groups of version 2 are found, the process's own first.
    found = group_folders(mounts, text_of(f"/proc/{pid}/cgroup"), "")
    return next((folder for folder, _ in found), None)


class WholeGroup:
    """A control group, until it is removed: a later one of the same name is another."""

    def __init__(self, folder: Path | None, root_pids: Sequence[int] = ()) -> None:
        """Watch a group.

        Args:
            folder: Where the kernel shows it; None where that is nowhere here, and then only what
                is below the roots is known.
            root_pids: The processes that it began as; none where its members are but one tree's.
        """
        self.folder = folder
        self.root_pids = tuple(root_pids)
        self._inode = _inode(folder) if folder else None

    def pids(self) -> tuple[int, ...]:
        """Return the processes in it and in those below; none where it is gone."""
        return tuple(members(f"{self.folder}")) if self._is_there() else ()

    def cpu_s(self) -> float | None:
        """Return the CPU time of all that ever ran in it; None where it is not told, or gone."""
        return group_cpu_s(f"{self.folder}") if self._is_there() else None

    def _is_there(self) -> bool:
        return self.folder is not None and self._inode == _inode(self.folder) is not None


def whole_group(path: str, root_pids: Sequence[int]) -> WholeGroup:
    """Return the control group of this path.

    Args:
        path: As /proc/PID/cgroup has it, from the root of its hierarchy on.
        root_pids: The processes that it began as, in it or in one below it: the same path may be
            in several hierarchies.
    """
    mounts, groups = text_of("/proc/self/mountinfo"), text_of(f"/proc/{root_pids[0]}/cgroup")
    folders = folders_of_path(path, mounts, groups)
    return WholeGroup(Path(folders[0]) if folders else None, root_pids)


def folders_of_path(path: str, mounts: str, groups: str) -> list[str]:
    """Return where a control group of this path is, that of version 2 first; pure.

    Args:
        path: From the root of its hierarchy on.
        mounts: /proc/self/mountinfo.
        groups: /proc/PID/cgroup of a process in it or below.
    """
    found: list[tuple[int, str]] = []
    for line in groups.splitlines():
        number, controllers, held = (*line.split(":", 2), "", "")[:3]
        if not f"{held}/".startswith(f"{path}/"):
            continue
        own = f"{number}:{controllers}:{path}"
        shown = group_folders(mounts, own, controllers.split(",")[0])
        found += [(-version, folder) for folder, version in [*shown][:1]]
    return [folder for _, folder in sorted(found, key=lambda each: each[0])]


def _inode(folder: Path) -> int | None:
    try:
        return folder.stat().st_ino
    except OSError:
        return None


class ReadyTime:
    """Of one server, from now on; look at it while it runs. Not for several threads at once."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._last: dict[tuple[int, int], tuple[int, int]] = {}
        self.look()
        self._first = dict(self._last)

    def look(self) -> None:
        """Take note of what each thread has by now."""
        for pid in self._account.own_cpu_s():
            for thread in thread_ids(pid):
                told = of_process(pid, b"task/%d/schedstat" % thread).split()
                if told:
                    self._last[pid, thread] = int(told[0]), int(told[1])

    def for_each_run_s(self, cpu_s: float) -> float | None:
        """Return for how long they waited while they ran so long; None where nobody tells.

        Those that came and went between two looks are taken to have waited as the others did.
        """
        self.look()
        began = [self._first.get(thread, (0, 0)) for thread in self._last]
        moved = list(zip(self._last.values(), began, strict=True))
        ran_ns = sum(last[0] - first[0] for last, first in moved)
        waited_ns = sum(last[1] - first[1] for last, first in moved)
        if ran_ns <= 0:
            return None
        return max(0.0, cpu_s) * waited_ns / ran_ns
