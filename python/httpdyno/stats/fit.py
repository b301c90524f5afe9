"""Curves through points: a straight line, the slope of late halves, and saturation.

**Late slopes** tell whether series that grow go on growing when they have had time. A process that
serves requests grows at first whatever it is, and less and less: lazily made things, pages that are
written for the first time, the largest request so far. What never ends is a leak. So only the
second half of a series counts, and it must not have slowed against the quarter before: a logarithm
grows by half as much per request there, an exponential that has bent by less. Growth that is even
over both and will end later is a leak so far; no series can tell.

The unit is the series, a worker's life, since readings of one process have their errors in common.
Steps are a further error, and one that all workers may have in common: forks of one parent stand at
the same place of their steps. So it is added to the interval, not averaged.

A least-squares slope through a curve that is off by at most ± g/2 over a stretch of length N is off
by at most 1.5 g/N: the sum over |n − N/2| times g/2, over N³/12.

**Saturation** is what grows towards a limit, with or without a slope of its own.
`y = a + b (1 − e^(−n/c))` levels off at a + b; `+ d n` is what never ends. For a given c both are
straight in the rest, so the fit goes over a fine row of c and is exact at each. All curves whose
sum of squares is within what chance explains are kept: the ends of an interval are its extremes
over them. A slow saturation and a slope look alike until the curve has bent, and then curves with
c beyond all points are among those kept: there is no bound, and that is said.

Source:
    Draper and Smith, Applied Regression Analysis, 3rd edition (1998), chapters 1 and 9: lines.
    Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems
    whose variables separate, SIAM Journal on Numerical Analysis 10 (1973).
    Bates and Watts, Nonlinear Regression Analysis and Its Applications (1988), section 6.1: the
    profile of a sum of squares, against t².
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from httpdyno.stats.dependence import Floats

_WIDEST_T = 1e7


@dataclass(frozen=True, kw_only=True, slots=True)
class LineFit:
    """`y = intercept + slope * x`. Ends are infinite where the points bound nothing."""

    intercept: float
    slope: float
    intercept_low: float
    intercept_high: float
    slope_low: float
    slope_high: float


def fit_line(x: Floats, y: Floats, weights: Floats, *, confidence: float) -> LineFit:
    """Fit a line, each point with a weight.

    Args:
        x: At least two different values; (n,).
        y: (n,).
        weights: What each residual is multiplied by, one over its error; (n,).
        confidence: Of each interval.
    """
    design = np.stack([np.ones_like(x), x], axis=1) * weights[:, None]
    found, *_ = np.linalg.lstsq(design, y * weights, rcond=None)
    intercept, slope = float(found[0]), float(found[1])
    degrees = len(x) - 2
    wide = (math.inf, math.inf)
    if degrees > 0:
        residuals = y * weights - design @ found
        scale = float(residuals @ residuals) / degrees
        errors = np.sqrt(np.maximum(np.diag(np.linalg.inv(design.T @ design)) * scale, 0.0))
        t = student_t(degrees, confidence)
        wide = (t * float(errors[0]), t * float(errors[1]))
    return LineFit(
        intercept=intercept,
        slope=slope,
        intercept_low=intercept - wide[0],
        intercept_high=intercept + wide[0],
        slope_low=slope - wide[1],
        slope_high=slope + wide[1],
    )


def student_t(degrees: int, confidence: float) -> float:
    """Return the t that |T| stays below with that probability, for any degrees of freedom from 1.

    Source:
        Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4,
        turned round by bisection.
    """
    low, high = 0.0, _WIDEST_T
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        if _inside(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return high


def _inside(t: float, degrees: int) -> float:
    """Return P(|T| < t)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine, sine = math.cos(angle), math.sin(angle)
    is_odd = degrees % 2 == 1
    term = cosine if is_odd else 1.0
    total = term if degrees > 1 else 0.0
    # From cos³ · 2/3 or cos² · 1/2 on, as far as the exponent degrees - 2.
    for exponent in range(3 if is_odd else 2, degrees - 1, 2):
        term *= cosine**2 * (exponent - 1) / exponent
        total += term
    return 2 / math.pi * (angle + sine * total) if is_odd else sine * total


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


