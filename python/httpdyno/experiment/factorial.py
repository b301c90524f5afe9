"""Every combination of a few knobs with two levels: all stand by, and every block loads each once.

A ladder's gains are told of what was best before them; here each knob is told of both levels of
each other one, so it shows where gains do not add up.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment import caveat
from httpdyno.experiment.calibration import StartCost
from httpdyno.experiment.event import RoundDone, Stage
from httpdyno.experiment.evidence import (
    arm_status,
    arm_summary,
    carries,
    has_answers,
    start_figures,
)
from httpdyno.experiment.final import final_comparison, withdrawn
from httpdyno.experiment.limit import within_limits
from httpdyno.experiment.littles_law import little_doubt
from httpdyno.experiment.outcome import GrowingOutcome
from httpdyno.experiment.planning import factorial_arms
from httpdyno.experiment.session import CLOSING_RATIO, Session
from httpdyno.experiment.sweep import FINAL_SLACK, SHARE
from httpdyno.model import (
    Configuration,
    Effect,
    Factorial,
    Level,
    RatioInterval,
    SimpleEffect,
    StartRecord,
    Study,
)
from httpdyno.model.metric import MORE_IS_BETTER, RATIO_OF_METRIC
from httpdyno.stats.factorial import (
    Weights,
    contrast,
    effect,
    interaction,
    pairs,
    risk_of_each,
)
from httpdyno.stats.sequence import ratio_interval
from httpdyno.stats.verdict import verdict
from httpdyno.units import format_duration


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """All combinations, measured."""

    factorial: Factorial
    best: Configuration
    """Of those that keep the objective's limits: what is worth taking."""
    pair_s: float
    """What a start of two of them costs."""
    caveats: caveat.Caveats


def run_factorial(session: Session, outcome: GrowingOutcome) -> None:
    """Measure all combinations, and the best of them against the start on fresh starts."""
    study = session.plan.study
    measured = measure_factorial(session, lambda found: outcome.note(factorial=found))
    outcome.note(factorial=measured.factorial)
    outcome.doubt(*measured.caveats)
    cost = StartCost(
        n_blocks=study.method.blocks_per_start,
        first_s=measured.pair_s,
        start_s=measured.pair_s,
        figures={},
    )
    final = final_comparison(session, outcome, cost, measured.best, study.objective)
    broken = outcome.conclude(final)
    outcome.settle(measured.best, withdrawn=withdrawn(final, broken, "the best combination"))


def measure_factorial(session: Session, on_round: Callable[[Factorial], object]) -> Measured:
    """Measure rounds of starts of all combinations until all is decided or time is up.

    Raises:
        TargetError: A combination does not run: without it no effect is known.
        UsageError: The budget is too short for the fewest rounds and the final claim.
    """
    study, arms = session.plan.study, factorial_arms(session.plan.study)
    method = study.method
    index = session.begin("factorial", arms)
    session.watch(
        Stage(
            name=session.stage,
            detail=f"{len(arms)} combinations side by side",
            elapsed_s=session.spent_s,
            left_s=study.budget_s - session.spent_s,
        )
    )
    starts: list[StartRecord] = []
    while True:
        starts.append(session.sound_start(index, arms, method.blocks_per_start, references=()))
        _require_all(starts, arms, RATIO_OF_METRIC[study.objective.metric])
        found = factorial_of(starts, study)
        on_round(found)
        round_s = fmean(start.duration_s for start in starts)
        pair_s = round_s * 2 / len(arms)
        final_s = pair_s * method.min_starts
        n_missing = max(0, method.min_starts - found.n_starts)
        _require_budget(session, len(arms), n_missing * round_s, final_s)
        left_s = min(
            study.budget_s * SHARE - session.spent_s, session.left_s - final_s * FINAL_SLACK
        )
        session.watch(
            RoundDone(
                n_starts=found.n_starts,
                n_arms=len(arms),
                elapsed_s=session.spent_s,
                left_s=max(n_missing * round_s, left_s, 0.0) + final_s,
            )
        )
        is_decided = all(each.verdict != "inconclusive" for each in found.effects)
        if not n_missing and (is_decided or round_s > left_s):
            seen = caveat.within("among the combinations", caveat.window_caveats(starts))
            return Measured(
                factorial=found,
                best=_best(starts, found, study),
                pair_s=pair_s,
                caveats=(*session.dropped_caveats(index), *seen),
            )


_SILENT_STARTS = 2
"""Starts without any figure of a combination after which no further one is waited for."""


def _require_all(
    starts: Sequence[StartRecord], arms: Sequence[Configuration], ratio_name: str
) -> None:
    for arm, configuration in enumerate(arms):
        status, detail = arm_status(starts, arm)
        is_silent = not any(_has_figure(start, arm, ratio_name) for start in starts)
        if status == "complete" and is_silent and len(starts) >= _SILENT_STARTS:
            status, detail = "unstable", f"no right answers, or no {ratio_name}, in any start"
        if status != "complete":
            raise TargetError(
                f"the combination {configuration.label()} {status}: {detail}".rstrip(": "),
                hint="a factorial needs all of them; leave a knob out, or use "
                '`method.kind = "table"`',
            )


