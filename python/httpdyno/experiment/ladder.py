"""One change at a time, in the order given; what is proven better stays."""

from collections.abc import Callable

from msgspec import structs

from httpdyno.experiment.calibration import Pace
from httpdyno.experiment.comparison import Allowance, Session, run_comparison
from httpdyno.experiment.event import FinalDone, Notice, Stage, StepDone
from httpdyno.experiment.evidence import RATIO_OF_METRIC, limit_broken
from httpdyno.model import Comparison, Configuration, LadderStep, Step, level_text

FINAL_LOG_RATIO = 0.05
"""The final claim goes on, as time allows, until its interval is about ±5 %."""


def climb(
    session: Session, pace: Pace, on_step: Callable[[tuple[LadderStep, ...]], object]
) -> tuple[tuple[LadderStep, ...], Configuration]:
    """Try the plan's steps in order; return them with the best proven configuration.

    A step that cannot have its fewest starts is not begun, nor those after it: half-measured
    steps would cost the final claim its time and prove nothing.

    Args:
        session: Holds the plan.
        pace: From the calibration.
        on_step: Called with all steps so far after each, to save them.
    """
    plan = session.plan
    best = plan.study.start_configuration()
    done: tuple[LadderStep, ...] = ()
    for index, step in enumerate(plan.steps, 1):
        if best.values[step.knob] == step.to:
            continue
        if not session.n_stored(index) and not _has_time(session, pace):
            break
        before = done[-1].running_ratio if done else 1.0
        rung = _climb_one(session, pace, (index, step), best, before)
        done = (*done, rung)
        if rung.kept:
            best = best.replaced(step.knob, step.to)
        session.watch(StepDone(step=rung))
        on_step(done)
    return done, best


def _has_time(session: Session, pace: Pace) -> bool:
    return session.left_s - final_reserve_s(session, pace) >= fewest_s(session, pace)


def fewest_s(session: Session, pace: Pace) -> float:
    """Return the time that a comparison's fewest starts take."""
    return session.plan.study.method.min_starts * pace.start_s


def _climb_one(
    session: Session,
    pace: Pace,
    numbered: tuple[int, Step],
    best: Configuration,
    running_ratio: float,
) -> LadderStep:
    study, steps = session.plan.study, session.plan.steps
    index, step = numbered
    knob = study.knob(step.knob)
    final_s = final_reserve_s(session, pace)
    to_come = len(steps) - index + 1
    share_s = max((session.left_s - final_s) / to_come, fewest_s(session, pace))
    session.stage = f"step {index} of {len(steps)}"
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
        index,
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
    )
    session.watch(FinalDone(comparison=result))
    return result


def _deciding_ratio(result: Comparison) -> float:
    interval = result.ratios.get(RATIO_OF_METRIC[result.metric])
    return interval.ratio if interval else 1.0
