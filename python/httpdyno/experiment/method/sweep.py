"""One knob over its levels: all levels stand by, and every block loads each of them once.

Levels that are numbers make a curve of the objective's metric, with a knee. Words and true or false
make none.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from httpdyno.advice.curve_fit import swept_pool
from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment.decide.claim import MAY_LOSE, worst_ratio
from httpdyno.experiment.decide.evidence import (
    Doubt,
    arm_status,
    arm_summary,
    doubt_about,
    figure,
    has_figures,
    log_ratios,
    no_figure,
    with_slack,
)
from httpdyno.experiment.decide.usable import within_limits
from httpdyno.experiment.decide.warning import is_unsteady, window_warnings
from httpdyno.experiment.design.plan import comparisons_ahead, sweep_levels
from httpdyno.experiment.method.session import GrowingOutcome, PointDone, Session, Stage
from httpdyno.experiment.method.stages import StartCost, final_comparison, withdrawn
from httpdyno.experiment.trial.budget import (
    FINAL_SLACK,
    Needed,
    budget_for,
    starts_ahead,
    too_short,
)
from httpdyno.metrics import named
from httpdyno.model import (
    Comparison,
    Configuration,
    Level,
    Objective,
    RatioInterval,
    ResultWarning,
    StartRecord,
    Study,
    Sweep,
    SweepPoint,
    is_of_words,
    level_text,
)
from httpdyno.reason import because
from httpdyno.stats.sequence import mean_interval, ratio_interval
from httpdyno.stats.verdict import choice, choice_rule, knee, knee_rule
from httpdyno.units import format_duration, format_guess

SHARE = 0.8
"""Of the budget for the curve; the rest is for knee against start on fresh starts."""

_EARLY = 2
"""Rounds after which it is said that they hold too few requests: others hold as many."""

FINE_LOG_RATIO = 0.02
"""The curve ends early when every level's interval is about ±2 %."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """A measured sweep."""

    sweep: Sweep
    pair_s: float
    """What a start of two of its levels costs."""
    warnings: tuple[ResultWarning, ...]


def run_sweep(session: Session, outcome: GrowingOutcome) -> None:
    """Measure the curve of all levels, and its knee against the start on fresh starts."""
    study = session.plan.study
    curve = measure_curve(session, lambda sweep: outcome.note(sweep=sweep))
    knee = curve.sweep.knee
    outcome.note(sweep=curve.sweep)
    outcome.warn(*curve.warnings)
    start = study.start_configuration()
    best = start.replaced(study.method.knob, knee)
    of_start = next(p.arm for p in curve.sweep.points if p.level == start.values[study.method.knob])
    if of_start.status != "complete":
        status, why = of_start.status, of_start.detail
        outcome.warn(because("experiment.start_is_no_level", status=status, why=why))
        outcome.settle(best)
        return
    cost = StartCost(
        n_blocks=study.method.blocks_per_start,
        first_s=curve.pair_s,
        start_s=curve.pair_s,
        figures={},
    )
    final = final_comparison(session, outcome, cost, best, study.objective)
    broken = outcome.conclude(final)
    what = because(
        "experiment.the_best_level" if curve.sweep.is_of_words else "experiment.the_knee",
        knob=study.method.knob,
        level=level_text(knee),
    )
    is_tie = _wins_tie(final, knee, start.values[study.method.knob], study.objective)
    stays = is_tie and broken is None
    outcome.settle(best, withdrawn=None if stays else withdrawn(final, broken, what))


def _wins_tie(final: Comparison | None, knee: Level, start: Level, objective: Objective) -> bool:
    """Tell whether the knee stands by being fewer, as on the curve: nothing shows a difference.

    As with other tie breakers, little may be lost by it, and that is proven.
    """
    interval = final.ratios.get(named(final.metric).ratio) if final else None
    if final is None or interval is None or is_of_words((knee, start)):
        return False
    if named(final.metric).is_rate and is_unsteady(final.warnings):
        return False  # nobody knows how far its figures are off, so they prove nothing
    is_tie = final.verdict in {"equivalent", "inconclusive"}
    is_fewer = float(knee) < float(start)
    return is_tie and is_fewer and worst_ratio(interval, objective) >= 1 - MAY_LOSE


