"""A pool of workers as `inspect` and `watch` show it: sums, turnover, room for more. Pure.

**Workers.** Who has others of a server below it keeps them, as a parent that forks workers does,
and is none; a server of one process is its own worker. Who has nobody below it need not work for
all that: httpd's daemon for CGI and nginx's cache manager have the parent and the name of the
workers. They use no CPU while others do, and so are told apart, as spare workers are.

**Turnover.** Who waits for a child gets the CPU time of the child's whole life, and of those that
the child waited for, into its own account (`cutime` and `cstime` of /proc/PID/stat). So what all
accounts of a pool grow by is what processes had used that have ended, those too that came and went
between two samples. A parent's account is read before its children: of one that ended in between
the account comes a sample late, which is put up with for one sample. What a birth costs the parent
is at most what the parent used, over the births.

**Room.** All formulas take T, the memory that the server may have, less a reserve. Workers that
share pages with their parent fill it so: what is there once, however many they are, is the parent
and all that is shared (P, the whole pool's proportional set size less what its workers have of
their own), and each worker adds what is its own (u, the largest unique set size, and the kernel's
part): n = (T − P) / u. The parent's proportional set size alone is too little for P as soon as
there are workers, because it has only its share of the shared pages. What the kernel keeps for a
process is in none of its sizes, and yet in the memory that is available and in a control group's
limit: tables of its pages, which grow with what it maps, also what it shares, and some more. Of
workers that have little of their own that is a third of what they take. Without it the number of
workers was up to 36 % over what the kernel lets live (`python -m benches.memory`, Apache with 50 MB
preloaded). Resident sizes count what is shared again in each worker. The two closed forms take the
resident size of the largest worker (`child`) and what of it is shared.

Source: Bekman and Cholet, Practical mod_perl, 2004, chapter 11; the kernel's
Documentation/filesystems/proc.rst for `MemAvailable` and `smaps_rollup`.
"""

import os
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from httpdyno.model import OfWorkers, WorkersSeen
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


_Each = TypeVar("_Each")


def worker_groups(
    processes: Sequence[Worker], idle: Collection[int] = (), *, pss_bytes: int | None = None
) -> tuple[WorkersSeen, ...]:
    """Return the workers among some processes by program, the most first.

    Args:
        processes: All of a server. Those without memory have ended.
        idle: By pid, those that did nothing while the server was loaded.
        pss_bytes: Of all of them together; None where that is not known.
    """
    known = {each.pid: (each, each.memory) for each in processes if each.memory is not None}
    keepers = {each.parent for each, _ in known.values()}
    found: dict[str, list[tuple[Worker, Memory]]] = defaultdict(list)
    for pid, (each, memory) in known.items():
        if pid not in keepers:
            found[each.name].append((each, memory))
    groups = [_group(name, each, idle, pss_bytes) for name, each in found.items()]
    return tuple(sorted(groups, key=lambda group: (-group.n, group.program)))


def zombies_by_parent(processes: Sequence[Worker]) -> dict[str, int]:
    """Return how many have ended and were not asked how, by the names of their parents."""
    names = {each.pid: each.name for each in processes}
    return dict(Counter(names.get(each.parent, "") for each in processes if each.is_zombie))


