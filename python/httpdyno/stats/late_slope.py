"""Whether series that grow go on growing when they have had time: slopes of their late halves.

A process that serves requests grows at first whatever it is, and less and less: lazily made things,
pages that are written for the first time, the largest request so far. What never ends is a leak.
So only the second half of a series counts, and it must not have slowed against the quarter before:
a logarithm grows by half as much per request there, an exponential that has bent by less. Growth
that is even over both and will end later is a leak so far; no series can tell.

The unit is the series, a worker's life, since readings of one process have their errors in common.
Steps are a further error, and one that all workers may have in common: forks of one parent stand at
the same place of their steps. So it is added to the interval, not averaged.

Source:
    A least-squares slope through a curve that is off by at most ± g/2 over a stretch of length N is
    off by at most 1.5 g/N: the sum over |n − N/2| times g/2, over N³/12.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from httpdyno.stats.dependence import Floats
from httpdyno.stats.least_squares import student_t

LEAST_SERIES = 2
"""One has no spread."""
_LEAST_POINTS = 3
"""In the late half, and as many in the quarter before it with the edge."""
_SHORTEST = 0.25
"""Of the median length: shorter series are of another age and left out."""
_N_PARTS = 4
_PARTS_GROWN = 3
"""Of the late half: one jump is in one part of it, also one at an edge in two."""
_OF_STEP = 1.5
_SLOWED = 2 / 3
"""Of the slope before: a logarithm's is ½, a straight line's 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LateSlope:
    """What the late halves of some series have in common."""

    value: float
    """Growth per unit of n, the mean over series."""
    low: float
    """Both ends with what steps may add."""
    high: float
    n_series: int
    n_late: float
    """Length of the late half, the mean over series."""
    step: float
    """What one step may be: at least the resolution, more where jumps were seen."""
    parts_grown: int
    """Of four parts of the late half, in how many all series together grew by a resolution."""
    kept: float
    """Lower end, over series, of the late slope less ⅔ of the one before."""

    @property
    def is_lasting(self) -> bool:
        """Whether it grows, beyond chance and steps, in most parts, and without slowing."""
        return self.low > 0 and self.parts_grown >= _PARTS_GROWN and self.kept > 0


def late_slope(
    series: Sequence[tuple[Floats, Floats]], *, resolution: float, confidence: float
) -> LateSlope | None:
    """Return how fast series grow late; None where fewer than two are long enough to say.

    Args:
        series: (n, y) of each, n ascending; (n_points,) each.
        resolution: What y is known to, such as a page.
        confidence: Of the interval over series.
    """
    usable = [_Late.of(n, y, resolution) for n, y in _long(series)]
    lates = [each for each in usable if each is not None]
    if len(lates) < LEAST_SERIES:
        return None
    slopes = np.array([each.slope for each in lates])
    n_late = float(np.mean([each.length for each in lates]))
    step = max(resolution, float(np.median([each.jump for each in lates])))
    reach = _reach(slopes, confidence) + _OF_STEP * step / n_late
    kept = np.array([each.slope - _SLOWED * each.before for each in lates])
    parts = np.mean([each.parts for each in lates], axis=0)
    return LateSlope(
        value=float(slopes.mean()),
        low=float(slopes.mean()) - reach,
        high=float(slopes.mean()) + reach,
        n_series=len(lates),
        n_late=n_late,
        step=step,
        parts_grown=int(np.sum(parts >= resolution)),
        kept=float(kept.mean()) - _reach(kept, confidence),
    )


def over_series(values: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """Return mean, low and high of a figure that each series has one of."""
    figures = np.array(values, dtype=float)
    mean, reach = float(figures.mean()), _reach(figures, confidence)
    return mean, mean - reach, mean + reach


def _reach(figures: Floats, confidence: float) -> float:
    if len(figures) < LEAST_SERIES:
        return math.inf
    error = float(figures.std(ddof=1)) / math.sqrt(len(figures))
    return student_t(len(figures) - 1, confidence) * error


def _long(series: Sequence[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
    if not series:
        return []
    least = _SHORTEST * float(np.median([n.max() - n.min() for n, _ in series]))
    return [(n, y) for n, y in series if 0 < n.max() - n.min() >= least]


@dataclass(frozen=True, slots=True)
class _Late:
    slope: float
    before: float
    length: float
    jump: float
    """The largest growth between neighbours, beyond what the slope explains."""
    parts: Floats

    @classmethod
    def of(cls, n: Floats, y: Floats, resolution: float) -> "_Late | None":
        age = n - n.min()
        last = float(age.max())
        late, before = age >= last / 2, (age >= last / 4) & (age <= last / 2)
        if late.sum() < _LEAST_POINTS or before.sum() < _LEAST_POINTS - 1:
            return None
        slope = _slope(age[late], y[late])
        beyond = np.abs(np.diff(y[late]) - slope * np.diff(age[late]))
        # The quarter before ends where the late half begins, so it takes that point along.
        first = before | (np.arange(len(age)) == np.argmax(late))
        edges = np.interp(np.linspace(last / 2, last, _N_PARTS + 1), age, y)
        return cls(
            slope=slope,
            before=_slope(age[first], y[first]),
            length=last / 2,
            jump=max(resolution, float(beyond.max())),
            parts=np.diff(edges),
        )


def _slope(n: Floats, y: Floats) -> float:
    off = n - n.mean()
    spread = float(off @ off)
    return float(off @ y) / spread if spread > 0 else 0.0