def sweep_arms(study: Study) -> tuple[Configuration, ...]:
    """Return the configurations of all levels, in their order."""
    start = study.start_configuration()
    return tuple(start.replaced(study.method.knob, level) for level in sweep_levels(study))


def measure_curve(session: Session, on_round: Callable[[Sweep], object]) -> Curve:
    """Measure rounds of starts of all levels until the curve is fine enough or time is up.

    A level that fails is left out of later rounds, and the round in which it fell silent is not
    used: its end cut the other levels short. So what a round costs is known from whole ones only,
    and asked again after each: what cannot be had within the budget is refused as soon as that is
    known.

    Raises:
        TargetError: No level runs, or no figure of the metric can be had.
        UsageError: The budget is too short for the fewest rounds and the final claim.
    """
    study = session.plan.study
    method, arms = study.method, sweep_arms(study)
    whole: list[StartRecord] = []
    """Rounds in which no further level failed."""
    index = session.begin(f"sweep of {method.knob}", arms)
    session.watch(
        Stage(
            name=session.stage,
            detail=because("experiment.levels_side_by_side", n=len(arms)),
            elapsed_s=session.spent_s,
            left_s=study.budget_s - session.spent_s,
        )
    )
    starts: list[StartRecord] = []
    while True:
        failed = _failed(starts, arms)
        starts.append(
            session.sound_start(
                index, arms, method.blocks_per_start, left_out=failed, references=()
            )
        )
        if failed == _failed(starts, arms):
            whole.append(starts[-1])
        usable = usable_starts(starts, study)
        _require_figures(whole, failed, study)
        if not usable:
            _require_rounds(session, starts, 0.0, 0.0)
            continue
        round_s = fmean(start.measuring_s for start in usable)
        n_runs = sum(status == "complete" for status in usable[-1].statuses)
        pair_s = round_s * 2 / n_runs
        looks_s = session.looks_s(*comparisons_ahead(session.plan)[1:])
        final_s = pair_s * method.min_starts + looks_s
        _require_rounds(session, usable, round_s, final_s)
        curve = sweep_of(starts, study)
        on_round(curve)
        curve_left_s = min(
            study.budget_s * SHARE - session.spent_s, session.left_s - final_s * FINAL_SLACK
        )
        fewest_s = max(method.min_starts - len(usable), 0) * round_s
        session.watch(
            PointDone(
                sweep=curve,
                elapsed_s=session.spent_s,
                left_s=max(fewest_s, curve_left_s, 0.0) + final_s,
            )
        )
        is_late = round_s > curve_left_s
        doubt = _doubt(usable, study)
        if len(usable) >= method.min_starts and (is_late or _is_fine(curve, doubt)):
            seen = window_warnings(starts, "levels" if curve.is_of_words else "curve")
            return Curve(
                sweep=curve, pair_s=pair_s, warnings=(*session.dropped_warnings(index), *seen)
            )


def _failed(starts: Sequence[StartRecord], arms: Sequence[Configuration]) -> frozenset[int]:
    return frozenset(a for a in range(len(arms)) if arm_status(starts, a)[0] != "complete")


def _require_figures(whole: Sequence[StartRecord], failed: frozenset[int], study: Study) -> None:
    """Refuse a metric of which these rounds give no figure of all levels that run.

    Raises:
        TargetError: With why, and what to do.
    """
    knob, levels = study.method.knob, sweep_levels(study)
    runs = [arm for arm in range(len(levels)) if arm not in failed]
    names = [f"{knob} {level_text(levels[arm])}" for arm in runs]
    # One thin round among many ends no curve that was carried for long.
    first, metric = whole[: study.method.min_starts], study.objective.metric
    why = no_figure(first, metric, _EARLY, runs, names)
    if why is None and len(whole) > len(first):
        # But one in which a level has none of what is counted does: a curve of the others would be
        # of those that came out otherwise.
        why = named(metric).no_ratio(whole, runs, names)
    if why is not None:
        raise TargetError(f"no curve of {knob} can be drawn", why=[why])


