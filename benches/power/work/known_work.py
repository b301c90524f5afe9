"""A short piece of known work, done next to windows: how fast is the core just now?"""

import os
import time
from collections.abc import Collection
from typing import NamedTuple

_PIECE = range(10_000)
"""About half a millisecond of arithmetic: far longer than it takes to read the clocks, and too
short to be split by the scheduler where nobody else wants the core."""


class Took(NamedTuple):
    """What a piece of it took."""

    cpu_s: float
    wall_s: float


def known_work(cpus: Collection[int]) -> Took:
    """Do it on one of these cores in the calling thread; empty is wherever it is."""
    before = os.sched_getaffinity(0)
    if cpus:
        os.sched_setaffinity(0, cpus)
    try:
        wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        sum(each * each for each in _PIECE)
        cpu_ns, wall_ns = time.thread_time_ns() - cpu_ns, time.perf_counter_ns() - wall_ns
    finally:
        if cpus:
            os.sched_setaffinity(0, before)
    return Took(cpu_s=cpu_ns / 1e9, wall_s=max(wall_ns, cpu_ns) / 1e9)


def between(before: Took, after: Took) -> Took:
    """Return the mean of what it took on both sides of a window."""
    return Took(cpu_s=(before.cpu_s + after.cpu_s) / 2, wall_s=(before.wall_s + after.wall_s) / 2)
