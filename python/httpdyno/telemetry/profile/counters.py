"""Counters of a server's processes and threads, balanced over those that come and go.

What a child counted goes over to its parent when it is reaped: page faults, input and output, CPU
time. So the sum over all who are there at the end, less that over all who were there at the
beginning, is what happened in between, dead or not. Only who died without being reaped by one of
these is counted by what was last seen of it. Switches and waiting are of threads, and go over to
nobody: of threads that ended, what was last seen counts. The CPU time of processes that began and
ended within is what parents reaped, less what those of their dead had used that were there from the
beginning.

/proc/PID/io is one more file of each process, so who looks each second reads it as seldom as takes
a small share of a core, and says how long a time its figures are of. What is written is counted
when a page of a file is made dirty, not when it comes to the disk; what is in memory alone (tmpfs,
pages that are cached) is in neither. Calls are those of read(2), write(2) and their like, on
sockets too.

Source: proc_pid_io(5); Linux, kernel/exit.c, `wait_task_zombie`, and fs/proc/base.c,
`do_io_accounting`.
"""

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from httpdyno.host.procfs import ProcessStat, content, context_switches, ignores_children, readable
from httpdyno.reason import Reason, because
from httpdyno.telemetry.processes import TrackedProcess
from httpdyno.telemetry.worker import NOT_TOLD, Sample, Worker, not_visible

_KERNEL_TELLS_WAITING = Path("/proc/self/schedstat").exists()
"""Only with CONFIG_SCHED_INFO."""
_NEARLY_ALL = 0.8
"""Of the times that a process's threads stopped: what helps an event loop stops less often."""
Identity = tuple[int, int]
"""A pid, and when it started."""


class Transfers(NamedTuple):
    """Of /proc/PID/io, with those of reaped children."""

    read_calls: int = 0
    write_calls: int = 0
    read_bytes: int = 0
    """From disks."""
    written_bytes: int = 0


class ProcessCounters(NamedTuple):
    """One process."""

    parent: int
    own_s: float
    reaped_s: float
    major_faults: int
    """With those of reaped children."""
    transfers: Transfers | None
    """None where they may not be read."""
    is_careless: bool
    """It ignores its children, so that nothing of them goes over to it."""


class ThreadCounters(NamedTuple):
    """One thread."""

    ran_s: float = 0.0
    waited_s: float = 0.0
    """Ready to run and without a CPU."""
    voluntary: int = 0
    involuntary: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Balance:
    """What happened in between."""

    wait_s: float
    voluntary: int
    involuntary: int
    major_faults: int
    transfers: Transfers | None
    spawn_cpu_s: float | None
    worked: frozenset[tuple[int, int]]
    """Processes and threads that had a CPU."""
    alone: frozenset[tuple[int, int]]
    """Of these, who did nearly all of what its process did, by how often it stopped."""
    own_s: Mapping[int, float]
    """CPU time by process, in ticks."""


