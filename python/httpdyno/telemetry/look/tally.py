"""What all threads were at over some samples, put together. Pure.

**Whether a lock keeps workers from work.** Servers with several sockets let only one worker at a
time wait for a connection, and the others queue for that right at a lock: these are idle. So a lock
between processes counts as none where in at least half of the samples in which somebody waited for
it, its holder waited for a connection itself. Where the holder is not told, exactly one idle
sibling is taken for it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from httpdyno.model.look import Doing
from httpdyno.telemetry.look.wait import Lock, Seen

Thread = tuple[int, int]
"""Ids of a process and of one of its threads."""
_PASSIVE = ("idle", "client_read", "client_write")


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
    n_open: int = 0
    """Samples in which its holder waited for a connection."""
    n_shut: int = 0


class Tally:
    """Adds samples up."""

    def __init__(self) -> None:
        self.n_samples = 0
        self.served: set[int] = set()
        """Processes that waited for a connection, for a client or for a backend."""
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
                if seen.lock is None:
                    self._add(key, seen)
                elif seen.lock.scope == "process" and not _is_stray(seen.lock, process_of):
                    self._locks[seen.lock.key].by_thread[key] += 1
                    waiting.setdefault(seen.lock.key, (pid, seen.lock))
                else:
                    self._add(key, _within(seen, seen.lock, thread, process, process_of))
        for name, (pid, lock) in waiting.items():
            if is_open(lock, pid, sample, process_of):
                self._locks[name].n_open += 1
            else:
                self._locks[name].n_shut += 1

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
            is_right = waited.n_open >= waited.n_shut
            n = sum(each for (pid, _), each in waited.by_thread.items() if pid not in left_out)
            doing["idle" if is_right else "lock"] += n
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
) -> bool:
    """Return whether who has a lock waits for a connection.

    Args:
        lock: One between processes.
        pid: Of a process that waits for it.
        sample: All processes.
        process_of: By thread.
    """
    if lock.holder is not None:
        holder = sample.get(process_of.get(lock.holder, 0))
        return holder is not None and _awaits(holder)
    siblings = _siblings(pid, sample)
    return sum(map(_awaits, siblings)) == 1


def _siblings(pid: int, sample: Mapping[int, ProcessSeen]) -> Iterator[ProcessSeen]:
    parent = sample[pid].parent
    return (each for other, each in sample.items() if other != pid and each.parent == parent)


def _awaits(process: ProcessSeen) -> bool:
    """Return whether a process waits for connections, and does nothing else."""
    threads = process.threads.values()
    return all(each.doing in _PASSIVE for each in threads) and any(
        each.doing == "idle" and not each.is_unclear for each in threads
    )


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
