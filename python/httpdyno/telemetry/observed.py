"""A server looked at from outside, whatever started it: once, and while somebody loads it.

A look costs what `WorkerSampler` says: memory is read in turn, within a bound, so that the server
is not kept from its work. How many requests a worker has served nobody tells from outside. Where
the server itself does (Apache's status page), that is taken. Else what the client saw answered
between two looks is shared out by the CPU time that each worker used in between, which holds where
all requests cost about the same; of one worker it is exact.
"""

import math
import statistics
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from httpdyno.host.procfs import content
from httpdyno.reason import Reason, because
from httpdyno.telemetry.account import account_found
from httpdyno.telemetry.kernel import (
    HostMemory,
    Sockets,
    cpu_count,
    host_memory,
    memory_limit_bytes,
    run_queue,
)
from httpdyno.telemetry.pool import MemoryBound, Pool, memory_bound, pool
from httpdyno.telemetry.processes import BESIDE_A_LOAD, descriptors_to_keep
from httpdyno.telemetry.profile.counters import Disk, DiskTransfers
from httpdyno.telemetry.server_sockets import ServerSockets
from httpdyno.telemetry.worker import EACH_SECOND_S, Sample, Worker, WorkerSampler, statm_bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """A server at one moment."""

    root_pid: int
    workers: tuple[Worker, ...]
    """The parent first."""
    pool: Pool
    host: HostMemory
    bound: MemoryBound | None = None
    """None of a server without workers, and where its memory is not all told."""
    sockets: Sockets | None = None
    """None where nobody asked."""
    statm_bytes: Mapping[int, int] = field(default_factory=dict)
    """Process → its virtual size less its pages of files and shared memory."""

    @property
    def hidden(self) -> tuple[Reason, ...]:
        """What of it may not be seen, with the reason, each once."""
        beside = [*filter(None, [self.no_bound]), *(self.sockets.hidden if self.sockets else ())]
        return tuple(dict.fromkeys([*(w for each in self.workers for w in each.hidden), *beside]))

    @property
    def no_bound(self) -> Reason | None:
        """Why it is not known how many workers fit, where their own memory is; else None."""
        if self.bound is not None or not self.pool.n_workers or self.pool.pss_bytes is None:
            return None
        if self.host.available_bytes is None:
            return because("telemetry.room", why=because("telemetry.room_without_available"))
        if self.pool.file_pss_bytes is None:
            return because("telemetry.room", why=because("telemetry.room_without_files"))
        return None


def observed(root_pid: int, inodes: Collection[int] | None = None) -> Observed | None:
    """Return what a server's processes are now; None where it is gone.

    Args:
        root_pid: The process that it began as.
        inodes: Of the sockets that it listens at; None to leave them out, since on a machine with
            many connections it takes a while to list them.
    """
    sample = WorkerSampler([root_pid]).read()
    if not sample.workers:
        return None
    together, host = pool(sample), host_memory()
    own_bytes = (together.pss_bytes or 0) - (together.file_pss_bytes or 0)
    return Observed(
        root_pid=root_pid,
        workers=sample.workers,
        pool=together,
        host=host,
        bound=memory_bound(
            together,
            available_bytes=host.available_bytes,
            limit_bytes=memory_limit_bytes(root_pid, own_bytes),
        ),
        sockets=None if inodes is None else ServerSockets(inodes).look(root_pid),
        statm_bytes=_statm_bytes(sample.workers),
    )


def _statm_bytes(workers: Iterable[Worker]) -> Mapping[int, int]:
    # Not among what is sampled each second: a file more for each process.
    found = {each.pid: statm_bytes(content(b"/proc/%d/statm" % each.pid)) for each in workers}
    return {pid: n for pid, n in found.items() if n is not None}


