"""One change at a time, in the order given; what is proven better stays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from httpdyno.experiment.calibration import N_STARTS, Pace
from httpdyno.experiment.claim import MAY_LOSE, limit_broken, worst_ratio
from httpdyno.experiment.comparison import Allowance, Session, run_comparison, unaffordable
from httpdyno.experiment.event import FinalDone, Notice, Stage, StepDone
from httpdyno.model import Comparison, Configuration, LadderStep, Objective, Step, level_text
from httpdyno.model.metric import RATIO_OF_METRIC

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Where a ladder stands between two steps."""

    best: Configuration
    running_ratio: float = 1.0
    """Product of the metric's ratios of what was kept."""
    kept_ratio: float = 1.0
    """What the metric keeps at the least, by the intervals of all steps that a tie breaker kept.
    Gains of other steps do not make up for it: they are no reason to give them away again."""

    @property
    def may_lose_ratio(self) -> float:
        """What is left to the tie breaker of what it may give away against the start."""
        return max(0.0, 1 - (1 - MAY_LOSE) / self.kept_ratio)

    def after(self, tried: LadderStep, objective: Objective) -> "Standing":
        """Return where it stands when this step was kept."""
        result = tried.comparison
        interval = result.ratios.get(RATIO_OF_METRIC[result.metric])
        given = worst_ratio(interval, objective) if interval and result.decided_by else 1.0
        return Standing(
            best=self.best.replaced(tried.knob, tried.after),
            running_ratio=tried.running_ratio,
            kept_ratio=self.kept_ratio * min(1.0, given),
        )


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
    standing = Standing(best=session.plan.study.start_configuration())
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
        if standing.best.values[rung.step.knob] == rung.step.to:
            continue
        tempo = learnt(pace, done)
        if not session.n_stored(rung.index) and not _has_time(session, tempo, rung):
            break
        if rung.attempt == 1:
            n_again = len(_worth_another_try(done, steps))
            rung = replace(rung, to_come=rung.to_come + n_again)
        tried = _climb_one(session, tempo, rung, standing)
        done = (*done, tried)
        if tried.kept:
            standing = standing.after(tried, session.plan.study.objective)
        session.watch(StepDone(step=tried))
        on_step(done)
        if not waiting and not is_again:
            is_again, waiting = True, _worth_another_try(done, steps)
    return done, standing.best


def learnt(pace: Pace, steps: Sequence[LadderStep]) -> Pace:
    """Return the pace by the calibration's starts and those of the steps together.

    The calibration knows what starts with other numbers of windows cost, of the start alone; a
    step whose starts were taken for cheaper than they are would be given up half-measured.
    """
    whole = [step.comparison for step in steps if step.comparison.verdict != "failed"]
    n_starts = N_STARTS + sum(result.n_starts for result in whole)
    total_s = N_STARTS * pace.start_s + sum(result.duration_s for result in whole)
    return structs.replace(pace, start_s=total_s / n_starts)


def _worth_another_try(done: Sequence[LadderStep], steps: Sequence[Step]) -> list[Rung]:
    """Return the undecided and equivalent steps that a later kept change may have freed.

    Not those that were superseded: another level of the same knob was kept since.
    """
    last_kept = {step.knob: number for number, step in enumerate(done) if step.kept}
    wanted = [
        step.comparison.index
        for number, step in enumerate(done)
        if step.comparison.verdict in {"inconclusive", "equivalent"}
        and number < max(last_kept.values(), default=0)
        and number > last_kept.get(step.knob, -1)
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


def _climb_one(session: Session, pace: Pace, rung: Rung, standing: Standing) -> LadderStep:
    study, step = session.plan.study, rung.step
    best = standing.best
    knob = study.knob(step.knob)
    final_s = final_reserve_s(session, pace) * rung.attempt
    expected_s = fewest_s(session, pace)
    steps_s = session.left_s - final_s
    # What cannot have its fewest starts is not begun: it gets no share, and is not waited for.
    to_come = max(1, min(rung.to_come, int(steps_s / expected_s)))
    share_s = max(steps_s / to_come, expected_s)
    session.stage = rung.stage
    session.watch(
        Stage(
            name=session.stage,
            detail=f"{step.knob} → {level_text(step.to)}",
            elapsed_s=session.spent_s,
            left_s=min(expected_s * to_come + final_s, session.left_s),
        )
    )
    result = run_comparison(
        session,
        rung.index,
        (best, best.replaced(step.knob, step.to)),
        Allowance(
            time_s=share_s,
            limit_s=steps_s - (to_come - 1) * expected_s,
            whole_s=steps_s,
            n_blocks=pace.n_blocks,
            start_s=pace.start_s,
            after_s=expected_s * (to_come - 1) + final_s,
            may_lose_ratio=standing.may_lose_ratio,
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
        running_ratio=standing.running_ratio * (_metric_ratio(result) if kept else 1.0),
    )


def final_reserve_s(session: Session, pace: Pace) -> float:
    """Return the time that is kept for the final claim."""
    return fewest_s(session, pace) * 1.1


def final_comparison(
    session: Session, pace: Pace, index: int, best: Configuration, objective: Objective
) -> Comparison | None:
    """Compare the best proven configuration with the start on fresh starts.

    Fresh, because the steps that were kept are those that came out well: their product is an
    optimist. None if nothing was kept. Where its fewest starts do not fit into what is left of the
    budget, it is `not_measured`, and says what it takes.
    """
    start = session.plan.study.start_configuration()
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
    # Its time was set aside; what went wrong on the way may have used some of it up.
    is_affordable = fewest_s(session, pace) <= session.overtime_s
    if is_affordable or session.n_stored(index):
        result = run_comparison(
            session,
            index,
            (start, best),
            Allowance(
                time_s=max(session.left_s, fewest_s(session, pace)),
                limit_s=session.left_s,
                whole_s=session.overtime_s,
                n_blocks=pace.n_blocks,
                start_s=pace.start_s,
                is_last=True,
                precise_log_ratio=FINAL_LOG_RATIO,
            ),
            objective,
        )
    else:
        result = unaffordable(session, index, (start, best), fewest_s(session, pace))
    session.watch(FinalDone(comparison=result))
    return result


def _metric_ratio(result: Comparison) -> float:
    interval = result.ratios.get(RATIO_OF_METRIC[result.metric])
    return interval.ratio if interval else 1.0
