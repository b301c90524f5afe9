"""Where a curve stops being worth climbing."""

from collections.abc import Mapping, Sequence

KNEE_RULE = (
    "the smallest level whose interval touches that of the best level; fewer workers win ties"
)


def knee(
    levels: Sequence[float], intervals: Mapping[float, tuple[float, float]], best: float
) -> float:
    """Return the smallest level that is not proven to be below the best.

    Args:
        levels: Ascending; those without an interval (they could not run) are passed over.
        intervals: Level → (low, high) of its figure, more is better; anytime-valid, so that
            all levels can be compared whenever.
        best: The level with the highest figure.
    """
    best_low = intervals[best][0]
    return next(level for level in levels if level in intervals and intervals[level][1] >= best_low)
