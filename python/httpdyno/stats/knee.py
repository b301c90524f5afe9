"""Where a curve stops being worth climbing, and which of several words is worth taking."""

from collections.abc import Mapping, Sequence

from httpdyno.model import Level, RatioInterval


def knee_rule(*, more_is_better: bool = True) -> str:
    """Return in words what `knee` does."""
    return (
        f"the smallest level that is not proven to be {_worse(more_is_better)} the best (its "
        "ratio's interval touches 1); fewer workers win ties"
    )


def choice_rule(*, more_is_better: bool = True) -> str:
    """Return in words what `choice` does."""
    return (
        f"the level with the {'most' if more_is_better else 'least'}, or the start where that is "
        f"not proven to be {_worse(more_is_better)} it (its ratio's interval touches 1)"
    )


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


def _worse(more_is_better: bool) -> str:
    return "below" if more_is_better else "above"


def _ties(to_best: RatioInterval | None, more_is_better: bool) -> bool:
    if to_best is None:
        return False
    return to_best.high >= 1 if more_is_better else to_best.low <= 1
