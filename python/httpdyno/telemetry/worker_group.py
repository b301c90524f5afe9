"""The processes of a server at one moment by their programs: how many, how large, how old.

Who has others of the server below it keeps them, as a parent that forks workers does, and is none;
a server of one process is its own worker. At a window's edge nothing is in flight, so that what a
request begins is gone again.
"""

import os
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence

from httpdyno.model import WorkersSeen
from httpdyno.telemetry.process_tree import ProcessSize

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def worker_groups(
    sizes: Sequence[ProcessSize], now_s: float | None = None
) -> tuple[WorkersSeen, ...]:
    """Return the workers among some processes by program, the most first.

    Args:
        sizes: All of a server.
        now_s: Of the clock that counts since the machine was booted; None to ask it.
    """
    if now_s is None:
        now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    keepers = {each.parent for each in sizes}
    found: dict[str, list[ProcessSize]] = defaultdict(list)
    for each in sizes:
        if each.pid not in keepers:
            found[each.name].append(each)
    groups = [_group(name, each, now_s) for name, each in found.items()]
    return tuple(sorted(groups, key=lambda group: (-group.n, group.program)))


def _group(program: str, sizes: Sequence[ProcessSize], now_s: float) -> WorkersSeen:
    uss = [each.uss_bytes for each in sizes]
    # Starts are told in ticks, and so a little early.
    ages = [max(0.0, now_s - each.started_ticks / _TICKS_PER_S) for each in sizes]
    return WorkersSeen(
        program=program,
        n=float(len(sizes)),
        median_uss_bytes=round(statistics.median(uss)),
        largest_uss_bytes=max(uss),
        youngest_s=min(ages),
        median_age_s=statistics.median(ages),
        oldest_s=max(ages),
    )