class Counters:
    """Takes the counters of those who are there, now and then."""

    def __init__(self) -> None:
        self.first: dict[Identity, ProcessCounters] = {}
        self.last: dict[Identity, ProcessCounters] = {}
        self.present: set[Identity] = set()
        self.hidden: dict[str, Reason] = {}
        """By its code."""
        if not _KERNEL_TELLS_WAITING:
            self._hide(because("telemetry.cpu_wait", why=NOT_TOLD))
        self._first_threads: dict[tuple[int, int, int], ThreadCounters] = {}
        self._last_threads: dict[tuple[int, int, int], ThreadCounters] = {}

    def read(self, members: Iterable[TrackedProcess]) -> bool:
        """Take the counters now; return whether all members were still there.

        If not, one may have gone over to its parent after that one was read, so read again.

        Args:
            members: Parents before their children.
        """
        self.present, is_whole = set(), True
        for member in members:
            status = content(b"/proc/%d/status" % member.pid)
            if not status:
                is_whole = False
                continue
            account = self._account(member, status)
            self.present.add(member.identity)
            self.last[member.identity] = account
            for thread in member.threads:
                counted = _thread_account(member, thread, status)
                if counted is not None:
                    self._last_threads[(*member.identity, thread)] = counted
        return is_whole

    def begin(self) -> None:
        """Make what was read last the beginning."""
        self.first = {identity: self.last[identity] for identity in self.present}
        self._first_threads = dict(self._last_threads)

    def balance(self, dead: Mapping[Identity, ProcessStat]) -> Balance:
        """Return what happened from the first reading to the last.

        Args:
            dead: How those that died were seen last.
        """
        threads = {
            key: _less(now, self._first_threads.get(key, ThreadCounters()))
            for key, now in self._last_threads.items()
        }
        first, last = self.first, settled(self.last, self.present)
        return Balance(
            wait_s=sum(each.waited_s for each in threads.values()),
            voluntary=sum(each.voluntary for each in threads.values()),
            involuntary=sum(each.involuntary for each in threads.values()),
            major_faults=max(
                0,
                sum(each.major_faults for each in last.values())
                - sum(each.major_faults for each in first.values()),
            ),
            transfers=moved(first, last),
            spawn_cpu_s=spawn_cpu_s(first, self.last, self.present, dead),
            worked=frozenset(
                (pid, thread)
                for (pid, _, thread), each in threads.items()
                if each.ran_s or each.voluntary
            ),
            alone=frozenset(_alone(threads)),
            own_s={
                identity[0]: each.own_s - (first[identity].own_s if identity in first else 0.0)
                for identity, each in self.last.items()
            },
        )

    def _hide(self, what: Reason) -> None:
        self.hidden[what.code] = what

    def _account(self, member: TrackedProcess, status: bytes) -> ProcessCounters:
        try:
            transfers: Transfers | None = transferred(readable(b"/proc/%d/io" % member.pid))
        except PermissionError:
            self._hide(because("telemetry.io", why=not_visible()))
            transfers = None
        except OSError:  # it ended, or this kernel does not count
            transfers = None
        now = member.stat
        return ProcessCounters(
            parent=now.parent,
            own_s=now.user_s + now.system_s,
            reaped_s=now.reaped_s,
            major_faults=now.major_faults + now.reaped_major_faults,
            transfers=transfers,
            is_careless=ignores_children(status),
        )


def _alone(threads: Mapping[tuple[int, int, int], ThreadCounters]) -> Iterator[tuple[int, int]]:
    total: Counter[Identity] = Counter()
    for (pid, start, _), each in threads.items():
        total[pid, start] += each.voluntary
    for (pid, start, thread), each in threads.items():
        if each.voluntary and each.voluntary >= _NEARLY_ALL * total[pid, start]:
            yield pid, thread


def settled(
    accounts: Mapping[Identity, ProcessCounters], present: Iterable[Identity]
) -> dict[Identity, ProcessCounters]:
    """Leave out the accounts of those whose counters went over to a parent that is present."""
    takers = {identity[0] for identity in present if not accounts[identity].is_careless}
    return {
        identity: each
        for identity, each in accounts.items()
        if identity in present or not _is_taken(each, accounts, takers)
    }


def spawn_cpu_s(
    first: Mapping[Identity, ProcessCounters],
    last: Mapping[Identity, ProcessCounters],
    present: Iterable[Identity],
    dead: Mapping[Identity, ProcessStat],
) -> float | None:
    """Return the CPU time of processes that began and ended within; None where it is not told."""
    present = frozenset(present)
    if not present or any(each.is_careless for each in last.values()):
        return None
    used_s = 0.0
    for identity, each in settled(last, present).items():
        began = first.get(identity)
        used_s += each.reaped_s - (began.reaped_s if began else 0.0)
    takers = {identity[0] for identity in present}
    for identity, began in first.items():
        if identity not in present and _is_taken(last[identity], last, takers):
            end = dead.get(identity)
            own_s = end.user_s + end.system_s if end else last[identity].own_s
            used_s -= max(own_s, last[identity].own_s) + began.reaped_s
    return max(0.0, used_s)


def _is_taken(
    account: ProcessCounters, accounts: Mapping[Identity, ProcessCounters], takers: Iterable[int]
) -> bool:
    """Return whether a dead process's counters went over to one of these, perhaps by others."""
    parents = {identity[0]: each for identity, each in accounts.items()}
    met: set[int] = set()
    parent = account.parent
    while parent not in met:
        if parent in takers:
            return True
        met.add(parent)
        above = parents.get(parent)
        if above is None or above.is_careless:
            return False
        parent = above.parent
    return False


def transferred(text: bytes) -> Transfers | None:
    """Return what a process's /proc/PID/io says; None where that is nothing."""
    told = dict(line.split(b": ") for line in text.splitlines())
    if b"syscr" not in told:
        return None
    return Transfers(
        read_calls=int(told[b"syscr"]),
        write_calls=int(told[b"syscw"]),
        read_bytes=int(told[b"read_bytes"]),
        written_bytes=int(told[b"write_bytes"]),
    )


