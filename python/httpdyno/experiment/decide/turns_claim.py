"""What periods of turns prove of instances that run already; pure.

A period is a block of their one start: it holds one turn of each instance, side by side in time, in
an order that is drawn. It is the unit: its log ratio is what the claim rests on, in the place of a
start's. Nothing was started anew, so whatever the one start of each instance gave to it is part of
the difference: the claim is of these instances as they run, never of their configurations.
"""

import math
from collections.abc import Sequence
from itertools import groupby

from msgspec import structs

from httpdyno.experiment.decide.claim import Terms, comparison
from httpdyno.experiment.decide.evidence import carries, log_ratios
from httpdyno.experiment.decide.usable import failing
from httpdyno.metrics import named
from httpdyno.metrics.totals import arm_windows
from httpdyno.model import (
    Comparison,
    Configuration,
    Objective,
    RatioInterval,
    StartRecord,
    Workload,
)
from httpdyno.reason import Reason, because
from httpdyno.stats.sequence import mean_interval, ratio_within

FEWEST_PERIODS = 6
"""Below, no figure is claimed; as with starts."""

FEWEST_TO_CHECK = 40
"""From so many on periods tell whether they hang together (`stats.estimation.MIN_INTERVALS`)."""

_N_STRETCHES = 8

MAX_P_SLOW = 0.5
"""As `stats.estimate` has it: more says that the run holds too few independent stretches."""

_UNKNOWN = Configuration()


def periods_of(start: StartRecord) -> list[StartRecord]:
    """Return the whole periods of a start, each as a start of its own."""
    in_order = sorted(start.windows, key=lambda window: (window.block, window.arm))
    periods = []
    for number, block in groupby(in_order, key=lambda window: window.block):
        turns = tuple(block)
        if len(turns) == len(start.statuses):
            duration_s = math.fsum(window.measurement.total_s for window in turns)
            periods.append(
                structs.replace(start, start=number, duration_s=duration_s, windows=turns)
            )
    return periods


def turns_comparison(
    periods: Sequence[StartRecord], candidate: int, *, objective: Objective, workload: Workload
) -> Comparison:
    """Return what the periods prove of an instance against the first.

    Args:
        periods: Whole ones, in their order.
        candidate: Which instance.
        objective: Its metric decides; its limits hold, and its confidence is this claim's.
        workload: What was sent, for the words of what failed.
    """
    terms = Terms(
        objective=objective,
        min_starts=FEWEST_PERIODS,
        requests=workload.requests,
        unit="period",
        interval_of=_interval,
    )
    pairs = [_pair(period, candidate) for period in periods]
    found = comparison(candidate, pairs, (_UNKNOWN, _UNKNOWN), terms)
    if found.verdict == "failed":
        return found
    if (why := _unmeasured(pairs, terms)) is not None:
        return structs.replace(found, verdict="not_measured", reasons=(why,), needed_s=None)
    ratios = log_ratios(pairs, named(objective.metric).ratio)
    if (doubts := independent_interval(ratios, alpha=0.05)[1]) and not found.is_doubted:
        return structs.replace(found, verdict="inconclusive", reasons=doubts, needed_s=None)
    if found.needed_s is None:
        return found
    takes = because("experiment.deciding_takes", needed_s=found.duration_s + found.needed_s)
    return structs.replace(found, reasons=(*found.reasons, takes))


def _unmeasured(pairs: Sequence[StartRecord], terms: Terms) -> Reason | None:
    """Return why periods that hold the candidate's turns say nothing of it; None: they may."""
    of_first = [window for pair in pairs for window in arm_windows(pair, 0)]
    if (why := failing(of_first, terms.objective, terms.requests)) is not None:
        return because("experiment.first_one_fails", why=why)
    metric = terms.objective.metric
    if len(pairs) >= terms.min_starts and not carries(pairs, named(metric).ratio):
        return because("experiment.thin_turns", metric=metric)
    return None


def _pair(period: StartRecord, candidate: int) -> StartRecord:
    """Return the reference's turn and the candidate's, as those of two arms."""
    windows = [structs.replace(each, arm=0) for each in arm_windows(period, 0)]
    windows += [structs.replace(each, arm=1) for each in arm_windows(period, candidate)]
    statuses = period.statuses[0], period.statuses[candidate]
    return structs.replace(period, statuses=statuses, windows=tuple(windows))


def _interval(log_ratios: Sequence[float], *, confidence: float) -> RatioInterval | None:
    bounds, _ = independent_interval(log_ratios, alpha=1 - confidence)
    return bounds and ratio_within(bounds, log_ratios, confidence=confidence)


def independent_interval(
    seen: Sequence[float], *, alpha: float
) -> tuple[tuple[float, float] | None, tuple[Reason, ...]]:
    """Return an interval for the mean log ratio of periods, and why it may not be trusted.

    The widest of three: of the periods as if they were independent, of as many as they are worth
    by their spectrum, and of eight stretches of them. Where they hang together for so long that
    nothing can be said, the reason says so. Simulated with 80 periods that tell of the next one
    (500 series each): at correlations of 0, 0.5, 0.7, 0.8 it misses in 0, 0, 1, 2 % of those
    without a reason; the first of the three alone in 0, 5, 14, 23 %. At 0.9, where two of three are
    given a reason, it misses in 13 % of the others.
    """
    bounds = mean_interval(seen, alpha=alpha)
    if bounds is None or len(seen) < FEWEST_TO_CHECK:
        return bounds, ()
    # Imported here: `httpdyno --help` need not load numpy.
    import numpy as np  # noqa: PLC0415

    from httpdyno.stats.dependence import Dependence  # noqa: PLC0415

    dependence = Dependence(np.asarray(seen, dtype=float))
    if dependence.is_constant:
        return bounds, ()
    reasons: tuple[Reason, ...] = ()
    if dependence.p_slow > MAX_P_SLOW:
        memory = round(dependence.slow_memory)
        reasons = (because("experiment.ratio_wandered", memory=memory, n=len(seen)),)
    length = len(seen) // _N_STRETCHES
    stretches = [
        math.fsum(seen[k * length : (k + 1) * length]) / length for k in range(_N_STRETCHES)
    ]
    halves = [_half(bounds), _half(mean_interval(stretches, alpha=alpha))]
    half = max(*halves, dependence.half_width(1 - alpha))
    middle = (bounds[0] + bounds[1]) / 2
    return (middle - half, middle + half), reasons


def _half(bounds: tuple[float, float] | None) -> float:
    return (bounds[1] - bounds[0]) / 2 if bounds else math.inf
