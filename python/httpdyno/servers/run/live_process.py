"""Finding and ending the processes of a server whose keeper is gone.

A server is the leader of its own session, so `session id = its pid` finds all of its processes
also after it died. Two nets more for those that left the session (setsid): descent from a member,
and a mark in the environment that every descendant inherits. Where a process runs, and which files
it has open, says nothing: it may be anybody's who looks at them. Process ids are reused, so nothing
is ever signalled by number alone: a start time (clock ticks since boot) goes with it.
"""

import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from httpdyno.host.process_identity import sees_own_processes
from httpdyno.host.procfs import ProcessStat, children_among, children_now, stat_of, walk

MARK = "HTTPDYNO_INSTANCE"
"""Environment variable with a path in the instance's folder, different for each session, and the
run's key."""

_TERM_S = 0.5
_KILL_S = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """What a server's environment is marked with, and so that of all that comes from it.

    The path alone could be put by anybody into an environment that he gives to a program of another
    user; the key is in the run's record, and in the environments of its servers.
    """

    path: str
    """Below it are all that it stands for."""
    key: str

    @property
    def text(self) -> str:
        """What the variable holds."""
        return f"{self.path}:{self.key}"

    def is_on(self, pid: int) -> bool:
        """Return whether a process bears it, or one below its path."""
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:  # another user's, or gone meanwhile
            return False
        if not self.key:
            return False
        borne = (each for each in environment if each.startswith(f"{MARK}=".encode()))
        value = os.fsdecode(next(borne, b"")).removeprefix(f"{MARK}=")
        path, _, key = value.rpartition(":")
        return key == self.key and f"{path}/".startswith(f"{self.path}/")


def process_info(pid: int) -> ProcessStat | None:
    """Return what /proc says of a process; None if it is gone, or only a zombie of it is left."""
    seen = stat_of(pid)
    return None if seen is None or seen.has_ended else seen


def is_live(process: ProcessStat) -> bool:
    """Return whether it is still there, and its pid not another's meanwhile."""
    now = process_info(process.pid)
    return now is not None and now.started_ticks == process.started_ticks


def live_processes() -> list[ProcessStat]:
    """Return all live processes of this machine that can be seen.

    None where `/proc` shows another pid namespace's numbers, which name other processes here.
    """
    if not sees_own_processes():
        return []
    names = os.listdir("/proc")  # noqa: PTH208 - half the time of iterdir, and called in loops
    found = (process_info(int(name)) for name in names if name.isdigit())
    return [info for info in found if info is not None]


def session_members(leader: int, started_ticks: int) -> list[ProcessStat]:
    """Return the live processes of a session, and their descendants that left it.

    Args:
        leader: The pid that the session was opened by.
        started_ticks: When that process started.
    """
    return members_of([(leader, started_ticks)])


def members_of(sessions: Iterable[tuple[int, int]], mark: Mark | None = None) -> list[ProcessStat]:
    """Return the live processes of sessions, (leader, its start) each, and their descendants.

    Args:
        sessions: Those that were opened.
        mark: What a member must bear whose session's leader is gone. Once all of ours have ended
            the number may be reused by another leader, who may have ended as well.
    """
    processes = live_processes()
    starts = {p.pid: p.started_ticks for p in processes}
    # As long as the session has members the kernel does not give its number to a new process;
    # so a leader that started at another time means that ours is gone and the number is reused.
    ours = {
        leader: started_ticks
        for leader, started_ticks in sessions
        if starts.get(leader, started_ticks) == started_ticks
    }
    members = [
        p.pid
        for p in processes
        if p.session in ours
        and p.started_ticks >= ours[p.session]
        and (mark is None or p.session in starts or mark.is_on(p.pid))
    ]
    by_pid = {p.pid: p for p in processes}
    below = children_among({p.pid: p.parent for p in processes})
    return [by_pid[pid] for pid in walk(members, below)]


def child_pids(pid: int) -> list[int]:
    """Return the children of a process, zombies included; empty when it is gone."""
    return children_now()(pid)


def children_of(pids: Iterable[int]) -> frozenset[int]:
    """Return the children of some processes, zombies included."""
    children_of = children_now()
    return frozenset(child for pid in pids for child in children_of(pid))


def marked_processes(mark: Mark) -> list[ProcessStat]:
    """Return the live processes of marked sessions: those whose leader bears the mark, or is gone.

    Whoever took over a server's environment in a shell bears the mark, but in a session of the
    shell's. Without those on a terminal, which none of ours has: that is a person's, too.
    """
    processes = {process.pid: process for process in live_processes()}
    marked = {process.pid: process for process in processes.values() if mark.is_on(process.pid)}
    return [
        process
        for process in marked.values()
        if not process.terminal
        # 0 is one that was opened outside of this pid namespace.
        and (process.session in marked or process.session not in {0, *processes})
    ]


def send(processes: Iterable[ProcessStat], number: int) -> None:
    """Signal each of them that is still the same process."""
    for process in processes:
        try:
            handle = os.pidfd_open(process.pid)
        except OSError:
            continue
        try:
            if is_live(process):
                signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)


def end_all(members: Callable[[], list[ProcessStat]]) -> list[ProcessStat]:
    """End all of them, TERM first and then KILL, each bounded; return what is left."""
    seen: dict[int, ProcessStat] = {}

    def remaining() -> list[ProcessStat]:
        # One that is ending has lost the environment by which it was found before it has let go of
        # what it listens on.
        found = members()
        seen.update((each.pid, each) for each in found)
        pids = {each.pid for each in found}
        return found + [each for each in seen.values() if each.pid not in pids and is_live(each)]

    left = remaining()
    for number, patience_s in ((signal.SIGTERM, _TERM_S), (signal.SIGKILL, _KILL_S)):
        deadline_s = time.monotonic() + patience_s
        send(left, number)
        while left and time.monotonic() < deadline_s:
            await_end(left, deadline_s - time.monotonic())
            left = remaining()
            if number == signal.SIGKILL:
                send(left, number)  # those forked since
    return left


def await_end(processes: Iterable[ProcessStat], timeout_s: float) -> None:
    """Wait until all of them have ended, or the time is up."""
    deadline_s = time.monotonic() + timeout_s
    for process in processes:
        try:
            handle = os.pidfd_open(process.pid)
        except OSError:
            continue
        try:
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            if is_live(process):
                poller.poll(max(0.0, deadline_s - time.monotonic()) * 1e3)
        finally:
            os.close(handle)
