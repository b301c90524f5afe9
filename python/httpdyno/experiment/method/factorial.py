"""Every combination of a few knobs with two levels: all stand by, and every block loads each once.

A ladder's gains are told of what was best before them; here each knob is told of both levels of
each other one, so it shows where gains do not add up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from httpdyno.errors import TargetError
from httpdyno.experiment.decide.factorial_claim import (
    Gone,
    best_of,
    factorial_of,
    gone_of,
    is_decided,
    whole_starts,
)
from httpdyno.experiment.decide.warning import window_warnings
from httpdyno.experiment.design.plan import comparisons_ahead, factorial_arms
from httpdyno.experiment.method.session import GrowingOutcome, Notice, RoundDone, Session, Stage
from httpdyno.experiment.method.stages import StartCost, final_comparison, withdrawn
from httpdyno.experiment.method.sweep import SHARE
from httpdyno.experiment.trial.budget import FINAL_SLACK, Needed, too_short
from httpdyno.model import Configuration, Factorial, ResultWarning, StartRecord, Study
from httpdyno.reason import because
from httpdyno.units import format_guess


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """All combinations, measured."""

    factorial: Factorial
    best: Configuration
    """Of those that keep the objective's limits: what is worth taking."""
    pair_s: float
    """What a start of two of them costs."""
    warnings: tuple[ResultWarning, ...]


def run_factorial(session: Session, outcome: GrowingOutcome) -> None:
    """Measure all combinations, and the best of them against the start on fresh starts."""
    study = session.plan.study
    measured = measure_factorial(session, lambda found: outcome.note(factorial=found))
    found = measured.factorial
    outcome.note(factorial=found)
    outcome.warn(*measured.warnings)
    if 0 in found.gone:
        status, why = found.arms[0].status, found.arms[0].detail
        outcome.warn(because("experiment.start_is_no_combination", status=status, why=why))
        outcome.settle(measured.best)
        return
    cost = StartCost(
        n_blocks=study.method.blocks_per_start,
        first_s=measured.pair_s,
        start_s=measured.pair_s,
        figures={},
    )
    final = final_comparison(session, outcome, cost, measured.best, study.objective)
    broken = outcome.conclude(final)
    outcome.settle(
        measured.best,
        withdrawn=withdrawn(final, broken, because("experiment.the_best_combination")),
    )


def measure_factorial(session: Session, on_round: Callable[[Factorial], object]) -> Measured:
    """Measure rounds of starts of all combinations until all is decided or time is up.

    A combination that does not run is left out of later rounds; what it shortened in the one where
    it failed counts where all others have a figure.

    Raises:
        TargetError: No effect can be told: no two combinations that differ in one knob run.
        UsageError: The budget is too short for the fewest rounds and the final claim.
    """
    study, arms = session.plan.study, factorial_arms(session.plan.study)
    method = study.method
    index = session.begin("factorial", arms)
    session.watch(
        Stage(
            name=session.stage,
            detail=because("experiment.combinations_side_by_side", n=len(arms)),
            elapsed_s=session.spent_s,
            left_s=study.budget_s - session.spent_s,
        )
    )
    starts: list[StartRecord] = []
    gone: dict[int, Gone] = {}
    while True:
        left_out = frozenset(gone)
        starts.append(
            session.sound_start(
                index, arms, method.blocks_per_start, left_out=left_out, references=()
            )
        )
        gone = gone_of(starts, study)
        _tell(session, {arm: gone[arm] for arm in gone.keys() - left_out}, arms)
        found = factorial_of(starts, study)
        _require_effects(found, gone, study)
        on_round(found)
        # What a round costs is that of what runs still, where there is such a one.
        whole = whole_starts(starts, study, gone)
        round_s = fmean(start.measuring_s for start in whole or starts)
        pair_s = round_s * 2 / (len(arms) - len(gone))
        final_s = pair_s * method.min_starts + session.looks_s(*comparisons_ahead(session.plan)[1:])
        n_missing = max(0, method.min_starts - found.n_starts)
        _require_budget(session, len(arms), (n_missing, round_s), final_s)
        left_s = min(
            study.budget_s * SHARE - session.spent_s, session.left_s - final_s * FINAL_SLACK
        )
        session.watch(
            RoundDone(
                n_starts=found.n_starts,
                n_arms=len(arms) - len(gone),
                elapsed_s=session.spent_s,
                left_s=max(n_missing * round_s, left_s, 0.0) + final_s,
            )
        )
        if not n_missing and (is_decided(found, study) or round_s > left_s):
            seen = window_warnings(starts, "combinations")
            return Measured(
                factorial=found,
                best=best_of(starts, found, study),
                pair_s=pair_s,
                warnings=(*session.dropped_warnings(index), *seen),
            )


def _tell(session: Session, gone: dict[int, Gone], arms: Sequence[Configuration]) -> None:
    for number, each in sorted(gone.items()):
        left_out = because(
            "experiment.goes_on_without",
            combination=arms[number].label(),
            status=each.status,
            why=each.detail,
        )
        session.watch(Notice(reason=left_out))


def _require_effects(found: Factorial, gone: dict[int, Gone], study: Study) -> None:
    """Refuse a factorial of which nothing can be told.

    Raises:
        TargetError: With what does not run, by name.
    """
    if any(each.verdict != "not_measured" for each in found.effects):
        return
    arms = factorial_arms(study)
    raise TargetError(
        "no two combinations run that differ in one knob, so no effect can be told",
        hint='leave a knob out, or use `method.kind = "table"`',
        why=[
            because(
                "experiment.combination_failed",
                combination=arms[number].label(),
                status=each.status,
                why=each.detail,
            )
            for number, each in sorted(gone.items())
        ],
    )


def _require_budget(session: Session, n_arms: int, more: tuple[int, float], final_s: float) -> None:
    n_missing, round_s = more
    if n_missing == 0 or n_missing * round_s + final_s <= session.left_s:
        return
    budget_s, min_starts = session.plan.study.budget_s, session.plan.study.method.min_starts
    raise too_short(
        budget_s,
        f"one round of all {n_arms} combinations takes about {format_guess(round_s)} here; it "
        f"takes {min_starts} of them, and {format_guess(final_s)} for the final claim",
        Needed.at_once(session.spent_s + n_missing * round_s + final_s),
    )
