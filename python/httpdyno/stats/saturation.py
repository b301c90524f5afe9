"""What grows towards a limit, and what grows on: a saturating curve with and without a slope.

`y = a + b (1 − e^(−n/c))` levels off at a + b; `+ d n` is what never ends. For a given c both are
straight in the rest, so the fit goes over a fine row of c and is exact at each. All curves whose
sum of squares is within what chance explains are kept: the ends of an interval are its extremes
over them. A slow saturation and a slope look alike until the curve has bent, and then curves with
c beyond all points are among those kept: there is no bound, and that is said.

Source:
    Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems
    whose variables separate, SIAM Journal on Numerical Analysis 10 (1973).
    Bates and Watts, Nonlinear Regression Analysis and Its Applications (1988), section 6.1: the
    profile of a sum of squares, against t².
"""

import math
from dataclasses import dataclass

import numpy as np

from httpdyno.stats.dependence import Floats
from httpdyno.stats.least_squares import student_t

N_LEVEL = 3
"""Figures of the curve that levels off; with the slope it has one more."""

_N_ROW = 2000
_LONGEST = 30.0
"""The longest c, over the last point: the curve is straight there to a hundredth."""
_SHORTEST = 0.05
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
    row = np.geomspace(first * _SHORTEST, last * _LONGEST, _N_ROW)
    found = [_at_scale(n / last, y, c / last, has_slope=has_slope) for c in row]
    squares = np.array([each.squares for each in found])
    best = int(np.argmin(squares))
    low, high = _ends(found, squares, len(n), confidence, has_slope=has_slope)
    start, rise, *rest = found[best].figures
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
class _Fit:
    """The best curve of one c."""

    figures: Floats
    squares: float
    of_interest: float
    variance: float
    """Of the figure of interest, where a residual's is 1."""


def _at_scale(n: Floats, y: Floats, scale: float, *, has_slope: bool) -> _Fit:
    columns = [np.ones_like(n), -np.expm1(-n / scale), n]
    design = np.stack(columns if has_slope else columns[:-1], axis=1)
    figures, *_ = np.linalg.lstsq(design, y, rcond=None)
    residuals = y - design @ figures
    wanted = np.array([0.0, 0.0, 1.0] if has_slope else [1.0, 1.0])
    # The pseudo-inverse of the design, not the inverse of its square: nearly straight curves are
    # nearly the slope's own column.
    variance = float(np.sum((wanted @ np.linalg.pinv(design)) ** 2))
    return _Fit(figures, float(residuals @ residuals), float(wanted @ figures), variance)


def _ends(
    found: list[_Fit], squares: Floats, n_points: int, confidence: float, *, has_slope: bool
) -> tuple[float, float]:
    """Return the extremes of the figure of interest over all curves that chance explains."""
    degrees = n_points - N_LEVEL - has_slope
    if degrees < 1:
        return -math.inf, math.inf
    least = float(squares.min())
    room = least * (1 + student_t(degrees, confidence) ** 2 / degrees)
    kept = [each for each in found if each.squares <= room]
    if found[-1].squares <= room:
        return -math.inf, math.inf
    reach = [math.sqrt(max(0.0, room - each.squares) * each.variance) for each in kept]
    low = min(each.of_interest - way for each, way in zip(kept, reach, strict=True))
    high = max(each.of_interest + way for each, way in zip(kept, reach, strict=True))
    return low, high