N_LEVEL = 3
"""Figures of the curve that levels off; with the slope it has one more."""

_N_ROW = 2000
_LONGEST_SCALE = 30.0
"""The longest c, over the last point: the curve is straight there to a hundredth."""
_SHORTEST_SCALE = 0.05
"""The shortest c, over the first point after zero: it is over before that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Saturation:
    """A curve through points; ends are infinite where they bound nothing."""

    start: float
    rise: float
    n_scale: float
    """The c, in the unit of n."""
    slope: float
    """The d; 0 of a curve that levels off."""
    low: float
    """Of the slope, or of the level where there is none."""
    high: float

    @property
    def level(self) -> float:
        """Where it levels off: a + b."""
        return self.start + self.rise

    def at(self, n: float) -> float:
        """Return the curve at n."""
        return self.start - self.rise * math.expm1(-n / self.n_scale) + self.slope * n


def fit_saturation(n: Floats, y: Floats, *, has_slope: bool, confidence: float) -> Saturation:
    """Fit a curve, with a slope of its own or without.

    Args:
        n: From 0 on, at least three different ones, four with a slope; (n_points,).
        y: (n_points,).
        has_slope: Whether it may grow on; else the interval is that of its level.
        confidence: Of the interval.
    """
    last, first = float(n.max()), float(n[n > 0].min())
    row = np.geomspace(first * _SHORTEST_SCALE, last * _LONGEST_SCALE, _N_ROW)
    fits = _fits(n / last, y, row / last, has_slope=has_slope)
    best = int(np.argmin(fits.squares))
    low, high = _ends(fits, len(n) - N_LEVEL - has_slope, confidence)
    start, rise, *rest = fits.figures[best]
    unit = last if has_slope else 1.0
    return Saturation(
        start=float(start),
        rise=float(rise),
        n_scale=float(row[best]),
        slope=float(rest[0]) / last if rest else 0.0,
        low=low / unit,
        high=high / unit,
    )


@dataclass(frozen=True, slots=True)
class _Fits:
    """The best curve of each c."""

    figures: Floats
    """(n_row, n_figures)."""
    squares: Floats
    of_interest: Floats
    variances: Floats
    """Of the figure of interest, where a residual's is 1."""


def _fits(n: Floats, y: Floats, scales: Floats, *, has_slope: bool) -> _Fits:
    ages = n[None, :] / scales[:, None]
    columns = [np.ones_like(ages), -np.expm1(-ages), np.broadcast_to(n, ages.shape)]
    design = np.stack(columns[: N_LEVEL - 1 + has_slope], axis=2)
    # The pseudo-inverse of the design, not the inverse of its square: nearly straight curves are
    # nearly the slope's own column.
    inverse = np.linalg.pinv(design)
    figures = inverse @ y
    residuals = y - (design @ figures[:, :, None])[:, :, 0]
    wanted = np.array([0.0, 0.0, 1.0] if has_slope else [1.0, 1.0])
    return _Fits(
        figures=figures,
        squares=np.sum(residuals**2, axis=1),
        of_interest=figures @ wanted,
        variances=np.sum((wanted @ inverse) ** 2, axis=1),
    )


def _ends(fits: _Fits, degrees: int, confidence: float) -> tuple[float, float]:
    """Return the extremes of the figure of interest over all curves that chance explains."""
    if degrees < 1:
        return -math.inf, math.inf
    room = float(fits.squares.min()) * (1 + student_t(degrees, confidence) ** 2 / degrees)
    left = room - fits.squares
    if left[-1] >= 0:
        return -math.inf, math.inf
    reach = np.sqrt(np.maximum(left, 0) * fits.variances)
    kept = left >= 0
    low = float(np.min((fits.of_interest - reach)[kept]))
    high = float(np.max((fits.of_interest + reach)[kept]))
    return low, high
