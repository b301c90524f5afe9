"""The workers of an arm over all its starts; pure."""

import statistics
from collections import defaultdict
from collections.abc import Sequence

from httpdyno.model import WorkersSeen


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
        )
        for program, seen in by_program.items()
    ]
    return tuple(sorted(merged, key=lambda each: (-each.n, each.program)))
