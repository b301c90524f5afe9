"""How finely a metric is known, and intervals without a width; pure.

A count may be the same in every start: that its ratio never varied is the figure's nature and no
sign of much evidence, so it is said. What is timed by looking is known as finely as somebody looks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev

from msgspec import structs

from httpdyno.metrics.metric import Metric
from httpdyno.metrics.totals import arm_totals
from httpdyno.model import RatioInterval, StartRecord
from httpdyno.reason import Reason, because

_ALIKE = 1e-12
"""Standard deviations of a log ratio below this are the arithmetic's."""
_MOST_LOST = 0.5
"""Of what is over so soon nothing is claimed."""


def no_width(metric: Metric, spread: float, n: int) -> tuple[Reason, ...]:
    """Return what a verdict is to add whose interval has no width; nothing where it has one.

    Args:
        metric: Any; only those that are counted are spoken of.
        spread: Standard deviation of the starts' log ratios.
        n: How many they are.
    """
    if not metric.is_counted or spread >= _ALIKE:
        return ()
    return (because("metrics.no_width", n=n),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """By which part arms may have been sooner than all of their starts say."""

    resolution_s: float
    of_a: float = 0.0
    of_b: float = 0.0

    @property
    def log(self) -> float:
        """By how much more that may be of the log ratio, to the one side or the other."""
        return -math.log1p(-max(self.of_a, self.of_b))

    @property
    def notes(self) -> tuple[Reason, ...]:
        """What a verdict is to add; empty where nothing is lost."""
        if self.log <= 0:
            return ()
        return (because("metrics.lost_between_looks", every_s=self.resolution_s),)

    def in_interval(self, seen: RatioInterval) -> RatioInterval:
        """Return an interval of b over a that has it in it."""
        low, high = seen.low * (1 - self.of_b), seen.high / (1 - self.of_a)
        return structs.replace(seen, low=low, high=high)


def lost_between_looks(starts: Sequence[StartRecord], metric: Metric) -> Lost:
    """Return what arms 0 and 1 lose of what is timed by looking, and nothing of other figures.

    Where an arm's starts differ by less than the time between two looks they come out at the same
    look each time, and their spread says nothing of what lies before it. Where they differ by more
    it does, and their mean is as fine as any.
    """
    of_a, of_b = (_lost_of(starts, arm, metric) for arm in (0, 1))
    return Lost(resolution_s=metric.resolution_s, of_a=of_a, of_b=of_b)


def _lost_of(starts: Sequence[StartRecord], arm: int, metric: Metric) -> float:
    if not metric.resolution_s:
        return 0.0
    values = (metric.of_totals(arm_totals(start, arm)) for start in starts)
    known = [each for each in values if each > 0]
    if not known or (len(known) > 1 and stdev(known) >= metric.resolution_s):
        return 0.0
    return min(metric.resolution_s / min(known), _MOST_LOST)
