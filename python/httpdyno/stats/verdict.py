"""From an interval to one of four verdicts, how far it is from one, and the knee of a curve."""

import math
from collections.abc import Mapping, Sequence

from httpdyno.model import Level, RatioInterval, Verdict
from httpdyno.reason import Reason, because


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


def knee_rule(*, more_is_better: bool = True) -> Reason:
    """Return what `knee` does."""
    return because("stats.knee_below" if more_is_better else "stats.knee_above")


def choice_rule(*, more_is_better: bool = True) -> Reason:
    """Return what `choice` does."""
    return because("stats.choice_most" if more_is_better else "stats.choice_least")


def knee(
    levels: Sequence[Level],
    ratios: Mapping[Level, RatioInterval],
    best: Level,
    *,
    more_is_better: bool = True,
) -> Level:
    """Return the smallest level that is not proven to be worse than the best.

    Ratios are of paired figures, not of two intervals laid side by side: two intervals may
    overlap although the difference is proven, and the knee would come out too small.

    Args:
        levels: Ascending.
        ratios: Level → its figure over the best level's; levels that could not run, or of which
            nothing is known yet, are missing and are passed over.
        best: The level with the best figure.
        more_is_better: Whether that is the highest one.
    """
    return next(
        level for level in levels if level == best or _ties(ratios.get(level), more_is_better)
    )


def choice(
    start: Level,
    ratios: Mapping[Level, RatioInterval],
    best: Level,
    *,
    more_is_better: bool = True,
) -> Level:
    """Return the best level of a knob whose levels are words, or the start.

    Words lie in no order that a figure could follow, so there is no smallest one to be content
    with; what is there already wins ties.

    Args:
        start: The level that the study starts from.
        ratios: As of `knee`.
        best: As of `knee`.
        more_is_better: As of `knee`.
    """
    return start if _ties(ratios.get(start), more_is_better) else best


def _ties(to_best: RatioInterval | None, more_is_better: bool) -> bool:
    if to_best is None:
        return False
    return to_best.high >= 1 if more_is_better else to_best.low <= 1
