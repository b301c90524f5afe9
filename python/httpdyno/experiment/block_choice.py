"""How many blocks of windows the next starts have: the study's, or half as many.

A start costs the same to come up, however long it is measured. Where starts differ more than their
windows do, or where so little is left open that the fewest starts decide it anyway, half of the
blocks decide sooner. Both spreads are known from the starts that ended; the choice is made before
the next ones begin, so each of them is a fair draw whatever was chosen.

More blocks than the default four never paid (`research/blocks`): while starts are few, another one
narrows the interval by more than what it measures, because it tells the spread too; and starts of
many blocks beside those of few count no more than they.

In the model of `research/blocks` +40 % takes 4.6 s in place of 6.2 s. +3 %, where starts differ by
6 %, takes 46 s in place of 51 s. Percentiles, their limits and tie breakers keep all blocks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev, variance

from httpdyno.experiment.block_ratios import block_log_ratios
from httpdyno.experiment.evidence import log_ratios
from httpdyno.metrics import named
from httpdyno.model import Objective, StartRecord
from httpdyno.stats.sequence import starts_needed
from httpdyno.stats.verdict import distance, distance_to_border

PRIOR_STARTS = 3
"""As many starts the guess weighs that the two spreads are such that half of the time is best spent
on either: a few starts may agree by chance."""
LEAST = 2
"""Blocks of a start: one says nothing of how windows differ."""
WORTH = 0.8
"""Half of the blocks are chosen where they decide in at most so much of the time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartTimes:
    """What a start takes."""

    overhead_s: float
    """Coming up, warming up and ending, its share where several do so at the same time; and
    counting its system calls, or coming up by itself, where that belongs to each start."""
    block_s: float
    """Of all arms' windows in one block."""

    def start_s(self, n_blocks: int) -> float:
        """Return the time of a start."""
        return self.overhead_s + n_blocks * self.block_s


def start_times(last: Sequence[StartRecord], room: int) -> StartTimes:
    """Return what each of the next starts is expected to take, from those that ended last.

    Args:
        last: Starts that were up at the same time; (≥ 1,).
        room: How many of the next ones may be.
    """
    mean_s = math.fsum(start.measuring_s for start in last) / len(last)
    windows = [window for start in last for window in start.windows]
    load_s = math.fsum(window.measurement.total_s for window in windows) / len(last)
    own_s = math.fsum(start.one_by_one_s for start in last) / len(last)
    # All else than the windows and that is done for all of them at the same time.
    share = room if len(last) == 1 else 1
    overhead_s = max(0.0, mean_s - load_s - own_s) / share + own_s
    return StartTimes(overhead_s=overhead_s, block_s=load_s / max(1, blocks_of(last)))


def blocks_of(starts: Sequence[StartRecord]) -> int:
    """Return the most blocks that an arm of these starts has."""
    return max(
        (window.block + 1 for start in starts for window in start.windows),
        default=0,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Standard deviations of log ratios."""

    between_starts: float
    """What more blocks would not take away."""
    between_blocks: float

    def of_start(self, n_blocks: int) -> float:
        """Return that of whole starts of so many blocks."""
        return math.hypot(self.between_starts, self.between_blocks / math.sqrt(n_blocks))


def spread_of(starts: Sequence[StartRecord], ratio_name: str, times: StartTimes) -> Spread | None:
    """Return both spreads of a ratio; None where no start has two blocks with it."""
    rows = [row for row in block_log_ratios(starts, ratio_name) if len(row) > 1]
    if not rows:
        return None
    within = fmean(variance(row) for row in rows)
    ratios = log_ratios(starts, ratio_name)
    n_more = len(ratios) - 1
    seen = variance(ratios) - within / fmean(len(row) for row in rows) if n_more else 0.0
    guess = within * times.block_s / times.overhead_s if times.overhead_s else within
    between = (PRIOR_STARTS * guess + n_more * max(0.0, seen)) / (PRIOR_STARTS + n_more)
    return Spread(between_starts=math.sqrt(between), between_blocks=math.sqrt(within))


def choose_blocks(  # noqa: PLR0913 - what is known, what is wanted, and what may be chosen
    starts: Sequence[StartRecord],
    objective: Objective,
    times: StartTimes,
    *,
    base: int,
    fewest_starts: int,
    precise_log_ratio: float | None = None,
    borders: Sequence[float] = (),
) -> int:
    """Return the blocks of each of the next starts: `base`, or half of it.

    Args:
        starts: That ended; (≥ 1,).
        objective: What is to be decided.
        times: What a start takes.
        base: The study's blocks.
        fewest_starts: Of which something may be claimed.
        precise_log_ratio: Half-width that is wanted besides the decision.
        borders: Ratios that the interval is to hold none of, in place of being decided.
    """
    name = named(objective.metric).ratio
    ratios = log_ratios(starts, name)
    spread = spread_of(starts, name, times) if ratios else None
    half = base // 2
    if spread is None or half < LEAST or is_long_needed(objective):
        return base
    n = len(ratios)
    # By a standard error less than it seems: what is not there must not be counted on.
    sd = spread.of_start(blocks_of(starts[:1])) if n == 1 else stdev(ratios)
    error = sd / math.sqrt(n)
    if borders:
        wanted = max(0.0, distance_to_border(fmean(ratios), borders) - error)
    else:
        effect = max(0.0, abs(fmean(ratios)) - error)
        wanted = distance(effect, margin_ratio=objective.margin_ratio)
    if precise_log_ratio is not None:
        wanted = min(wanted, math.log1p(precise_log_ratio))
    alpha = 1 - objective.confidence_of(objective.metric)

    def takes_s(n_blocks: int) -> float:
        needed = starts_needed(spread.of_start(n_blocks), wanted, alpha=alpha)
        if needed is None:
            return math.inf
        return max(1, needed - n, fewest_starts - n) * times.start_s(n_blocks)

    return half if takes_s(half) < WORTH * takes_s(base) else base


def is_long_needed(objective: Objective) -> bool:
    """Tell whether fewer blocks could be too few requests for what is asked of percentiles."""
    asked = {objective.metric, *objective.also}
    is_percentile = any(named(metric).distribution for metric in asked)
    return is_percentile or bool(objective.tie_breaker) or objective.max_p99_s is not None
