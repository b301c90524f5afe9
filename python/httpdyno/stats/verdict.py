"""From an interval to one of four words; and how far it is from saying one."""

import math
from collections.abc import Sequence

from httpdyno.model import RatioInterval, Verdict


def verdict(
    interval: RatioInterval | None, *, margin_ratio: float, more_is_better: bool
) -> Verdict:
    """Return what the interval of candidate over reference proves.

    `equivalent` needs the whole interval within ±margin (1/(1+margin) to 1+margin), and wins over
    `better` and `worse`: a difference that is proven too small to matter does not matter.
    """
    if interval is None:
        return "inconclusive"
    margin = 1 + margin_ratio
    if 1 / margin <= interval.low and interval.high <= margin:
        return "equivalent"
    if interval.low > 1:
        return "better" if more_is_better else "worse"
    if interval.high < 1:
        return "worse" if more_is_better else "better"
    return "inconclusive"


def distance_to_decision(
    interval: RatioInterval, *, margin_ratio: float, error: float = 0.0
) -> float:
    """Return the half-width (of the log ratio) at which this ratio would be decided.

    The nearer of: excluding 1, or lying within the margin.

    Args:
        interval: Its ratio is looked at.
        margin_ratio: Of `equivalent`.
        error: By how much the true log ratio may lie to the better side of what was seen.
    """
    return distance(abs(math.log(interval.ratio)), margin_ratio=margin_ratio, error=error)


def distance(effect: float, *, margin_ratio: float, error: float = 0.0) -> float:
    """Return the half-width at which an effect, the log ratio without its sign, is decided."""
    return max(effect + error, math.log1p(margin_ratio) - max(0.0, effect - error))


def holds_border(interval: RatioInterval, borders: Sequence[float]) -> bool:
    """Tell whether one of these ratios lies inside the interval: its sides mean other things."""
    return any(interval.low < border < interval.high for border in borders)


def distance_to_border(log_ratio: float, borders: Sequence[float], *, error: float = 0.0) -> float:
    """Return the half-width (of the log ratio) at which an interval around it holds no border.

    Args:
        log_ratio: That was seen.
        borders: As ratios; (≥ 1,).
        error: By how much the true log ratio may lie to the better side of what was seen.
    """
    return max(
        min(abs(place - math.log(border)) for border in borders)
        for place in (log_ratio - error, log_ratio, log_ratio + error)
    )
