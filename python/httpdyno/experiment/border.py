"""A comparison that is to end on one side of some ratios, whatever its own verdict is; pure.

Whoever judges a ratio by other borders than 1 is not served by a comparison that ends as soon as 1
is excluded: how wide its interval is by then is chance, and so would be what is said.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import fmean, stdev

from httpdyno.experiment.claim import Claim, Terms
from httpdyno.experiment.evidence import log_ratios
from httpdyno.metrics.table import named
from httpdyno.model import StartRecord
from httpdyno.stats.sequence import starts_needed
from httpdyno.stats.verdict import distance_to_border, holds_border


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed(Claim):
    """A claim that is open for as long as its interval holds one of the borders.

    Its starts needed are those after which it is expected to hold none.
    """

    is_clear: bool

    @property
    def is_decided(self) -> bool:
        """Whether the interval lies between two borders, or beyond all."""
        return self.is_clear


def placed(
    state: Claim, starts: Sequence[StartRecord], terms: Terms, borders: Sequence[float]
) -> Claim:
    """Return a claim as open as the borders leave it; as it is where there are none.

    It is as it is, too, where there are too few starts, or figures that contradict each other.

    Args:
        state: Of these starts.
        starts: That ended; (n_starts,).
        terms: The claim was made by.
        borders: Ratios of the metric, b over a.
    """
    objective, interval = terms.objective, state.interval
    ratios = log_ratios(starts, named(objective.metric).ratio)
    n = len(ratios)
    is_told = state.verdict not in {"failed", "not_measured"} and not state.is_doubted
    if not borders or interval is None or n < terms.min_starts or not is_told:
        return state
    spread, alpha = stdev(ratios), 1 - objective.confidence_of(objective.metric)

    def needed(n_errors: int) -> int | None:
        error = n_errors * spread / math.sqrt(n)
        # No number of starts makes that smaller which all of them are off by.
        wanted = distance_to_border(fmean(ratios), borders, error=error) - state.slack
        n_figures = starts_needed(spread, wanted, alpha=alpha)
        # Not every start gives a figure.
        return None if n_figures is None else math.ceil(n_figures * len(starts) / n)

    known = {each.name: getattr(state, each.name) for each in fields(state)}
    known |= {"starts_needed": needed(0), "starts_at_best": needed(1)}
    known |= {"starts_at_luckiest": needed(2), "may_change": False}
    return Placed(**known, is_clear=not holds_border(interval, borders))
