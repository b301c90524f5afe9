"""What arrivals at the origin say of the schedule they were sent by: pure functions of instants."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CUT_FIRST_RATIO, CUT_LAST_RATIO = 0.10, 0.05
"""Left out at the ends of a run: the opening of connections, and what hurries at the end."""
BUNCHED_RATIO = 0.1
"""Of the ideal gap: a smaller one is bunched."""

Instants = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Punctuality:
    """How evenly requests arrived in one run at a constant rate."""

    n: int
    rate_error_ratio: float
    """Of the rate between the first and the last arrival that are kept; without sign."""
    distance_p50_s: float
    """From the best-fitting schedule at the rate that was asked for."""
    distance_p99_s: float
    bunched_ratio: float
    gap_cv: float
    """Standard deviation of the gaps over their mean."""


def punctuality(at_ns: Instants, rate_per_s: float) -> Punctuality:
    """Judge the arrivals of one run at a constant rate.

    The schedule has the rate that was asked for, exactly; only its beginning is fitted (the one
    with the least sum of distances). A rate that is a little wrong so shows twice: in the rate
    and, as it adds up, in the distance. One request lost shifts all later ones by a whole gap.

    Args:
        at_ns: Arrivals in any order; (n,), at least 100.
        rate_per_s: As asked for.
    """
    kept = np.sort(at_ns)[_kept(len(at_ns))]
    since_s = (kept - kept[0]) / 1e9
    gaps_s = np.diff(since_s)
    lag_s = since_s - np.arange(len(kept)) / rate_per_s
    distance_s = np.abs(lag_s - np.median(lag_s))
    p50, p99 = np.quantile(distance_s, (0.5, 0.99))
    return Punctuality(
        n=len(kept),
        rate_error_ratio=abs((len(kept) - 1) / float(since_s[-1]) / rate_per_s - 1),
        distance_p50_s=float(p50),
        distance_p99_s=float(p99),
        bunched_ratio=float(np.mean(gaps_s < BUNCHED_RATIO / rate_per_s)),
        gap_cv=float(gaps_s.std() / gaps_s.mean()),
    )


UNLIKE_SCORE = 5.0
UNLIKE_FACTOR = 2.0
_FLOORS = {"gap_cv": 0.02, "bunched_ratio": 0.005, "distance_p50_s": 5e-6}
"""Added before taking the logarithm: differences below these are nothing to look at."""


def runs_unlike_the_rest(runs: Sequence[Punctuality]) -> list[int]:
    """Return the indices of runs whose pattern is not that of the others.

    A run is unlike the rest when its gap variation, its bunched gaps or its median distance is
    more than `UNLIKE_SCORE` robust standard deviations (1.4826 × the median absolute deviation)
    from the median of all, in logarithms, *and* more than `UNLIKE_FACTOR` times as much, or as
    little. The second condition keeps runs that are all very much alike from being told apart.
    """
    found: set[int] = set()
    for name, floor in _FLOORS.items():
        logs = np.log(np.array([getattr(run, name) for run in runs]) + floor)
        away = np.abs(logs - np.median(logs))
        spread = 1.4826 * float(np.median(away))
        is_unlike = (away > UNLIKE_SCORE * spread) & (away > math.log(UNLIKE_FACTOR))
        found.update(np.flatnonzero(is_unlike).tolist())
    return sorted(found)


def lateness_s(at_ns: Instants, opened_ns: int, rate_per_s: float) -> NDArray[np.float64]:
    """Return how long after its due time each request arrived; (n,), cut like the rest.

    Args:
        at_ns: All arrivals of the run, none missing; (n,).
        opened_ns: When the first was due.
        rate_per_s: As asked for.
    """
    late: NDArray[np.float64] = (np.sort(at_ns) - opened_ns) / 1e9 - np.arange(
        len(at_ns)
    ) / rate_per_s
    return late[_kept(len(late))]


def _kept(n: int) -> slice:
    return slice(math.floor(n * CUT_FIRST_RATIO), n - math.floor(n * CUT_LAST_RATIO))
