"""How steady this machine is: equal pieces of work, timed.

What a comparison can resolve is bounded by what else the machine does. A piece of work that takes
longer than its neighbours was disturbed: by another process, by the hypervisor, by a changing
clock frequency. This works, where collectors only read: it is for a machine that is not measured
just now.
"""

import math
import time
from dataclasses import dataclass

_PIECE = range(20_000)
"""About a millisecond of arithmetic: long against the clock, short against a scheduler's slice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """What was seen over some time of steady work on one core."""

    measured_s: float
    not_running_ratio: float
    """Part of the time that this process wanted to run and another ran in its place."""
    spread_ratio: float
    """The slow tenth over the fast tenth of equal pieces; 1.0 is perfectly steady."""


def measure_noise(duration_s: float = 0.5) -> Noise:
    """Work for a while and return how disturbed that was."""
    pieces_s: list[float] = []
    began_s, cpu_began_s = time.perf_counter(), time.process_time()
    before_s = began_s
    while before_s - began_s < duration_s:
        sum(each * each for each in _PIECE)
        now_s = time.perf_counter()
        pieces_s.append(now_s - before_s)
        before_s = now_s
    wall_s, cpu_s = before_s - began_s, time.process_time() - cpu_began_s
    return Noise(
        measured_s=wall_s,
        not_running_ratio=max(0.0, 1.0 - cpu_s / wall_s),
        spread_ratio=spread_ratio(pieces_s),
    )


def spread_ratio(pieces_s: list[float]) -> float:
    """Return the ninetieth over the tenth percentile."""
    ordered = sorted(pieces_s)
    last = len(ordered) - 1
    return ordered[math.ceil(0.9 * last)] / ordered[math.floor(0.1 * last)]
