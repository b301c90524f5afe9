"""The processes of a server at one moment by their programs: how many, how large, how old; pure.

Who has others of the server below it keeps them, as a parent that forks workers does, and is none;
a server of one process is its own worker. Who has nobody below it need not work for all that:
httpd's daemon for CGI and nginx's cache manager have the parent and the name of the workers. They
use no CPU while others do, and so are told apart, as spare workers are. At a window's edge nothing
is in flight, so that what a request begins is gone again.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from httpdyno.model import OfWorkers, WorkersSeen
from httpdyno.telemetry.memory_bound import kernel_bytes_of
from httpdyno.telemetry.pool import size
from httpdyno.telemetry.worker import Memory, Worker

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
