"""What the processes of a server are together, and what they did between two samples. Pure."""

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from httpdyno.telemetry.worker import Memory, Sample, Worker


@dataclass(frozen=True, kw_only=True, slots=True)
class Pool:
    """A server at one moment: its parent, and the workers below it.

    What needs each process's memory is None as long as one of them was not read or may not be
    seen: a sum without it would say less than there is.
    """

    n_workers: int
    """Processes that are no roots, without zombies: those below the roots, at whatever depth, and
    those that have left the trees."""
    states: Mapping[str, int]
    """How many processes are in which state, the roots too."""
    zombies: tuple[str, ...]
    """`name (pid)` of those that ended and were not asked how."""
    rss_bytes: int
    """What the resident sizes add up to, which counts shared pages once for each process."""
    pss_bytes: int | None = None
    """What all of them occupy together."""
    uss_bytes: int | None = None
    """Of it what is one process's alone."""
    file_pss_bytes: int | None = None
    """Of `pss_bytes` pages of files, which the kernel could take away."""
    swap_bytes: int | None = None
    parent_pss_bytes: int | None = None
    """Of the roots: what is there once, however many workers there are."""
    workers_uss_bytes: int | None = None
    """Of the workers, without the roots."""
    largest_rss_bytes: int = 0
    """Of the workers."""
    largest_uss_bytes: int | None = None
    """Of the workers; None where there is none."""
    median_uss_bytes: int | None = None
    largest: Worker | None = None
    """The worker that has the most of its own; by resident size where that is not known."""
    n_hidden: int = 0
    """Processes whose memory may not be seen, or was not read yet."""
    memory_age_s: float = 0.0
    """How old the oldest figure in these sums is."""
    workers_of: Mapping[int, int] = field(default_factory=dict)
    """How many workers are below each root that is there, by its pid."""
    detached: tuple[Worker, ...] = ()
    """Workers that are below no root, as a daemon that one began and let go; none where no root is
    there any more."""

    @property
    def shared_bytes(self) -> int | None:
        """Of `pss_bytes` what more than one process has."""
        if self.pss_bytes is None or self.uss_bytes is None:
            return None
        return self.pss_bytes - self.uss_bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolChange:
    """What happened between two samples.

    Births and deaths are counted by who is there and who is not, so one that lived and died in
    between is in neither. They tell the time rather than the work: a prefork server looks once a
    second whether it has too few or too many workers, so a short interval shows its clock.
    """

    elapsed_s: float
    births: int
    deaths: int
    cpu_ratio: Mapping[int, float]
    """CPU seconds per second, by the pid of each process that is there at the end."""
    major_faults: int
    """Of those that were there at both ends, as the next two."""
    voluntary_switches: int | None
    involuntary_switches: int | None
    switches_per_s: Mapping[int, float]
    """Of both kinds, by the pid of each process that was there at both ends and tells them."""
    new_pids: frozenset[int]
    """Those that were born."""
    forked: int = 0
    """Of these the children of a root."""
    waited_for_s: float = 0.0
    """CPU time, of their whole lives, of those that ended and that one of the pool waited for."""
    gone_s: float = 0.0
    """Of it what was known before, of those that are gone."""

    @property
    def pool_cpu_ratio(self) -> float:
        """CPU seconds per second of all that are there at the end."""
        return sum(self.cpu_ratio.values())


def pool(sample: Sample) -> Pool:
    """Return the sums over a sample."""
    living = [each for each in sample.workers if not each.is_zombie]
    workers = [each for each in living if each.pid not in sample.root_pids]
    parents = [each for each in living if each.pid in sample.root_pids]
    own = _each(workers, lambda memory: memory.uss_bytes)
    root_of = _roots(sample)
    return Pool(
        n_workers=len(workers),
        states=Counter(each.state for each in sample.workers),
        zombies=tuple(f"{each.name} ({each.pid})" for each in sample.workers if each.is_zombie),
        rss_bytes=sum(map(rss_bytes, living)),
        pss_bytes=_sum(living, lambda memory: memory.pss_bytes),
        uss_bytes=_sum(living, lambda memory: memory.uss_bytes),
        file_pss_bytes=_sum(living, lambda memory: memory.file_pss_bytes),
        swap_bytes=_sum(living, lambda memory: memory.swap_bytes),
        parent_pss_bytes=_sum(parents, lambda memory: memory.pss_bytes) if parents else None,
        workers_uss_bytes=None if own is None else sum(own),
        largest_rss_bytes=max(map(rss_bytes, workers), default=0),
        largest_uss_bytes=max(own, default=None) if own else None,
        median_uss_bytes=round(statistics.median(own)) if own else None,
        largest=max(workers, key=size, default=None),
        n_hidden=sum(each.lacks_memory for each in living),
        memory_age_s=max((each.memory_age_s or 0.0 for each in living), default=0.0),
        workers_of={
            root.pid: sum(root_of[each.pid] == root.pid for each in workers) for root in parents
        },
        detached=tuple(each for each in workers if parents and root_of[each.pid] is None),
    )


