"""What all threads of a server are at: looked at in samples, which are added up.

**Whether a lock keeps workers from work.** Servers with several sockets let only one worker at a
time wait for a connection, and the others queue for that right at a lock: these are idle. Such a
lock is known by its holder, who is seen to wait for a connection itself. One who waits for a
backend, a disk, a child or a time has it for its work. A holder that has the CPU says nothing: it
may just have got a connection; nor does one that waits for a client or a lock, which is what it did
after it gave the lock back. Where the holder is not told, exactly one idle sibling is taken for it.
Where the holder says nothing, those say it that wait: who has no client yet waits to get one.

Threads are not looked at all at once, so a holder may be taken for another one now and then: in a
tenth of all samples at least it must be so.

Source: proc_locks(5).
"""

import os
import platform
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from httpdyno.host.procfs import DEAD, content, status_words, thread_state
from httpdyno.model.look import Doing
from httpdyno.reason import Reason, because
from httpdyno.telemetry.processes import (
    BESIDE_A_LOAD,
    KeptFiles,
    ThreadTable,
    TrackedProcess,
    descriptors_to_keep,
)
from httpdyno.telemetry.profile.end import End, Ends
from httpdyno.telemetry.profile.wait import (
    CurrentCall,
    Lock,
    ThreadState,
    by_state,
    call,
    kinds,
    seen,
)
from httpdyno.telemetry.worker import NOT_TOLD, not_visible

FileId = tuple[int, int, int]
"""Major and minor number of its device, and its inode."""


def holders(text: str) -> dict[FileId, int]:
    """Return a process that has a lock on it by file; those that are not told are left out."""
    found: dict[FileId, int] = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 6 or fields[1] == "->":  # noqa: PLR2004 - up to the file
            continue  # that one waits
        major, minor, inode = fields[5].split(":")
        pid = int(fields[4])
        if pid > 0:
            found.setdefault((int(major, 16), int(minor, 16), int(inode)), pid)
    return found