EVERY_S = 0.25
FIRST_S, FIRST_EVERY_S = 2.0, 0.05
"""At first more often."""
Counter: TypeAlias = Literal["status page", "CPU time", "one worker"]
"""By what requests of a worker are counted: its server's status page; answers, shared out by the
CPU time of workers; answers, all of one worker."""
_NS_PER_S = 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerReading:
    """A worker once."""

    pid: int
    started_ticks: int
    at_s: float
    """Since the first look."""
    n_requests: float
    """That it had served since the first look; by the status page, since it began."""
    uss_bytes: int
    pss_bytes: int
    rss_bytes: int
    cpu_s: float
    """Of its whole life."""

    @property
    def identity(self) -> tuple[int, int]:
        """What no other process has while the machine is up."""
        return self.pid, self.started_ticks


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolReading:
    """All of them once; None where the memory of one is not known."""

    at_s: float
    n_answered: int
    n_workers: int
    pss_bytes: int | None
    workers_uss_bytes: int | None
    cpu_s: float
    """Of those that are there, the roots too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnderLoad:
    """What was seen of a pool while it was loaded."""

    readings: tuple[WorkerReading, ...]
    """By time."""
    pool: tuple[PoolReading, ...]
    counted_by: Counter
    looks_cost_s: float
    """CPU time of all looks together."""
    n_born: int
    """Workers that came after the first look."""
    hidden: tuple[Reason, ...] = ()
    cpu_s: float | None = None
    """CPU time from the first look to the last whole one, of those too that ended; None without."""
    misses_cpu: bool = False
    """Whether children that nobody waits for are not in that."""
    disk: Disk | None = None
    """Read and written over the same time."""
    run_queue: float | None = None
    """Mean of the looks in between, of threads of the machine that ran or were ready, those of who
    loads it among them; None where that is not told."""
    host_cpus: int = 0
    zombies: tuple[str, ...] = ()
    """`name (pid)` of those that had ended and were not asked how, at the look that saw most."""

    def of_workers(self) -> dict[tuple[int, int], list[WorkerReading]]:
        """Return the readings of each worker, by time."""
        found: dict[tuple[int, int], list[WorkerReading]] = {}
        for each in self.readings:
            found.setdefault(each.identity, []).append(each)
        return found


@dataclass(slots=True)
class _Served:
    """A worker's count so far."""

    busy_s: float
    n_requests: float = 0.0
    told: int | None = None


@dataclass(slots=True)
class _Seen:
    readings: list[WorkerReading] = field(default_factory=list)
    pool: list[PoolReading] = field(default_factory=list)
    hidden: dict[Reason, None] = field(default_factory=dict)
    most_workers: int = 0
    is_told: bool = False
    zombies: tuple[str, ...] = ()


