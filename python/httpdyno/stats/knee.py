"""Where a curve stops being worth climbing, and which of several words is worth taking."""

from collections.abc import Mapping, Sequence

from httpdyno.model import Level, RatioInterval

KNEE_RULE = (
    "the smallest level that is not proven to be below the best (its ratio's interval touches 1); "
    "fewer workers win ties"
)


CHOICE_RULE = (
    "the level with the most, or the start where that is not proven to be below it (its ratio's "
    "interval touches 1)"
)


def knee(levels: Sequence[Level], ratios: Mapping[Level, RatioInterval], best: Level) -> Level:
    """Return the smallest level that is not proven to be below the best.

    Ratios are of paired figures, not of two intervals laid side by side: two intervals may
    overlap although the difference is proven, and the knee would come out too small.

    Args:
        levels: Ascending.
        ratios: Level → its figure over the best level's, more is better; levels that could not
            run, or of which nothing is known yet, are missing and are passed over.
        best: The level with the highest figure.
    """
    return next(
        level for level in levels if level == best or (level in ratios and ratios[level].high >= 1)
    )


def choice(start: Level, ratios: Mapping[Level, RatioInterval], best: Level) -> Level:
    """Return the best level of a knob whose levels are words, or the start.

    Words lie in no order that a figure could follow, so there is no smallest one to be content
    with; what is there already wins ties.

    Args:
        start: The level that the study starts from.
        ratios: As of `knee`.
        best: As of `knee`.
    """
    return start if start in ratios and ratios[start].high >= 1 else best
