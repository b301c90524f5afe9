"""Figures with their intervals: ratios and quantities, ends rounded outward."""

import math

from httpdyno.model import RatioInterval
from httpdyno.report.shared.phrase import NOTHING, confidence_percent, plural
from httpdyno.units import Format, Toward, format_bounds, format_number

_FINE = 0.05
"""Intervals narrower than this need a third decimal to show their width."""
_VAGUE = 1.5
"""Upper end over lower one of an interval that holds 1: from there on a ratio says nothing."""
_MOST_DECIMALS = 17
"""With so many, a text tells a float from all others near 1."""


def bounded_text(
    value: float, ends: tuple[float | None, float | None], write: Format, more: str = ""
) -> str:
    """Return `1.5 ms (1.2 ms … 1.9 ms; 95 % confidence)`; without ends that are not known.

    What takes less than nothing by chance takes nothing.

    Args:
        value: The figure.
        ends: Of its interval.
        write: How both are written.
        more: Behind the interval.
    """
    low, high = ends
    words = write(max(0.0, value))
    if low is None or high is None or not math.isfinite(high):
        return words
    return f"{words} ({format_bounds(max(0.0, low), max(0.0, high), write)}{more})"


def ratio_text(ratio: float | None, *, decimals: int | None = None) -> str:
    """Return a ratio with the digits that matter at its size, without `×`."""
    if ratio is None or not math.isfinite(ratio):
        return NOTHING
    return format_number(ratio, _digits(ratio) if decimals is None else decimals)


def _digits(ratio: float) -> int:
    """Return how many decimals matter: three digits in all, two where it is below a tenth."""
    if 0 < ratio < 0.1:  # noqa: PLR2004 - a tenth
        return 1 - math.floor(math.log10(ratio))
    return 0 if ratio >= 100 else 1 if ratio >= 10 else 2  # noqa: PLR2004 - three digits


def _interval_texts(interval: RatioInterval) -> tuple[str, str, str]:
    """Return low end, middle and high end; every place that shows an interval has them from here.

    The ends are rounded outward, but not across 1: what is wholly on one side of it reads so.
    The middle lies between the ends as they are shown.
    """
    is_fine = interval.high - interval.low < _FINE and interval.ratio < 10  # noqa: PLR2004

    def decimals(value: float) -> int:
        return max(3, _digits(value)) if is_fine else _digits(value)

    low, high = interval.low, interval.high
    low_text = _beside_1(low, decimals(low), "down") if low > 0 else "0"
    high_text = _beside_1(high, decimals(high), "up") if math.isfinite(high) else "∞"
    if not math.isfinite(interval.ratio):
        return low_text, NOTHING, high_text
    wanted = decimals(interval.ratio)
    middle = format_number(interval.ratio, wanted)
    while wanted < _MOST_DECIMALS and not (
        _number(low_text) <= _number(middle) <= _number(high_text)
    ):
        wanted += 1
        middle = format_number(interval.ratio, wanted)
    return low_text, middle, high_text


def _beside_1(value: float, decimals: int, toward: Toward) -> str:
    """Return an end of an interval, with as many digits as keep it on its side of 1."""
    text = format_number(value, decimals, toward=toward)
    while decimals < _MOST_DECIMALS and _side(_number(text)) != _side(value):
        decimals += 1
        text = format_number(value, decimals, toward=toward)
    return text


def _side(ratio: float) -> int:
    return (ratio > 1) - (ratio < 1)


def _number(text: str) -> float:
    return math.inf if text == "∞" else float(text.replace(",", ""))


def interval_ratio_text(interval: RatioInterval | None) -> str:
    """Return an interval's middle, as precise as its width asks for."""
    return NOTHING if interval is None else _interval_texts(interval)[1]


def is_telling(interval: RatioInterval | None) -> bool:
    """Tell whether an interval says on which side of 1 a ratio is, or that it is near 1."""
    if interval is None:
        return False
    return not interval.low < 1 < interval.high or interval.high <= _VAGUE * interval.low


def bounds_text(interval: RatioInterval | None) -> str:
    """Return `4.61 … 5.24`; `unbounded` where the data bound nothing yet."""
    if interval is None:
        return NOTHING
    if interval.low <= 0 and not math.isfinite(interval.high):
        return "unbounded"
    low, _, high = _interval_texts(interval)
    return f"{low} … {high}"


def confidence_text(interval: RatioInterval, n_starts: int) -> str:
    """Return `95 % confidence, 6 starts`."""
    return f"{confidence_percent(interval.confidence)} confidence, {plural(n_starts, 'start')}"


def interval_text(interval: RatioInterval | None, n_starts: int) -> str:
    """Return `4.92 × (4.61 … 5.24; 95 % confidence, 6 starts)`."""
    if interval is None:
        return "not measured"
    middle, bounds = interval_ratio_text(interval), bounds_text(interval)
    return f"{middle} × ({bounds}; {confidence_text(interval, n_starts)})"


def ratio_bounds_text(interval: RatioInterval | None) -> str:
    """Return `4.92 × (4.61 … 5.24)`."""
    if interval is None:
        return "not measured"
    return f"{interval_ratio_text(interval)} × ({bounds_text(interval)})"


def proven_bound_text(interval: RatioInterval, *, more_is_better: bool) -> str:
    """Return the end of the interval that a claim may be made of."""
    low, _, high = _interval_texts(interval)
    return low if more_is_better else high