def _group(
    program: str,
    leaves: Sequence[tuple[Worker, Memory]],
    idle: Collection[int],
    pss_bytes: int | None,
) -> WorkersSeen:
    # Where nobody of a program did anything, nobody is told apart.
    found = [(each, memory) for each, memory in leaves if each.pid not in idle] or leaves
    workers, sizes = [each for each, _ in found], [memory for _, memory in found]
    uss = [each.uss_bytes for each in sizes]
    ages_s = [each.age_s for each in workers]
    return WorkersSeen(
        program=program,
        n=float(len(workers)),
        median_uss_bytes=round(statistics.median(uss)),
        largest_uss_bytes=max(uss),
        youngest_s=min(ages_s),
        median_age_s=statistics.median(ages_s),
        oldest_s=max(ages_s),
        pss_bytes=_of(sizes, lambda each: each.pss_bytes),
        rss_bytes=_of(sizes, lambda each: each.rss_bytes),
        shared_bytes=_of(sizes, lambda each: each.shared_bytes),
        anonymous_pss_bytes=_of(sizes, lambda each: each.anonymous_pss_bytes),
        file_pss_bytes=_of(sizes, lambda each: each.file_pss_bytes),
        page_table_bytes=_of(workers, lambda each: each.page_table_bytes),
        user_s=_of(workers, lambda each: each.user_s),
        system_s=_of(workers, lambda each: each.system_s),
        voluntary_switches=_of(workers, lambda each: each.voluntary_switches),
        involuntary_switches=_of(workers, lambda each: each.involuntary_switches),
        major_faults=_of(workers, lambda each: each.major_faults),
        n_descriptors=_of(workers, lambda each: each.n_descriptors),
        n_threads=_of(workers, lambda each: each.n_threads),
        # Those told apart are there once, as the parent is.
        once_bytes=None if pss_bytes is None else pss_bytes - sum(uss),
        kernel_bytes=kernel_bytes_of(max(workers, key=size)),
        n_idle=float(len(leaves) - len(found)),
        states={name: float(n) for name, n in Counter(each.state for each in workers).items()},
    )


def _of(several: Sequence[_Each], figure: Callable[[_Each], float | None]) -> OfWorkers | None:
    """Return a figure of those that tell it; None where none does."""
    known = [found for each in several if (found := figure(each)) is not None]
    if not known:
        return None
    return OfWorkers(median=float(statistics.median(known)), largest=float(max(known)))


_CUT_OFF_S = 2 / os.sysconf("SC_CLK_TCK")
"""User and system time are cut to ticks, each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turnover:
    """What is known of births and deaths since the first look."""

    first_parent_s: float | None
    """CPU time of the roots until the first look; None where one was not there any more."""
    parent_s: float | None
    """Until the last look."""
    n_forked: int = 0
    """Births whose parent is a root."""
    ended_s: float = 0.0
    """What those had used in all of their lives that ended, and that somebody waited for."""
    ended_ratio: float = 0.0
    """CPU seconds per second, between the last two looks, of those that ended in between."""
    late_s: float = 0.0
    """What those had used before that are gone, and are in no account yet."""

    @property
    def birth_parent_s(self) -> float | None:
        """CPU time of the parent that a birth takes at most; None without births."""
        if self.parent_s is None or self.first_parent_s is None or not self.n_forked:
            return None
        return (self.parent_s - self.first_parent_s + _CUT_OFF_S) / self.n_forked


def turnover(sample: Sample) -> Turnover:
    """Return what a first look tells."""
    parent_s = _parent_s(sample)
    return Turnover(first_parent_s=parent_s, parent_s=parent_s)


def turned(before: Turnover, happened: PoolChange, sample: Sample) -> Turnover:
    """Return what is known with one look more.

    Args:
        before: Until the look before.
        happened: Between the two.
        sample: The last one.
    """
    left_s = max(0.0, happened.waited_for_s - before.late_s)
    return Turnover(
        first_parent_s=before.first_parent_s,
        parent_s=_parent_s(sample),
        n_forked=before.n_forked + happened.forked,
        ended_s=before.ended_s + happened.waited_for_s,
        ended_ratio=max(0.0, left_s - happened.gone_s) / happened.elapsed_s,
        late_s=max(0.0, happened.gone_s - left_s),
    )


def _parent_s(sample: Sample) -> float | None:
    roots = [each.cpu_s for each in sample.workers if each.pid in sample.root_pids]
    # The sum over fewer of them than before is no time that passed.
    return sum(roots) if len(roots) == len(sample.root_pids) else None


Bound: TypeAlias = Literal["available", "control group"]
"""What bounds a server's memory: MemAvailable and what it has; the limit of its control group, less
what others in it hold."""
RESERVE_RATIO = 0.1
"""Of what is available: workers grow, and not all of them have met their largest page yet."""
_KERNEL_BESIDES_BYTES = 80 * 1024
"""For a process besides its page tables: stack, descriptions of it and of its mappings, sockets.
66 to 94 KiB were seen for a worker of gunicorn and of Apache with mod_perl (Linux 6.18)."""
_THREAD_BYTES = 16 * 1024
"""Of the kernel, the stack of a further thread."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryBound:
    """How many workers there is room for; None where what it takes is not known."""

    available_bytes: int
    """All that this server may have, what it has already included."""
    limited_by: Bound
    reserve_bytes: int
    """Of it not given out."""
    once_bytes: int
    """P: the parent, and what the workers share with it or with each other."""
    each_bytes: int
    """The largest worker's own."""
    kernel_bytes: int
    """In u besides: the kernel's for a worker; 0 where it does not tell."""
    n: int | None
    """(T − P) / (u with the kernel's part); None where no worker has anything of its own, as the
    others."""
    n_by_parent: int | None
    """The same with the parent's proportional set size as P."""
    n_by_rss: int | None
    """T / the largest resident size."""
    n_by_child: int | None
    """(T − child) / (child − shared)."""
    n_by_shared: int | None
    """(T − shared) / (child − shared)."""