def moved(
    first: Mapping[Identity, ProcessCounters], last: Mapping[Identity, ProcessCounters]
) -> Transfers | None:
    """Return what was moved between two accounts; None where the last tells nothing."""
    ends = [each.transfers for each in last.values() if each.transfers]
    if not ends:
        return None
    begins = [each.transfers for each in first.values() if each.transfers]
    sums = zip(map(sum, zip(*ends, strict=True)), _sums(begins), strict=True)
    return Transfers(*(max(0, end - begin) for end, begin in sums))


def _sums(each: list[Transfers]) -> list[int]:
    return [sum(column) for column in zip(*each, strict=True)] or [0] * len(Transfers())


def _thread_account(member: TrackedProcess, thread: int, status: bytes) -> ThreadCounters | None:
    folder = b"/proc/%d/task/%d" % (member.pid, thread)
    scheduled = content(folder + b"/schedstat").split()
    is_all = member.threads == (member.pid,)
    switches = context_switches(status if is_all else content(folder + b"/status"))
    if switches is None:
        return None
    ran_ns, waited_ns = map(int, scheduled[:2]) if scheduled else (0, 0)
    return ThreadCounters(ran_ns / 1e9, waited_ns / 1e9, *switches)


def _less(now: ThreadCounters, before: ThreadCounters) -> ThreadCounters:
    return ThreadCounters(
        ran_s=now.ran_s - before.ran_s,
        waited_s=now.waited_s - before.waited_s,
        voluntary=now.voluntary - before.voluntary,
        involuntary=now.involuntary - before.involuntary,
    )


EACH_SECOND_RATIO = 0.001
"""CPU seconds per second of who reads it for long."""
_ATTEMPTS = 3
"""For processes that end while they are read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Disk:
    """Reads and writes of all processes, between two readings."""

    at_s: float
    """Of the last one, by the monotonic clock."""
    seconds: float
    """Between both; 0 at the first."""
    moved: Transfers | None
    """None at the first, and where none of them may be seen."""
    hidden: Reason | None = None
    """Why some or all of them may not be seen; None where all may."""


class DiskTransfers:
    """Of one server, read again and again. Not for several threads at once."""

    def __init__(self, *, most_ratio: float = math.inf) -> None:
        """Read nothing yet.

        Args:
            most_ratio: CPU seconds per second that reading is to take.
        """
        self._most_ratio = most_ratio
        self._due_s = -math.inf
        self._last: Disk | None = None
        self._accounts: dict[Identity, ProcessCounters] = {}

    def look(self, sample: Sample) -> Disk | None:
        """Return what was read last, which is now where that is due; None of no process.

        Args:
            sample: Its processes, as they were a moment ago.
        """
        at_s = time.monotonic()
        if at_s < self._due_s or not sample.workers:
            return self._last
        began_s = time.thread_time()
        now, is_hidden = _accounts(sample)
        transfers = None
        if self._last is not None and any(each.transfers for each in now.values()):
            # Of those that ended and that nobody took over, what was seen last still counts.
            transfers = moved(self._accounts, settled({**self._accounts, **now}, now))
        self._last = Disk(
            at_s=at_s,
            seconds=0.0 if self._last is None else at_s - self._last.at_s,
            moved=transfers,
            hidden=because("telemetry.disk", why=not_visible()) if is_hidden else None,
        )
        self._accounts = now
        self._due_s = at_s + (time.thread_time() - began_s) / self._most_ratio
        return self._last


def _accounts(sample: Sample) -> tuple[dict[Identity, ProcessCounters], bool]:
    """Return what each has moved so far, and whether some may not be seen."""
    left = list(sample.workers)
    for _ in range(_ATTEMPTS):
        found: dict[Identity, ProcessCounters] = {}
        is_hidden = False
        for each in left:
            try:
                transfers = transferred(readable(b"/proc/%d/io" % each.pid))
            except PermissionError:
                transfers, is_hidden = None, True
            except OSError:  # it ended, or this kernel does not count
                continue
            found[each.identity] = _account(each, transfers)
        if len(found) == len(left):
            break
        # Who ended may have gone over to its parent after that one was read.
        left = [each for each in left if each.identity in found]
    return found, is_hidden


def _account(worker: Worker, transfers: Transfers | None) -> ProcessCounters:
    return ProcessCounters(
        parent=worker.parent,
        own_s=worker.cpu_s,
        reaped_s=worker.reaped_s,
        major_faults=0,
        transfers=transfers,
        # What goes over to one that may not be seen is seen no more.
        is_careless=worker.ignores_children or transfers is None,
    )