def _require_rounds(
    session: Session, usable: Sequence[StartRecord], round_s: float, final_s: float
) -> None:
    """Refuse a budget that cannot hold the fewest rounds and the final claim.

    Args:
        session: Has what is left of the budget.
        usable: The rounds that count so far, or, where none does, those that were spent.
        round_s: Cost of a round; 0 where it is not known yet.
        final_s: Cost of the final claim's fewest starts.

    Raises:
        UsageError: With the time that it takes.
    """
    study = session.plan.study
    n_missing = max(0, study.method.min_starts - len(usable)) if round_s else 1
    if n_missing == 0 or n_missing * round_s + final_s <= session.left_s:
        return
    if not round_s:
        # Each level may fail in a round of its own, before the first whole one.
        n_rounds = len(session.plan.steps) + starts_ahead(session.plan).whole
        whole_s = session.spent_s / len(usable) * n_rounds
        raise UsageError(
            f"a budget of {format_duration(study.budget_s)} is over before one whole round of "
            f"{study.method.knob} was measured: in each of {len(usable)} a level failed",
            hint=f"leave out the levels that fail, or `--budget {budget_for(whole_s)}` is enough",
        )
    raise too_short(
        study.budget_s,
        f"one round of all levels takes about {format_guess(round_s)} here; it takes "
        f"{study.method.min_starts} of them, and {format_guess(final_s)} for the final claim",
        Needed.at_once(session.spent_s + n_missing * round_s + final_s),
    )


def usable_starts(starts: Sequence[StartRecord], study: Study) -> list[StartRecord]:
    """Return the starts in which every level that runs was measured.

    Raises:
        TargetError: No level runs.
    """
    runs = [a for a in range(len(sweep_arms(study))) if arm_status(starts, a)[0] == "complete"]
    if not runs:
        why = arm_status(starts, 0)[1]
        raise TargetError(f"no level of {study.method.knob} runs", why=why)
    return [
        start for start in starts if has_figures(start, runs, named(study.objective.metric).ratio)
    ]


def _doubt(starts: Sequence[StartRecord], study: Study) -> Doubt:
    """Return what is wrong with the metric of the levels that run, by Little's law."""
    runs = [a for a in range(len(sweep_arms(study))) if arm_status(starts, a)[0] == "complete"]
    return doubt_about(starts, named(study.objective.metric).ratio, runs)


def _is_fine(curve: Sweep, doubt: Doubt) -> bool:
    """Tell whether more rounds need not make it finer; what they are off by they do not."""
    limit = (1 + FINE_LOG_RATIO) ** 2
    return all(
        point.low > 0 and point.high / point.low <= limit * math.exp(2 * doubt.known(arm))
        for arm, point in enumerate(curve.points)
        if point.arm.status == "complete"
    )