def memory_bound(
    pool: Pool, *, available_bytes: int | None, limit_bytes: int | None = None
) -> MemoryBound | None:
    """Return the bounds; None of a server without workers, or whose memory is not all told.

    Which of its pages are of files has to be known (Linux 5.4): the kernel counts those as
    available already, and with them counted twice more would seem to fit than do.

    Args:
        pool: As it is now.
        available_bytes: MemAvailable of /proc/meminfo; None where that is not told (before Linux
            3.14).
        limit_bytes: Of its control group, or of one above it, less what others in it hold; None
            where there is none.
    """
    largest = pool.largest
    child = largest.memory if largest else None
    if largest is None or child is None or pool.pss_bytes is None or pool.workers_uss_bytes is None:
        return None
    if available_bytes is None or pool.file_pss_bytes is None:
        return None
    # Pages of files are available already, although the pool has them.
    available_bytes += pool.pss_bytes - pool.file_pss_bytes
    limited_by: Bound = "available"
    if limit_bytes is not None and limit_bytes < available_bytes:
        available_bytes, limited_by = limit_bytes, "control group"
    reserve_bytes = round(available_bytes * RESERVE_RATIO)
    room = available_bytes - reserve_bytes
    once_bytes, each_bytes = pool.pss_bytes - pool.workers_uss_bytes, child.uss_bytes
    kernel_bytes = kernel_bytes_of(largest)
    return MemoryBound(
        available_bytes=available_bytes,
        limited_by=limited_by,
        reserve_bytes=reserve_bytes,
        once_bytes=once_bytes,
        each_bytes=each_bytes,
        kernel_bytes=kernel_bytes,
        # The parent is one more process that the kernel keeps something for.
        n=_whole(room - once_bytes - kernel_bytes, each_bytes + kernel_bytes)
        if each_bytes
        else None,
        n_by_parent=_whole(room - (pool.parent_pss_bytes or 0), each_bytes),
        n_by_rss=_whole(room, pool.largest_rss_bytes),
        n_by_child=_whole(room - child.rss_bytes, each_bytes),
        n_by_shared=_whole(room - child.shared_bytes, each_bytes),
    )


def kernel_bytes_of(worker: Worker) -> int:
    """Return what the kernel keeps for a worker, in none of its sizes; 0 where it does not tell."""
    if worker.page_table_bytes is None:
        return 0
    stacks = _THREAD_BYTES * (worker.n_threads - 1)
    return worker.page_table_bytes + _KERNEL_BESIDES_BYTES + stacks


def _whole(room: int, each: int) -> int | None:
    return max(0, room // each) if each else None