def _roots(sample: Sample) -> dict[int, int | None]:
    """Return which root each process is below, by pid; None: below none that is there."""
    parent_of = {each.pid: each.parent for each in sample.workers}
    found: dict[int, int | None] = {pid: pid for pid in sample.root_pids if pid in parent_of}
    for each in sample.workers:
        chain, above = [], each.pid
        while above in parent_of and above not in found:
            chain.append(above)
            found[above] = None  # whatever is read amid a change, no walk goes round
            above = parent_of[above]
        found |= dict.fromkeys(chain, found.get(above))
    return found


def change(before: Sample, after: Sample) -> PoolChange:
    """Return what happened between two samples of one server."""
    was = {each.identity: each for each in before.workers}
    now = {each.identity: each for each in after.workers}
    elapsed_s = after.at_s - before.at_s
    stayed = [(was[key], now[key]) for key in now.keys() & was.keys()]
    # One that was born since has used all of its time since.
    used_s = {
        each.pid: each.cpu_s - (was[key].cpu_s if key in was else 0.0) for key, each in now.items()
    }
    born = [each for key, each in now.items() if key not in was]
    here = {each.pid: each for each in after.workers}
    return PoolChange(
        elapsed_s=elapsed_s,
        births=len(born),
        deaths=len(was.keys() - now.keys()),
        cpu_ratio={pid: seconds / elapsed_s for pid, seconds in used_s.items()},
        major_faults=sum(end.major_faults - begin.major_faults for begin, end in stayed),
        voluntary_switches=_grown(stayed, lambda each: each.voluntary_switches),
        involuntary_switches=_grown(stayed, lambda each: each.involuntary_switches),
        switches_per_s={
            end.pid: n / elapsed_s
            for begin, end in stayed
            if (n := _grown([(begin, end)], _switches)) is not None
        },
        new_pids=frozenset(each.pid for each in born),
        forked=sum(each.parent in after.root_pids for each in born),
        # One that ends takes what it waited for along to who waits for it.
        waited_for_s=max(0.0, _reaped_s(after) - _reaped_s(before)),
        gone_s=sum(
            each.cpu_s
            for key, each in was.items()
            if key not in now and each.parent in here and not here[each.parent].ignores_children
        ),
    )


def _reaped_s(sample: Sample) -> float:
    return sum(each.reaped_s for each in sample.workers)


def rss_bytes(worker: Worker) -> int:
    """Return its resident size, as exactly as it is known."""
    return worker.memory.rss_bytes if worker.memory else worker.rss_bytes


def size(worker: Worker) -> tuple[int, int]:
    """Return what workers are put in order by: memory of their own, else resident size."""
    return worker.memory.uss_bytes if worker.memory else 0, rss_bytes(worker)


def _each(workers: Sequence[Worker], of: Callable[[Memory], int | None]) -> list[int] | None:
    """Return a figure of each; None where one of them is not known."""
    if any(each.lacks_memory for each in workers):
        return None
    figures = [of(each.memory) for each in workers if each.memory]
    known = [figure for figure in figures if figure is not None]
    return known if len(known) == len(figures) else None


def _sum(workers: Sequence[Worker], of: Callable[[Memory], int | None]) -> int | None:
    figures = _each(workers, of)
    return None if figures is None else sum(figures)


def _switches(worker: Worker) -> int | None:
    if worker.voluntary_switches is None or worker.involuntary_switches is None:
        return None
    return worker.voluntary_switches + worker.involuntary_switches


def _grown(
    stayed: Sequence[tuple[Worker, Worker]], of: Callable[[Worker], int | None]
) -> int | None:
    pairs = [(of(begin), of(end)) for begin, end in stayed]
    known = [end - begin for begin, end in pairs if begin is not None and end is not None]
    return sum(known) if len(known) == len(pairs) else None
