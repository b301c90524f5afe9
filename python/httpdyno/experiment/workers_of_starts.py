"""The workers of an arm over all its starts; pure."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from httpdyno.model import OfWorkers, WorkersSeen

_FIGURES = (
    *("pss_bytes", "rss_bytes", "shared_bytes", "anonymous_pss_bytes", "file_pss_bytes"),
    *("page_table_bytes", "user_s", "system_s", "voluntary_switches", "involuntary_switches"),
    *("major_faults", "n_descriptors", "n_threads"),
)


def workers_of_starts(starts: Sequence[Sequence[WorkersSeen]]) -> tuple[WorkersSeen, ...]:
    """Return by program what was seen at the last edges of some starts, the most first.

    Args:
        starts: What each was left with, by program; a start that has none of a program counts as
            none there, and its sizes are those of the others.
    """
    by_program: dict[str, list[WorkersSeen]] = defaultdict(list)
    for start in starts:
        for each in start:
            by_program[each.program].append(each)
    merged = [
        WorkersSeen(
            program=program,
            n=sum(each.n for each in seen) / len(starts),
            median_uss_bytes=round(statistics.median(each.median_uss_bytes for each in seen)),
            largest_uss_bytes=max(each.largest_uss_bytes for each in seen),
            youngest_s=min(each.youngest_s for each in seen),
            median_age_s=statistics.median(each.median_age_s for each in seen),
            oldest_s=max(each.oldest_s for each in seen),
            n_idle=sum(each.n_idle for each in seen) / len(starts),
            once_bytes=max(
                (each.once_bytes for each in seen if each.once_bytes is not None), default=None
            ),
            kernel_bytes=max(each.kernel_bytes for each in seen),
            states=mean_counts([each.states for each in seen], len(starts)),
            **{name: _figure([getattr(each, name) for each in seen]) for name in _FIGURES},
        )
        for program, seen in by_program.items()
    ]
    return tuple(sorted(merged, key=lambda each: (-each.n, each.program)))


def mean_counts(counts: Sequence[Mapping[str, float]], n_starts: int) -> dict[str, float]:
    """Return counts by name as means over so many starts; a start that has none counts as 0."""
    total: dict[str, float] = defaultdict(float)
    for each in counts:
        for name, n in each.items():
            total[name] += n
    return {name: n / n_starts for name, n in total.items()}


def _figure(starts: Sequence[OfWorkers | None]) -> OfWorkers | None:
    known = [each for each in starts if each is not None]
    if not known:
        return None
    return OfWorkers(
        median=statistics.median(each.median for each in known),
        largest=max(each.largest for each in known),
    )
