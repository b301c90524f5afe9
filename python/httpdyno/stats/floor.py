"""Whether a difference is far enough above nothing for its logarithm to be used; pure."""

from collections.abc import Sequence
from statistics import fmean, stdev

CLEAR = 4.0
"""So many standard deviations of one difference its mean is to be above 0.

The logarithm of a normal difference with a coefficient of variation v is biased by about -v²/2 and
skewed by about -3v: at 1/4 that is 3 % and 0.75, where the interval of six starts is ±48 % wide;
both fall with v while the interval falls with it too. Simulated, intervals of the ratio of two such
differences keep their coverage (`tests/stats/test_floor.py`).
"""
MUCH = 2.0
"""Or so many times its floor a difference is, each of them. What is left of a third that was taken
off hardly differs from what was there: then it may differ from start to start as any time may."""


def is_clear(differences: Sequence[float], floors: Sequence[float]) -> bool:
    """Tell whether differences to a floor are clearly above 0.

    Every one of them must be: to leave out those that are not would choose by the outcome.

    Args:
        differences: One for each start, of what is independent; (n_starts,).
        floors: What was taken off; (n_starts,).
    """
    if not differences or min(differences) <= 0:
        return False
    pairs = zip(differences, floors, strict=True)
    if len(differences) < 2 or all(above >= MUCH * floor for above, floor in pairs):  # noqa: PLR2004 - one has no spread
        return True
    return fmean(differences) >= CLEAR * stdev(differences)
