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
