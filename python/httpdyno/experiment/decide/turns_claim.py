"""What periods of turns prove of instances that run already; pure.

A period holds one turn of each instance, side by side in time, in an order that is drawn. It is the
unit: its log ratio is what the claim rests on. Nothing was started anew, so whatever the one start
of each instance gave to it is part of the difference: the claim is of these instances as they run,
never of their configurations.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from statistics import stdev

from msgspec import structs

from httpdyno.experiment.decide.evidence import Doubt, carries, doubt_about, log_ratios, with_slack
from httpdyno.experiment.decide.usable import failing
from httpdyno.metrics import METRICS, named
from httpdyno.model import (
    Objective,
    RatioInterval,
    StartRecord,
    TrialStatus,
    TurnsClaim,
    Verdict,
    WindowRecord,
    Workload,
)
from httpdyno.reason import Reason, because
from httpdyno.stats.sequence import mean_interval, starts_needed
from httpdyno.stats.verdict import distance_to_decision, verdict

FEWEST_PERIODS = 6
"""Below, no figure is claimed; as with starts."""

FEWEST_TO_CHECK = 40
"""From so many on periods tell whether they hang together (`stats.estimation.MIN_INTERVALS`)."""

_N_STRETCHES = 8

MAX_P_SLOW = 0.5
"""As `stats.estimate` has it: more says that the run holds too few independent stretches."""


def periods_of(windows: Sequence[WindowRecord], n_arms: int) -> list[StartRecord]:
    """Return the whole periods that these windows make, each as a record of its own."""
    complete: TrialStatus = "complete"
    in_order = sorted(windows, key=lambda window: window.block)
    periods = []
    for number, block in groupby(in_order, key=lambda window: window.block):
        turns = tuple(sorted(block, key=lambda window: window.arm))
        if len(turns) == n_arms:
            periods.append(
                StartRecord(
                    comparison=0,
                    start=number,
                    began_at="",
                    duration_s=math.fsum(window.measurement.total_s for window in turns),
                    statuses=(complete,) * n_arms,
                    windows=turns,
                )
            )
    return periods


def turns_claim(
    periods: Sequence[StartRecord],
    candidate: int,
    *,
    objective: Objective,
    workload: Workload,
    confidence: float,
) -> TurnsClaim:
    """Return what the periods prove of an instance against the first.

    Args:
        periods: Whole ones, in their order.
        candidate: Which instance.
        objective: Its metric decides; its limits hold.
        workload: What was sent, for the words of what failed.
        confidence: Of this claim's interval: the risk is shared with the others.
    """
    ratios = _intervals(periods, candidate, confidence)
    name = named(objective.metric).ratio
    seen = log_ratios(periods, name, b=candidate)
    claim = TurnsClaim(
        candidate=candidate,
        verdict="not_measured",
        reasons=(),
        n_periods=len(periods),
        ratios=ratios,
        per_period_ratio=tuple(math.exp(each) for each in seen),
    )
    if (why := _failure(periods, candidate, objective, workload)) is not None:
        return _with(claim, "failed", why)
    if (why := _failure(periods, 0, objective, workload)) is not None:
        return _with(claim, "not_measured", because("experiment.first_one_fails", why=why))
    if len(seen) < FEWEST_PERIODS:
        few = because("experiment.few_periods", n=len(seen), fewest=FEWEST_PERIODS)
        return _with(claim, "not_measured", few)
    if not carries(periods, name):
        thin = because("experiment.thin_turns", metric=objective.metric)
        return _with(claim, "not_measured", thin)
    interval = ratios.get(name)
    doubt = doubt_about(periods, name, [0, candidate])
    trouble = doubt.complaints if doubt.is_unbounded else independent_interval(seen, alpha=0.05)[1]
    if trouble or interval is None:
        nothing = (because("experiment.periods_bound_nothing"),)
        return _with(claim, "inconclusive", *(trouble or nothing))
    return _judged(claim, interval, seen, periods, (objective, doubt))


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


def _intervals(
    periods: Sequence[StartRecord], candidate: int, confidence: float
) -> dict[str, RatioInterval]:
    found = {}
    for name in (each.ratio for each in METRICS):
        if not carries(periods, name):
            continue
        seen = log_ratios(periods, name, b=candidate)
        bounds, _ = independent_interval(seen, alpha=1 - confidence)
        if bounds is not None and bounds[1] < math.log(1e6):
            interval = RatioInterval(
                ratio=math.exp(math.fsum(seen) / len(seen)),
                low=math.exp(bounds[0]),
                high=math.exp(bounds[1]),
                confidence=confidence,
            )
            doubt = doubt_about(periods, name, [0, candidate])
            found[name] = with_slack(interval, doubt.slack(0, candidate))
    return found


def _judged(
    claim: TurnsClaim,
    interval: RatioInterval,
    seen: Sequence[float],
    periods: Sequence[StartRecord],
    rules: tuple[Objective, Doubt],
) -> TurnsClaim:
    objective, doubt = rules
    margin, n = objective.margin_ratio, len(seen)
    word = verdict(
        interval, margin_ratio=margin, more_is_better=named(objective.metric).is_more_better
    )
    if word == "equivalent":
        within = because("experiment.within_margin", margin=margin)
        return _with(claim, word, within, *doubt.notes)
    if word != "inconclusive":
        side = because(
            "experiment.above_1_in_periods"
            if interval.low > 1
            else "experiment.below_1_in_periods",
            n=n,
        )
        return _with(claim, word, side, *doubt.notes)
    if doubt.complaints:
        return _with(claim, word, *doubt.complaints)
    wanted = distance_to_decision(interval, margin_ratio=margin)
    needed = starts_needed(stdev(seen), wanted, alpha=1 - interval.confidence)
    holds_1 = because("experiment.holds_1_in_periods", n=n)
    if needed is None or needed <= n:
        return _with(claim, word, holds_1)
    period_s = math.fsum(period.duration_s for period in periods) / len(periods)
    needed_s = needed * period_s
    takes = because("experiment.deciding_takes", needed_s=needed_s)
    return structs.replace(_with(claim, word, holds_1, takes), needed_s=needed_s)


def _failure(
    periods: Sequence[StartRecord], arm: int, objective: Objective, workload: Workload
) -> Reason | None:
    windows = [w for period in periods for w in period.windows if w.arm == arm]
    return failing(windows, objective, workload.requests)


def _with(claim: TurnsClaim, word: Verdict, *reasons: Reason) -> TurnsClaim:
    return structs.replace(claim, verdict=word, reasons=reasons)
