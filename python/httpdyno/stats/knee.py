"""Where a curve stops being worth climbing."""

from collections.abc import Mapping, Sequence

from httpdyno.model import RatioInterval

KNEE_RULE = (
    "the smallest level that is not proven to be below the best (its ratio's interval touches 1); "
    "fewer workers win ties"
)


def knee(levels: Sequence[float], ratios: Mapping[float, RatioInterval], best: float) -> float:
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
