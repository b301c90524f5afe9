"""What a server's processes have used and hold: the account that windows take their figures from.

Where the server has a control group of its own, the kernel keeps it: `cpu.stat` counts all that
ever ran in the group, whoever waited for it and whatever became of its parent. It is there without
any controller. A thread's time comes to it when the thread leaves its core, and at each tick while
it stays there; so what sleeps or is gone is in it to the microsecond, and of each core that the
server is at work on just then up to one tick (4 ms at 250 Hz) comes with the next reading, which
does not add up. A window's edges are where nothing is in flight. What a server itself moves into
another group is not in it, and what others do for it, such as a database, is in neither account.
Without a controller no file of a group has memory or faults: those are its members', a file for
each (5.5 µs: `faults_of` of `process_tree.py` on one process, by `python -m timeit`).

Else its process trees are read (`process_tree.py`), which costs some files for each process. They
have what lost its parent, where a keeper took it over. They do not have children that nobody waits
for because their parent ignores SIGCHLD: their time is in no other process's. That it ignores it
can be seen; that it set SA_NOCLDWAIT instead, which has the same effect, cannot.

Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, "CPU Interface Files" (cpu.stat) and
"Core Interface Files" (cgroup.procs); kernel/cgroup/rstat.c, `__cgroup_account_cputime`; wait(2),
"NOTES".
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from httpdyno.host.group_folder import group_folders
from httpdyno.host.procfs import content
from httpdyno.telemetry.kernel_text import counters
from httpdyno.telemetry.process_tree import (
    Memory,
    ProcessTree,
    Usage,
    faults_of,
    memory_of,
    own_cpu_s_of,
)

_LOOKS = 3
"""For processes that come and go while they are looked for."""


class Account(Protocol):
    """Of one server. Not for several threads at once."""

    def read(self) -> Usage:
        """Return what was used so far; of a server that is gone what it was at last."""

    def memory(self) -> Memory | None:
        """Return what its processes take together, which is slow; None where nothing is told."""

    def own_cpu_s(self) -> dict[int, float]:
        """Return the CPU seconds of each process that is there, its own alone, by its pid."""

    def misses_children(self) -> bool:
        """Whether some of its processes ignore how children end, whose time is in no reading."""

    def groups(self) -> tuple[Path, ...]:
        """Return the control groups that it is in: its own, or those that it shares."""


class Started(Protocol):
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


def account_of(server: Started) -> Account:
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

    def memory(self) -> Memory | None:
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

    def memory(self) -> Memory | None:
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
    mounts = _text("/proc/self/mountinfo")
    # No controller has an empty name: only groups of version 2 are found, the process's own first.
    found = group_folders(mounts, _text(f"/proc/{pid}/cgroup"), "")
    return next((folder for folder, _ in found), None)


def _text(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""
