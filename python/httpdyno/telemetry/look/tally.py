"""What all threads were at over some samples, put together. Pure.

**Whether a lock keeps workers from work.** Servers with several sockets let only one worker at a
time wait for a connection, and the others queue for that right at a lock: these are idle. Such a
lock is known by its holder, who is seen to wait for a connection itself. One who waits for a
backend, a disk, a child or a time has it for its work. A holder that has the CPU says nothing: it
may just have got a connection; nor does one that waits for a client or a lock, which is what it did
after it gave the lock back. Where the holder is not told, exactly one idle sibling is taken for it.

Where the holder says nothing, those say it that wait: who has no client yet waits to get one.

Threads are not looked at all at once, so a holder may be taken for another one now and then: in a
tenth of all samples at least it must be so.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from httpdyno.model.look import Doing
from httpdyno.telemetry.look.wait import Lock, Seen

Thread = tuple[int, int]
"""Ids of a process and of one of its threads."""
_LEAST_OPEN_RATIO = 0.1
_AT_WORK: frozenset[Doing] = frozenset({"backend", "disk", "child", "sleep"})
_ASLEEP: frozenset[Doing] = frozenset({"sleep", "child"})
_PASSIVE: frozenset[Doing] = frozenset({"idle", "client_read", "client_write"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessSeen:
    """A process in one sample."""

    parent: int
    threads: Mapping[int, Seen]


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


class Tally:
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

    def add(self, sample: Mapping[int, ProcessSeen]) -> None:
        """Add what was seen at one moment, by process."""
        self.n_samples += 1
        process_of = {thread: pid for pid, each in sample.items() for thread in each.threads}
        waiting: dict[str, tuple[int, Lock]] = {}
        for pid, process in sample.items():
            for thread, seen in process.threads.items():
                key = (pid, thread)
                self._did[pid].add(seen.doing)
                if seen.lock is None:
                    self._add(key, seen)
                elif seen.lock.scope == "process" and not _is_stray(seen.lock, process_of):
                    self._locks[seen.lock.key].by_thread[key] += 1
                    waiting.setdefault(seen.lock.key, (pid, seen.lock))
                else:
                    self._add(key, _within(seen, seen.lock, thread, process, process_of))
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

    def _add(self, thread: Thread, seen: Seen) -> None:
        self._doing[thread][seen.doing] += 1
        if seen.backend:
            self._backends[thread][seen.backend] += 1
        if seen.is_unclear:
            self._unclear[thread] += 1
        if seen.is_listening or seen.doing in ("client_read", "client_write", "backend"):
            self.served.add(thread[0])


def is_open(
    lock: Lock, pid: int, sample: Mapping[int, ProcessSeen], process_of: Mapping[int, int]
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


def _siblings(pid: int, sample: Mapping[int, ProcessSeen]) -> Iterator[ProcessSeen]:
    parent = sample[pid].parent
    return (each for other, each in sample.items() if other != pid and each.parent == parent)


def _awaits(threads: Collection[Seen]) -> bool | None:
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
    seen: Seen, lock: Lock, thread: int, process: ProcessSeen, process_of: Mapping[int, int]
) -> Seen:
    """Return what a thread is at that waits for what only its own process has."""
    if lock.scope == "interpreter":
        others = (each.doing for other, each in process.threads.items() if other != thread)
        return Seen("lock") if "running" in others else seen
    return Seen("idle", is_unclear=True) if _is_stray(lock, process_of) else seen
