"""A straight line through points, by least squares, with intervals of its two figures.

Source:
    Draper and Smith, Applied Regression Analysis, 3rd edition (1998), chapters 1 and 9.
"""

import math
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