Thread = tuple[int, int]
"""Ids of a process and of one of its threads."""
_LEAST_OPEN_RATIO = 0.1
_AT_WORK: frozenset[Doing] = frozenset({"backend", "disk", "child", "sleep"})
_ASLEEP: frozenset[Doing] = frozenset({"sleep", "child"})
_PASSIVE: frozenset[Doing] = frozenset({"idle", "client_read", "client_write"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessState:
    """A process in one sample."""

    parent: int
    threads: Mapping[int, ThreadState]


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """Mean numbers of workers, of all samples."""

    workers: float
    doing: Mapping[str, float]
    """By `Doing`."""
    backends: Mapping[str, float]
    unclear: float
    """Of the idle: who may have waited for a lock of the program's own making."""


@dataclass(slots=True)
class _Waited:
    """For one lock between processes."""

    by_thread: Counter[Thread] = field(default_factory=Counter)
    n_samples: int = 0
    n_open: int = 0
    """Those in which its holder waited for a connection."""
    n_shut: int = 0
    """Those in which it waited for something else."""
    n_serving: int = 0
    """Those in which one that waited for it had a client."""
    n_free: int = 0
    """Those in which it had none."""

    @property
    def is_right(self) -> bool:
        """Whether it is the right to wait for a connection."""
        if self.n_open >= max(self.n_shut, self.n_samples * _LEAST_OPEN_RATIO, 1):
            return True
        return self.n_shut == 0 and self.n_free > self.n_serving


class StateCounts:
    """Adds samples up."""

    def __init__(self) -> None:
        self.n_samples = 0
        self.served: set[int] = set()
        """Processes that waited for a connection, for a client or for a backend."""
        self._did: dict[int, set[Doing]] = defaultdict(set)
        self._doing: dict[Thread, Counter[Doing]] = defaultdict(Counter)
        self._backends: dict[Thread, Counter[str]] = defaultdict(Counter)
        self._unclear: Counter[Thread] = Counter()
        self._locks: dict[str, _Waited] = defaultdict(_Waited)

    def add(self, sample: Mapping[int, ProcessState]) -> None:
        """Add what was seen at one moment, by process."""
        self.n_samples += 1
        process_of = {thread: pid for pid, each in sample.items() for thread in each.threads}
        waiting: dict[str, tuple[int, Lock]] = {}
        for pid, process in sample.items():
            for thread, at in process.threads.items():
                key = (pid, thread)
                self._did[pid].add(at.doing)
                if at.lock is None:
                    self._add(key, at)
                elif at.lock.scope == "process" and not _is_stray(at.lock, process_of):
                    self._locks[at.lock.key].by_thread[key] += 1
                    waiting.setdefault(at.lock.key, (pid, at.lock))
                else:
                    self._add(key, _within(at, at.lock, thread, process, process_of))
        for name, (pid, lock) in waiting.items():
            waited, is_awaited = self._locks[name], is_open(lock, pid, sample, process_of)
            waited.n_samples += 1
            waited.n_open += is_awaited is True
            waited.n_shut += is_awaited is False
            waited.n_serving += lock.is_serving is True
            waited.n_free += lock.is_serving is False

    def means(self, left_out: Collection[int], worked: Collection[Thread]) -> Means:
        """Return what was seen of workers.

        Args:
            left_out: Processes that are none.
            worked: Threads that had the CPU in between; the others did not wait for a lock.
        """
        doing: Counter[Doing] = Counter()
        backends: Counter[str] = Counter()
        for (pid, _), counts in self._doing.items():
            if pid not in left_out:
                doing.update(counts)
        for (pid, _), addresses in self._backends.items():
            if pid not in left_out:
                backends.update(addresses)
        for waited in self._locks.values():
            n = sum(each for (pid, _), each in waited.by_thread.items() if pid not in left_out)
            doing["idle" if waited.is_right else "lock"] += n
        unclear = sum(
            n for each, n in self._unclear.items() if each[0] not in left_out and each in worked
        )
        n_samples = max(1, self.n_samples)
        return Means(
            workers=doing.total() / n_samples,
            doing={each: n / n_samples for each, n in doing.items() if n},
            backends={each: n / n_samples for each, n in backends.most_common()},
            unclear=unclear / n_samples,
        )

    def asleep(self, threads: Collection[Thread], left_out: Collection[int]) -> float:
        """Return the mean number of some threads that were asleep, waiting for no event.

        Args:
            threads: Which.
            left_out: Processes of which none counts.
        """
        n = sum(
            self._unclear[each] + sum(self._doing[each][doing] for doing in _ASLEEP)
            for each in threads
            if each[0] not in left_out
        )
        return n / max(1, self.n_samples)

    def did_only(self, pid: int, doing: Collection[Doing]) -> bool:
        """Whether a process was seen, and its threads at nothing else than these."""
        return pid in self._did and self._did[pid] <= set(doing)

    def _add(self, thread: Thread, seen: ThreadState) -> None:
        self._doing[thread][seen.doing] += 1
        if seen.backend:
            self._backends[thread][seen.backend] += 1
        if seen.is_unclear:
            self._unclear[thread] += 1
        if seen.is_listening or seen.doing in ("client_read", "client_write", "backend"):
            self.served.add(thread[0])


def is_open(
    lock: Lock, pid: int, sample: Mapping[int, ProcessState], process_of: Mapping[int, int]
) -> bool | None:
    """Return whether who has a lock waits for a connection; None where that cannot be told.

    Args:
        lock: One between processes.
        pid: Of a process that waits for it.
        sample: All processes.
        process_of: By thread.
    """
    if lock.holder is None:
        siblings = _siblings(pid, sample)
        awaiting = [_awaits(each.threads.values()) for each in siblings]
        if awaiting.count(True) == 1:
            return True
        return None if None in awaiting and True not in awaiting else False
    holder = sample.get(process_of.get(lock.holder, 0))
    if holder is None:
        return False
    # A file's lock belongs to a whole process, of which this is the first thread.
    is_thread = lock.key.startswith("futex")
    return _awaits([holder.threads[lock.holder]] if is_thread else holder.threads.values())


def _siblings(pid: int, sample: Mapping[int, ProcessState]) -> Iterator[ProcessState]:
    parent = sample[pid].parent
    return (each for other, each in sample.items() if other != pid and each.parent == parent)


def _awaits(threads: Collection[ThreadState]) -> bool | None:
    """Return whether threads wait for connections and do nothing else; None if it is not sure."""
    doing = {each.doing for each in threads}
    if doing & _AT_WORK:
        return False
    if doing <= _PASSIVE:
        return any(each.doing == "idle" and not each.is_unclear for each in threads) or None
    return None


def _is_stray(lock: Lock, process_of: Mapping[int, int]) -> bool:
    """Return whether what looked like the number of a holder is none: no such thread is known."""
    is_futex = lock.key.startswith("futex")
    return is_futex and lock.holder is not None and lock.holder not in process_of


def _within(
    seen: ThreadState, lock: Lock, thread: int, process: ProcessState, process_of: Mapping[int, int]
) -> ThreadState:
    """Return what a thread is at that waits for what only its own process has."""
    if lock.scope == "interpreter":
        others = (each.doing for other, each in process.threads.items() if other != thread)
        return ThreadState("lock") if "running" in others else seen
    return ThreadState("idle", is_unclear=True) if _is_stray(lock, process_of) else seen


_KERNEL_TELLS_CALLS = Path("/proc/self/syscall").exists()
"""Only with CONFIG_HAVE_ARCH_TRACEHOOK."""
_LOCKS = "/proc/locks"


class ThreadSampler:
    """Looks again and again. Not for several threads at once."""

    def __init__(self, table: ThreadTable, ends: Ends) -> None:
        self._table = table
        self._ends = ends
        self._files = KeptFiles(descriptors_to_keep(BESIDE_A_LOAD))
        self._kind_of = kinds(platform.machine()) if _KERNEL_TELLS_CALLS else {}
        self._refused = False
        self._holders: dict[FileId, int] | None = None
        self._unsure: list[tuple[TrackedProcess, int, CurrentCall]] = []
        self._by_own_number: dict[int, int] = {}
        """Threads in a namespace of processes of their own, by what they are called there."""

    @property
    def hidden(self) -> tuple[Reason, ...]:
        """What was not seen, and why."""
        if not _KERNEL_TELLS_CALLS:
            return (because("telemetry.waits", why=NOT_TOLD),)
        if not self._kind_of:
            unknown = because("telemetry.not_known_here", machine=platform.machine())
            return (because("telemetry.waits", why=unknown),)
        return (because("telemetry.waits", why=not_visible()),) if self._refused else ()

    def sample(self) -> dict[int, ProcessState]:
        """Return what all threads are at, by process."""
        self._table.update()
        self._files.keep_only(self._table.members)
        self._ends.begin()
        self._holders, self._unsure = None, []
        found: dict[int, dict[int, ThreadState]] = {}
        parents: dict[int, int] = {}
        for member in list(self._table.members.values()):
            parents[member.pid] = member.stat.parent
            found[member.pid] = self._process(member)
        self._look_again(found)
        self._ask_who_serves(found)
        return {
            pid: ProcessState(parent=parents[pid], threads=threads)
            for pid, threads in found.items()
            if threads
        }

    def _look_again(self, found: dict[int, dict[int, ThreadState]]) -> None:
        """Look at those again of whom it was not clear what they wait for.

        First at what they were in, since their connections may be known by now. If they are not,
        they are gone, and what waited for them waits no more: so at what they are in now.
        """
        unsure, self._unsure = self._unsure, []
        if self._ends.ask():
            for member, thread, at in unsure:
                found[member.pid][thread] = seen(at, self._eyes(member, thread))
        self._ends.look_anew()
        for member, thread, _ in unsure:
            if found[member.pid][thread].doing == "other":
                now = self._thread(member, thread)
                if now is None:
                    del found[member.pid][thread]
                else:
                    found[member.pid][thread] = now

    def _ask_who_serves(self, found: Mapping[int, dict[int, ThreadState]]) -> None:
        """Find out of one that waits for each lock whether it has a client."""
        asked: set[str] = set()
        for pid, threads in found.items():
            for thread, at in threads.items():
                lock = at.lock
                # Of several threads it could be any that has one.
                if lock and lock.scope == "process" and len(threads) == 1 and lock.key not in asked:
                    asked.add(lock.key)
                    is_serving = self._ends.holds_client(pid)
                    threads[thread] = at._replace(lock=lock._replace(is_serving=is_serving))

    def _process(self, member: TrackedProcess) -> dict[int, ThreadState]:
        if member.is_zombie:
            # Nobody is told when it is reaped.
            self._table.look_at(member.pid)
            return {member.pid: ThreadState("zombie")} if member.pid in self._table.members else {}
        found: dict[int, ThreadState] = {}
        for thread in member.threads:
            at = self._thread(member, thread)
            if at is not None:
                found[thread] = at
        if len(found) < len(member.threads):
            self._table.look_at(member.pid)
        return found

    def _thread(self, member: TrackedProcess, thread: int) -> ThreadState | None:
        """Return what a thread is at; None where it is gone."""
        eyes = self._eyes(member, thread)
        if self._kind_of:
            try:
                text = self._files.readable(member.pid, b"task/%d/syscall" % thread)
            except PermissionError:
                self._refused = True
            except OSError:
                return None
            else:
                in_call = call(text, self._kind_of)
                at = seen(in_call, eyes)
                if at.doing == "other":
                    self._unsure.append((member, thread, in_call))
                return _alive(at, member, thread)
        state = eyes.state()
        return _alive(by_state(state), member, thread) if state != DEAD else None

    def _eyes(self, member: TrackedProcess, thread: int) -> "_ThreadEyes":
        return _ThreadEyes(self, self._ends, member, thread)

    def holder(self, file: FileId) -> int | None:
        """Return who has a lock on a file, as it was when this sample first asked."""
        if self._holders is None:
            self._holders = holders(content(_LOCKS.encode()).decode())
        return self._holders.get(file)

    def thread_numbered(self, member: TrackedProcess, number: int) -> int:
        """Return the thread that a process knows by a number, as a futex has it."""
        if _n_names(member.pid) == 1:
            return number
        if number not in self._by_own_number:
            self._by_own_number = {
                _names(each.pid, thread)[-1]: thread
                for each in self._table.members.values()
                for thread in each.threads
            }
        return self._by_own_number.get(number, number)


def _names(pid: int, thread: int) -> list[int]:
    """Return what a thread is called in each namespace of processes, from here inwards."""
    status = content(b"/proc/%d/task/%d/status" % (pid, thread))
    return [int(name) for name in status_words(status, b"NSpid")] or [thread]


@lru_cache(maxsize=1024)
def _n_names(pid: int) -> int:
    return len(_names(pid, pid))


def _alive(at: ThreadState, member: TrackedProcess, thread: int) -> ThreadState | None:
    """Leave out a first thread that has ended before the others."""
    is_first_of_many = thread == member.pid and len(member.threads) > 1
    return None if at.doing == "zombie" and is_first_of_many else at


class _ThreadEyes:
    """On one thread."""

    __slots__ = ("_ends", "_member", "_sampler", "_thread")

    def __init__(
        self, sampler: ThreadSampler, ends: Ends, member: TrackedProcess, thread: int
    ) -> None:
        self._sampler = sampler
        self._ends = ends
        self._member = member
        self._thread = thread

    @property
    def has_children(self) -> bool:
        return self._member.has_children

    def state(self) -> str:
        return thread_state(self._member.pid, self._thread)

    def end(self, descriptor: int) -> End:
        return self._ends.of(self._member.pid, descriptor)

    def memory(self, address: int, n_bytes: int) -> bytes:
        try:
            handle = os.open(f"/proc/{self._member.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.pread(handle, n_bytes, address)
        except (OSError, OverflowError):
            return b""
        finally:
            os.close(handle)

    def file_lock(self, descriptor: int) -> Lock:
        try:
            status = os.stat(f"/proc/{self._member.pid}/fd/{descriptor}")  # noqa: PTH116 - as it is
        except OSError:
            return Lock(f"file {self._member.pid}:{descriptor}")
        file = (os.major(status.st_dev), os.minor(status.st_dev), status.st_ino)
        return Lock(f"file {file}", holder=self._sampler.holder(file))

    def thread_numbered(self, number: int) -> int:
        return self._sampler.thread_numbered(self._member, number)
