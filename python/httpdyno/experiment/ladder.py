"""One change at a time, in the order given; what is proven better stays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from httpdyno.experiment.calibration import Pace
from httpdyno.experiment.claim import limit_broken
from httpdyno.experiment.comparison import Allowance, Session, run_comparison
from httpdyno.experiment.event import FinalDone, Notice, Stage, StepDone
from httpdyno.experiment.evidence import RATIO_OF_METRIC
from httpdyno.model import Comparison, Configuration, LadderStep, Step, level_text

FINAL_LOG_RATIO = 0.05
"""The final claim goes on, as time allows, until its interval is about ±5 %."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """A step that is about to be tried."""

    index: int
    """Of its comparison."""
    step: Step
    attempt: int
    to_come: int
    """Rungs that still want time, this one included."""
    stage: str


def climb(
    session: Session, pace: Pace, on_step: Callable[[tuple[LadderStep, ...]], object]
) -> tuple[tuple[LadderStep, ...], Configuration]:
    """Try every step of the plan in order; return them with the best proven configuration.

    Steps that showed nothing are tried once more, as time allows, when a later change was kept:
    what they bring may have been hidden by a limit that is gone now. A step that cannot have its
    fewest starts is not begun: half-measured steps prove nothing and cost the final claim its time.

    Args:
        session: Holds the plan.
        pace: From the calibration.
        on_step: Called with all steps so far after each, to save them.
    """
    steps = session.plan.steps
    best = session.plan.study.start_configuration()
    done: tuple[LadderStep, ...] = ()
    waiting = [
        Rung(
            index=number,
            step=step,
            attempt=1,
            to_come=len(steps) - number + 1,
            stage=f"step {number} of {len(steps)}",
        )
        for number, step in enumerate(steps, 1)
    ]
    is_again = False
    while waiting:
        rung = waiting.pop(0)
        if best.values[rung.step.knob] == rung.step.to:
            continue
        if not session.n_stored(rung.index) and not _has_time(session, pace, rung):
            break
        if rung.attempt == 1:
            n_again = len(_worth_another_try(done, steps))
            rung = replace(rung, to_come=rung.to_come + n_again)
        tried = _climb_one(session, pace, rung, best, done[-1].running_ratio if done else 1.0)
        done = (*done, tried)
        if tried.kept:
            best = best.replaced(rung.step.knob, rung.step.to)
        session.watch(StepDone(step=tried))
        on_step(done)
        if not waiting and not is_again:
            is_again, waiting = True, _worth_another_try(done, steps)
    return done, best


def _worth_another_try(done: Sequence[LadderStep], steps: Sequence[Step]) -> list[Rung]:
    """Return the undecided and equivalent steps that a later kept change may have freed."""
    last_kept = max((number for number, step in enumerate(done) if step.kept), default=0)
    wanted = [
        step.comparison.index
        for step in done[:last_kept]
        if step.comparison.verdict in {"inconclusive", "equivalent"}
    ]
    return [
        Rung(
            index=len(steps) + index,
            step=steps[index - 1],
            attempt=2,
            to_come=len(wanted) - place,
            stage=f"again {place + 1} of {len(wanted)}",
        )
        for place, index in enumerate(wanted)
    ]


def _has_time(session: Session, pace: Pace, rung: Rung) -> bool:
    # A second try is worth less than a final claim with twice its fewest starts.
    final_s = final_reserve_s(session, pace) * rung.attempt
    return session.left_s - final_s >= fewest_s(session, pace)


def fewest_s(session: Session, pace: Pace) -> float:
    """Return the time that a comparison's fewest starts take."""
    return session.plan.study.method.min_starts * pace.start_s


def _climb_one(
    session: Session,
    pace: Pace,
    rung: Rung,
    best: Configuration,
    running_ratio: float,
) -> LadderStep:
    study, step, to_come = session.plan.study, rung.step, rung.to_come
    knob = study.knob(step.knob)
    final_s = final_reserve_s(session, pace) * rung.attempt
    share_s = max((session.left_s - final_s) / to_come, fewest_s(session, pace))
    session.stage = rung.stage
    expected_s = min(share_s, pace.start_s * study.method.min_starts)
    session.watch(
        Stage(
            name=session.stage,
            detail=f"{step.knob} → {level_text(step.to)}",
            elapsed_s=session.spent_s,
            left_s=expected_s * to_come + final_s,
        )
    )
    result = run_comparison(
        session,
        rung.index,
        (best, best.replaced(step.knob, step.to)),
        Allowance(
            time_s=share_s,
            limit_s=session.left_s - final_s - (to_come - 1) * fewest_s(session, pace),
            n_blocks=pace.n_blocks,
            start_s=pace.start_s,
            after_s=expected_s * (to_come - 1) + final_s,
        ),
    )
    broken = limit_broken(result.b, study.objective) if result.verdict == "better" else ""
    if broken:
        session.watch(
            Notice(message=f"{step.knob} → {level_text(step.to)} is faster but not kept: {broken}")
        )
        result = structs.replace(result, reason=f"{result.reason}; not kept: {broken}")
    kept = result.verdict == "better" and not broken
    return LadderStep(
        knob=step.knob,
        title=knob.title,
        before=best.values[step.knob],
        after=step.to,
        comparison=result,
        kept=kept,
        attempt=rung.attempt,
        book_ratio=step.book_ratio,
        running_ratio=running_ratio * (_deciding_ratio(result) if kept else 1.0),
    )


def final_reserve_s(session: Session, pace: Pace) -> float:
    """Return the time that is kept for the final claim."""
    return fewest_s(session, pace) * 1.1


def final_comparison(
    session: Session, pace: Pace, index: int, best: Configuration
) -> Comparison | None:
    """Compare the best proven configuration with the start on fresh starts.

    Fresh, because the steps that were kept are those that came out well: their product is an
    optimist. None if nothing was kept.
    """
    study = session.plan.study
    start = study.start_configuration()
    # The claim at the end is about the metric alone; nothing else may decide it.
    objective = structs.replace(study.objective, tie_breaker="")
    if best == start:
        return None
    session.stage = "final"
    session.watch(
        Stage(
            name="final",
            detail="start against the best proven configuration, on fresh starts",
            elapsed_s=session.spent_s,
            left_s=min(session.left_s, final_reserve_s(session, pace)),
        )
    )
    result = run_comparison(
        session,
        index,
        (start, best),
        Allowance(
            time_s=max(session.left_s, final_reserve_s(session, pace)),
            limit_s=session.left_s,
            n_blocks=pace.n_blocks,
            start_s=pace.start_s,
            precise_log_ratio=FINAL_LOG_RATIO,
        ),
        objective,
    )
    session.watch(FinalDone(comparison=result))
    return result


def _deciding_ratio(result: Comparison) -> float:
    interval = result.ratios.get(RATIO_OF_METRIC[result.metric])
    return interval.ratio if interval else 1.0