class LoadedPool:
    """Looks at a pool while somebody loads it. Not for several threads at once."""

    def __init__(self, root_pids: Sequence[int]) -> None:
        """Watch some trees.

        Args:
            root_pids: The processes whose trees are the server.
        """
        self._roots = tuple(root_pids)
        self._sampler = WorkerSampler(
            root_pids, most_s=EACH_SECOND_S * EVERY_S, keeps=descriptors_to_keep(BESIDE_A_LOAD)
        )
        self._served: dict[tuple[int, int], _Served] = {}
        self._first: set[tuple[int, int]] = set()
        self._n_answered = 0
        self._used_s: dict[tuple[int, int], float] = {}
        """CPU time of each worker, when there was some last."""
        self._began_s: float | None = None
        self._cost_s = 0.0
        self._seen = _Seen()
        self._account = account_found(root_pids)
        self._first_cpu_s = 0.0
        self._cpu_s: float | None = None
        self._misses_cpu = False
        self._disk = DiskTransfers()
        self._disk_seen: Disk | None = None
        self._run_queues: list[int] = []

    def look(
        self, n_answered: int, told: Mapping[int, int] | None = None, *, is_whole: bool = False
    ) -> None:
        """Look once.

        Args:
            n_answered: Answers that the client has had since the load began.
            told: Requests by pid, where the server says them.
            is_whole: Whether all memory is read, which the first look does anyway, and all answers
                are shared out: at the end.
        """
        began_s = time.thread_time()
        is_first = self._began_s is None
        if is_first:
            self._first_cpu_s = self._account.read().cpu_s
        elif is_whole:
            self._cpu_s = max(0.0, self._account.read().cpu_s - self._first_cpu_s)
            self._misses_cpu = self._account.misses_children()
        elif (waiting := run_queue()) is not None:
            self._run_queues.append(waiting)
        sample = self._sampler.read(is_whole=is_first or is_whole)
        if self._began_s is None:
            self._began_s = sample.at_s
        if is_first or is_whole:
            self._disk_seen = self._disk.look(sample)
            if self._disk_seen and self._disk_seen.hidden:
                self._seen.hidden[self._disk_seen.hidden] = None
        workers = self._workers(sample)
        self._count(workers, n_answered, told, is_last=is_whole)
        if is_first:
            self._first = {each.identity for each in workers}
        self._take(sample, workers, n_answered)
        self._cost_s += time.thread_time() - began_s

    def seen(self) -> UnderLoad:
        """Return all looks."""
        seen = self._seen
        by: Counter = "one worker" if seen.most_workers == 1 else "CPU time"
        return UnderLoad(
            readings=tuple(seen.readings),
            pool=tuple(seen.pool),
            counted_by="status page" if seen.is_told else by,
            looks_cost_s=self._cost_s,
            n_born=len(self._served.keys() - self._first),
            hidden=tuple(seen.hidden),
            cpu_s=self._cpu_s,
            disk=self._disk_seen,
            run_queue=statistics.fmean(queues) if (queues := self._run_queues) else None,
            host_cpus=cpu_count(),
            zombies=seen.zombies,
            misses_cpu=self._misses_cpu,
        )

    def _workers(self, sample: Sample) -> list[Worker]:
        """Return those that serve: the children, or a root that has none."""
        living = [each for each in sample.workers if not each.is_zombie]
        return [each for each in living if each.pid not in self._roots] or living

    def _count(
        self,
        workers: Sequence[Worker],
        n_answered: int,
        told: Mapping[int, int] | None,
        *,
        is_last: bool,
    ) -> None:
        busy = {each.identity: _busy_s(each) for each in workers}
        used = {}
        for key, busy_s in busy.items():
            # One that was born since counts from this look on: until now it mostly came up.
            before = self._served.setdefault(key, _Served(busy_s=busy_s))
            used[key] = max(0.0, busy_s - before.busy_s)
            before.busy_s = busy_s
        # CPU time comes in pieces: where none was seen yet, the answers wait for the next look. At
        # the last one they are of who worked before: the client was late to read them.
        if is_last and not any(used.values()):
            used = {key: self._used_s.get(key, 0.0) for key in used}
        is_told = self._seen.is_told
        new, total_s = n_answered - self._n_answered, sum(used.values())
        if total_s > 0:
            self._n_answered, self._used_s = n_answered, used
        for key, used_s in used.items():
            self._served[key].n_requests += new * used_s / total_s if total_s > 0 else 0.0
            # Told at the end alone, it would be of no life more than one reading.
            if told is not None and key[0] in told and (self._seen.is_told or not is_last):
                self._served[key].told = told[key[0]]
                is_told = True
        if is_told and not self._seen.is_told:
            # Those before are counted since the first look, and what is told since birth.
            self._seen.readings.clear()
            self._seen.is_told = True
        self._seen.most_workers = max(self._seen.most_workers, len(workers))

    def _take(self, sample: Sample, workers: Sequence[Worker], n_answered: int) -> None:
        at_s = sample.at_s - (self._began_s or 0.0)
        for each in workers:
            memory = each.memory
            if memory is None or each.memory_age_s != 0.0:  # not read in this look
                continue
            served = self._served[each.identity]
            if self._seen.is_told and served.told is None:  # not on the page yet
                continue
            self._seen.readings.append(
                WorkerReading(
                    pid=each.pid,
                    started_ticks=each.started_ticks,
                    at_s=at_s,
                    n_requests=served.n_requests if served.told is None else float(served.told),
                    uss_bytes=memory.uss_bytes,
                    pss_bytes=memory.pss_bytes,
                    rss_bytes=memory.rss_bytes,
                    cpu_s=served.busy_s,
                )
            )
        self._seen.hidden |= dict.fromkeys(word for each in sample.workers for word in each.hidden)
        together = pool(sample)
        self._seen.zombies = max(self._seen.zombies, together.zombies, key=len)
        self._seen.pool.append(
            PoolReading(
                at_s=at_s,
                n_answered=n_answered,
                n_workers=len(workers),
                pss_bytes=together.pss_bytes,
                workers_uss_bytes=together.workers_uss_bytes,
                cpu_s=math.fsum(each.cpu_s for each in sample.workers),
            )
        )


def _busy_s(worker: Worker) -> float:
    """Return CPU time, to the nanosecond where the kernel tells it of the whole process."""
    if worker.n_threads == 1:
        told = content(b"/proc/%d/schedstat" % worker.pid).split()
        if told:
            return int(told[0]) / _NS_PER_S
    return worker.cpu_s
