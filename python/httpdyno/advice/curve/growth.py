"""Whether workers leak, unshare or are done growing, from their sizes as they serve. Pure.

A page that a worker writes to for the first time since the fork turns from shared to private: its
private bytes grow and its resident size does not. What a leak takes is new to both. So a leak is
looked for in the smaller of both growths, and slow unsharing, which is as straight as a leak until
it bends, is not taken for one. A cache that fills evenly is, until it is full.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from httpdyno.advice.curve.finding import PAGE_BYTES, Growth, GrowthVerdict, PrivateCurve
from httpdyno.stats.dependence import Floats
from httpdyno.stats.late_slope import LEAST_SERIES, LateSlope, late_slope, over_series
from httpdyno.stats.saturation import fit_saturation
from httpdyno.units import format_bytes

CONFIDENCE = 0.95
LEAST_LEAK_BYTES = 256.0
"""A request: in a worker's 10,000 requests 2.5 MB. What is proven to be less is called flat, and
only what is proven to be more a leak."""
_LEAST_RISE_BYTES = 16 * PAGE_BYTES
"""Less has no shape."""
_LEAST_POINTS = 5
_MOST_FITTED = 8
"""Lives whose curves are fitted: each takes some ten milliseconds."""
_BENT = 0.5
"""A curve has bent when its scale is within this part of what was seen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Life:
    """Sizes of one worker as it served; requests from when it was first seen, ascending."""

    n_requests: Sequence[float]
    private_bytes: Sequence[float]
    resident_bytes: Sequence[float]


def growth(lives: Sequence[Life]) -> Growth:
    """Return what the lives of a pool's workers have in common."""
    seen = [each for each in lives if len(each.n_requests) >= _LEAST_POINTS]
    late = late_slope(
        [_new_bytes(each) for each in seen], resolution=PAGE_BYTES, confidence=CONFIDENCE
    )
    ages = [each.n_requests[-1] - each.n_requests[0] for each in seen]
    mean_age = float(np.mean(ages)) if ages else 0.0
    if late is None:
        return Growth(
            verdict="cannot_tell",
            reason=_too_few(len(seen)),
            n_workers=len(seen),
            n_requests=mean_age,
            more_requests=_round(mean_age) if len(seen) >= LEAST_SERIES else None,
            curve=_curve(seen, 0.0),
        )
    verdict, reason, more = _said(late)
    return Growth(
        verdict=verdict,
        reason=reason,
        n_workers=late.n_series,
        n_requests=2 * late.n_late,
        late_bytes=late.value,
        late_low_bytes=late.low if math.isfinite(late.low) else None,
        late_high_bytes=late.high if math.isfinite(late.high) else None,
        step_bytes=late.step,
        more_requests=more,
        curve=_curve(seen, late.value if verdict == "leak" else 0.0),
    )


def _said(late: LateSlope) -> tuple[GrowthVerdict, str, int | None]:
    ends = f"{_size(late.low)} … {_size(late.high)} a request, 95 % over {late.n_series} workers"
    if late.is_lasting and late.low >= LEAST_LEAK_BYTES:
        return "leak", f"each request leaves {_size(late.value)} ({ends})", None
    if 0 < late.low <= late.high <= LEAST_LEAK_BYTES:
        words = f"it grows by {_size(late.value)} a request, and by no more than {_size(late.high)}"
        return "flat", words, None
    if late.is_lasting:
        least = _size(LEAST_LEAK_BYTES)
        words = f"it still grows by {_size(late.value)} a request ({ends}), maybe by under {least}"
        return "growing", words, _round(2 * late.n_late)
    if late.low > 0:
        how = "slows" if late.kept <= 0 else "comes in a few jumps"
        words = f"it still grows by {_size(late.value)} a request ({ends}), but that {how}"
        return "growing", words, _round(2 * late.n_late)
    if late.high <= LEAST_LEAK_BYTES:
        return "flat", f"no growth is proven, and none above {_size(late.high)} a request", None
    # Both what steps add and what chance does fall as the stretch grows.
    reach = late.high - late.value
    factor = max(2.0, 2 * reach / LEAST_LEAK_BYTES)
    words = f"growth and none both agree with what was seen ({ends})"
    return "cannot_tell", words, _round(2 * late.n_late * (factor - 1))


def _too_few(n: int) -> str:
    if n < LEAST_SERIES:
        return f"an interval is over workers, and {n or 'none'} served long enough"
    return "too few figures of the late half of each worker's requests"


def _new_bytes(life: Life) -> tuple[Floats, Floats]:
    """Return the smaller of both growths since the first figure, at each."""
    n, own, resident = _arrays(life)
    # Point by point the smaller one jumps between both where one lags; the one that has grown
    # less at the end is the smaller one throughout.
    half = len(n) // 2
    grown = own[-1] - own[half] < resident[-1] - resident[half]
    series = own if grown else resident
    return n, series - series[0]


def _arrays(life: Life) -> tuple[Floats, Floats, Floats]:
    n, own, resident = (
        np.array(each, dtype=float)
        for each in (life.n_requests, life.private_bytes, life.resident_bytes)
    )
    return n, own, resident


def _curve(lives: Sequence[Life], leak_bytes: float) -> PrivateCurve | None:
    """Return the curve of the lives' means; None where they have not bent or have no shape."""
    longest = sorted(lives, key=lambda each: each.n_requests[-1], reverse=True)[:_MOST_FITTED]
    starts, rises, scales = [], [], []
    for life in longest:
        n, own, _ = _arrays(life)
        age = n - n[0]
        if len(set(age[age > 0])) < _LEAST_POINTS - 1:
            continue
        level = own - leak_bytes * age
        if level.max() - level[0] < _LEAST_RISE_BYTES:
            starts.append(float(level.max()))
            rises.append(0.0)
            continue
        fit = fit_saturation(age, level, has_slope=False, confidence=CONFIDENCE)
        if fit.n_scale <= _BENT * age.max() and fit.rise > 0:
            starts.append(fit.start)
            rises.append(fit.rise)
            scales.append(fit.n_scale)
        elif leak_bytes > 0:  # what the leak leaves has no shape; its most is the safe side
            starts.append(float(level.max()))
            rises.append(0.0)
        else:
            return None
    if not starts:
        return None
    rise, low, high = over_series(rises, CONFIDENCE)
    return PrivateCurve(
        start_bytes=float(np.mean(starts)),
        rise_bytes=rise,
        rise_low_bytes=max(0.0, low) if math.isfinite(low) else None,
        rise_high_bytes=high if math.isfinite(high) else None,
        # The geometric mean: a scale's error is a share of it.
        n_scale=float(np.exp(np.mean(np.log(scales)))) if scales else 1.0,
        leak_bytes=leak_bytes,
    )


def _size(n_bytes: float) -> str:
    sign = "−" if n_bytes < 0 else ""
    return sign + format_bytes(abs(n_bytes))


def _round(n: float) -> int:
    """Return a count in two digits, upwards: it is a guess."""
    unit: int = 10 ** max(0, math.floor(math.log10(max(1.0, n))) - 1)
    return max(1, math.ceil(n / unit)) * unit