def sweep_of(starts: Sequence[StartRecord], study: Study) -> Sweep:
    """Return the curve that these starts make.

    What all levels of a start share (the machine was slow just then) is taken out: a level's
    figure is the log of the metric minus the mean over the levels of that start. Intervals are
    anytime-valid and hold for all levels together (Bonferroni); those of throughput, and ratios of
    it, are wider by what the levels may be off by (`Doubt`), where anybody knows that.

    Source:
        Centring within subjects: Cousineau, Tutorials in Quantitative Methods for Psychology 1
        (2005), with Morey's correction, ibid. 4 (2008).
    """
    arms, levels = sweep_arms(study), sweep_levels(study)
    summaries = [
        within_limits(
            arm_summary(starts, arm, configuration, study.objective.named), study.objective
        )
        for arm, configuration in enumerate(arms)
    ]
    runs = [arm for arm, summary in enumerate(summaries) if summary.status == "complete"]
    if not runs:
        why = dict.fromkeys(each for summary in summaries for each in summary.detail)
        raise TargetError(f"no level of {study.method.knob} will do", why=[*why])
    starts = usable_starts(starts, study)
    logs = {arm: _logs(starts, arm, study.objective.metric) for arm in runs}
    common = [fmean(logs[arm][s] for arm in runs) for s in range(len(starts))]
    grand = fmean(common)
    confidence = 1 - (1 - study.objective.confidence) / len(runs)
    correction = math.sqrt(len(runs) / (len(runs) - 1)) if len(runs) > 1 else 1.0
    doubt = _doubt(starts, study)
    curves: dict[int, tuple[float, float, float]] = {}
    for arm in runs:
        centred = [value - common[s] for s, value in enumerate(logs[arm])]
        middle = fmean(centred)
        stretched = [middle + (value - middle) * correction for value in centred]
        bounds = mean_interval(stretched, alpha=1 - confidence) or (-math.inf, math.inf)
        off = doubt.known(arm)
        low, high = _exp(grand + bounds[0] - off), _exp(grand + bounds[1] + off)
        curves[arm] = _exp(grand + middle), low, high
    more_is_better = named(study.objective.metric).is_more_better
    best = (max if more_is_better else min)(runs, key=lambda arm: fmean(logs[arm]))
    against_best = 1 - (1 - study.objective.confidence) / max(1, len(runs) - 1)
    ratios = {arm: _ratio_to_best(logs, (arm, best), against_best, doubt) for arm in runs}
    known = {levels[arm]: ratio for arm, ratio in ratios.items() if ratio is not None}
    steps = _next_throughputs(starts, runs, against_best)
    points = tuple(
        SweepPoint(
            level=levels[arm],
            arm=summaries[arm],
            latency_p99_s=summaries[arm].latency_s.get("p99", 0.0),
            ratio_to_best=ratios.get(arm),
            next_throughput=steps.get(arm),
            value=value,
            low=low,
            high=high,
        )
        for arm in range(len(arms))
        for value, low, high in [curves.get(arm, (0.0, 0.0, 0.0))]
    )
    knob = study.knob(study.method.knob)
    chosen = knee(levels, known, levels[best], more_is_better=more_is_better)
    rule = knee_rule(more_is_better=more_is_better)
    if is_of_words(levels):
        chosen = choice(knob.start, known, levels[best], more_is_better=more_is_better)
        rule = choice_rule(more_is_better=more_is_better)
    return Sweep(
        knob=knob.name,
        unit=knob.unit,
        points=points,
        best=levels[best],
        knee=chosen,
        rule=rule,
        metric=study.objective.metric,
        pool=swept_pool(knob, points, study.load_of(arms[0])),
    )


def _exp(value: float) -> float:
    """Return e to the value, with a large finite number for infinity (JSON has none)."""
    return math.exp(min(value, 300.0))


def _logs(starts: Sequence[StartRecord], arm: int, metric: str) -> list[float]:
    return [math.log(figure(start, arm, named(metric))) for start in starts]


def _ratio_to_best(
    logs: dict[int, list[float]], both: tuple[int, int], confidence: float, doubt: Doubt
) -> RatioInterval | None:
    arm, best = both
    if arm == best:
        return None
    pairs = zip(logs[best], logs[arm], strict=True)
    seen = ratio_interval([b - a for a, b in pairs], confidence=confidence)
    return seen and with_slack(seen, doubt.slack(arm, best))


def _next_throughputs(
    starts: Sequence[StartRecord], runs: Sequence[int], confidence: float
) -> dict[int, RatioInterval]:
    """Return the throughput of each arm's next one over its own, where the starts bound it."""
    found = {}
    doubt = doubt_about(starts, "throughput", runs)
    for arm, after in pairwise(runs):
        logs = log_ratios(starts, "throughput", a=arm, b=after)
        ratio = ratio_interval(logs, confidence=confidence)
        if ratio is not None and math.isfinite(ratio.high):
            found[arm] = with_slack(ratio, doubt.slack(arm, after))
    return found