def _require_budget(session: Session, n_arms: int, more_s: float, final_s: float) -> None:
    if more_s == 0 or more_s + final_s <= session.left_s:
        return
    budget_s, min_starts = session.plan.study.budget_s, session.plan.study.method.min_starts
    needed_s = (session.spent_s + more_s + final_s) / (1 - CLOSING_RATIO) * 1.05
    raise UsageError(
        f"a budget of {format_duration(budget_s)} is too short to claim anything: it takes "
        f"{min_starts} rounds of all {n_arms} combinations, and {format_duration(final_s)} for the "
        "final claim",
        hint=f"it takes about {format_duration(needed_s)}; see `--budget`",
    )


def factorial_of(starts: Sequence[StartRecord], study: Study) -> Factorial:
    """Return the effects that these starts show.

    A start in which some combination gave no figure counts for none. All intervals are
    anytime-valid, and hold together.
    """
    arms, metric = factorial_arms(study), study.objective.metric
    name, n_knobs = RATIO_OF_METRIC[metric], len(study.knobs)
    logs = _all_logs(starts, name)
    doubt = _doubt(starts, name, range(len(arms)))
    risks = risk_of_each(n_knobs, 1 - study.objective.confidence)
    knobs = [knob.name for knob in study.knobs]
    named: list[tuple[tuple[str, ...], Weights]] = [
        *(((knobs[one],), effect(n_knobs, one)) for one in range(n_knobs)),
        *(
            ((knobs[one], knobs[other]), interaction(n_knobs, one, other))
            for one, other in pairs(n_knobs)
        ),
    ]
    directed = [each for one, other in pairs(n_knobs) for each in ((one, other), (other, one))]
    return Factorial(
        levels=_levels(study),
        metric=metric,
        n_starts=len(logs),
        arms=tuple(
            within_limits(arm_summary(starts, arm, configuration), study.objective)
            for arm, configuration in enumerate(arms)
        ),
        effects=tuple(
            _effect(of, weights, logs, study, risk=risks[0], doubt=doubt) for of, weights in named
        ),
        simple=tuple(
            SimpleEffect(
                knob=knobs[knob],
                given=knobs[given],
                is_given_changed=bool(at),
                ratio=_ratio(effect(n_knobs, knob, given, at=at), logs, risks[1]),
            )
            for knob, given in directed
            for at in (0, 1)
        ),
        doubt=doubt,
    )


def _levels(study: Study) -> dict[str, tuple[Level, Level]]:
    first, last = factorial_arms(study)[0], factorial_arms(study)[-1]
    return first.changes(last)


def _effect(  # noqa: PLR0913 - what it is of, its evidence, and the terms
    of: tuple[str, ...],
    weights: Weights,
    logs: Sequence[Sequence[float]],
    study: Study,
    *,
    risk: float,
    doubt: str,
) -> Effect:
    interval = _ratio(weights, logs, risk)
    objective = study.objective
    word = verdict(
        interval,
        margin_ratio=objective.margin_ratio,
        more_is_better=RATIO_OF_METRIC[objective.metric] in MORE_IS_BETTER,
    )
    is_open = bool(doubt) or len(logs) < study.method.min_starts
    return Effect(knobs=of, verdict="inconclusive" if is_open else word, ratio=interval)


def _ratio(weights: Weights, logs: Sequence[Sequence[float]], risk: float) -> RatioInterval | None:
    return ratio_interval([contrast(weights, row) for row in logs], confidence=1 - risk)


def _all_logs(starts: Sequence[StartRecord], ratio_name: str) -> list[list[float]]:
    """Return the logarithms of the figures of each start that has all of them."""
    return [row for start in starts if (row := _logs(start, ratio_name)) is not None]


def _logs(start: StartRecord, ratio_name: str) -> list[float] | None:
    """Return the logarithm of each combination's figure; None where one has none."""
    arms = range(len(start.statuses))
    if not all(_has_figure(start, arm, ratio_name) for arm in arms):
        return None
    return [math.log(start_figures(start, arm).value(ratio_name)) for arm in arms]


def _has_figure(start: StartRecord, arm: int, ratio_name: str) -> bool:
    value = start_figures(start, arm).value(ratio_name)
    return 0 < value < math.inf and has_answers(start, arm)


def _doubt(starts: Sequence[StartRecord], ratio_name: str, arms: Sequence[int]) -> str:
    """Return why nothing may be claimed of these figures; empty where it may."""
    if ratio_name == "throughput":
        return little_doubt(starts, arms)
    if not carries(starts, ratio_name):
        return "a start holds too few requests for this percentile"
    return ""


def _best(starts: Sequence[StartRecord], found: Factorial, study: Study) -> Configuration:
    """Return the combination of fewest changes that is not proven to be below the best one.

    So a knob that brings nothing does not ride along. The start where nothing may be claimed.
    """
    name = RATIO_OF_METRIC[found.metric]
    logs = _all_logs(starts, name)
    sign = 1 if name in MORE_IS_BETTER else -1
    able = [number for number, arm in enumerate(found.arms) if arm.status == "complete"]
    if found.doubt or not able or not logs:
        return study.start_configuration()
    gains = {number: [sign * row[number] for row in logs] for number in able}
    best = max(able, key=lambda number: fmean(gains[number]))
    confidence = 1 - (1 - study.objective.confidence) / max(1, len(able) - 1)

    def is_below(number: int) -> bool:
        pairs_of = zip(gains[number], gains[best], strict=True)
        interval = ratio_interval([mine - top for mine, top in pairs_of], confidence=confidence)
        return number != best and interval is not None and interval.high < 1

    level = [number for number in able if not is_below(number)]
    chosen = min(level, key=lambda number: (number.bit_count(), -fmean(gains[number])))
    return found.arms[chosen].configuration
