"""One change at a time, in the order given; what is proven better stays.

The time of a ladder's steps: what one may use, and what is kept for those after it.

A step's own cost is its starts, and a look at each configuration that nobody looked at yet. The
final claim's is set aside while any step is tried.

A step that was begun gets its six starts as long as the final claim has its own: half of six proves
nothing. A step that is expected to be decided with no more starts than it has may borrow the time
of later steps. One that could not be decided even if the truth lay a standard error nearer to a
decision ends early as `inconclusive`. Steps that showed nothing before a kept change are tried once
more, except levels of a knob of which another one was kept. Then undecided steps go on, first the
one that lacks the fewest starts, while the truth lying two standard errors nearer would decide them
in time. What has nothing after it (the final claim, `compare`) never ends early for being hopeless
where it has a budget.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from msgspec import structs

from httpdyno.experiment.decide.claim import MAY_LOSE, claim, worst_ratio
from httpdyno.experiment.design.plan import change_of, comparisons_ahead
from httpdyno.experiment.method.comparison import Allowance, nearest, run_comparison, terms_of
from httpdyno.experiment.method.session import GrowingOutcome, Notice, Session, Stage, StepDone
from httpdyno.experiment.method.stages import (
    StartCost,
    calibrate,
    calibrated,
    fewest_s,
    final_comparison,
    final_reserve_s,
    withdrawn,
)
from httpdyno.experiment.trial.budget import FINAL_SLACK, N_CALIBRATION_STARTS, Needed, too_short
from httpdyno.metrics.table import named
from httpdyno.model import Comparison, Configuration, LadderStep, Objective, Step
from httpdyno.reason import because
from httpdyno.units import format_guess

FINAL_AFTER_STEPS = 2
"""What is set aside for the final claim, in times that its fewest starts take, where a step is
tried again or goes on: it is worth more then."""

Arms = tuple[Configuration, Configuration]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """A step that is about to be tried."""

    step: Step
    attempt: int
    stage: str
    later: tuple[Step, ...] = ()
    """Those that want time after it."""
    index: int | None = None
    """The comparison that goes on; None begins one."""

    @property
    def to_come(self) -> int:
        """Rungs that still want time, this one included."""
        return 1 + len(self.later)


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """What a rung may use."""

    time_s: float
    limit_s: float
    """What it may borrow from later ones, in all."""
    whole_s: float
    """What its fewest starts may use, in all. While nothing is kept there is nothing that a final
    claim would prove: one step that is measured tells more than none."""
    expected_s: float
    """What it is expected to take."""
    after_s: float
    """What is planned for what comes after it."""


def learnt(session: Session, cost: StartCost, steps: Sequence[LadderStep]) -> StartCost:
    """Return what a start costs by the calibration's starts and those of the steps together.

    The calibration knows what starts with other numbers of windows cost, of the start alone; a
    step whose starts were taken for cheaper than they are would be given up half-measured. What was
    looked at in them is not looked at again, so it is no cost of a start.
    """
    whole = [step.comparison for step in steps if step.comparison.verdict != "failed"]
    n_later = N_CALIBRATION_STARTS + sum(result.n_starts - 1 for result in whole)
    later_s = sum(
        result.duration_s - session.looked_s(result.index) - cost.first_s for result in whole
    )
    total_s = N_CALIBRATION_STARTS * cost.start_s + later_s
    step_s = fmean(result.duration_s for result in whole) if whole else 0.0
    return structs.replace(cost, start_s=max(0.0, total_s) / n_later, step_s=step_s)


def has_time(session: Session, cost: StartCost, rung: Rung, arms: Arms) -> bool:
    """Tell whether a rung can have its fewest starts, and the final claim after it."""
    needed_s = fewest_s(session, cost) + session.looks_s(arms)
    return session.left_s - _final_after_s(session, cost, rung, arms) >= needed_s


def share_of(session: Session, cost: StartCost, rung: Rung, arms: Arms) -> Share:
    """Return what a rung may use, with those to come after it."""
    kept_s = _final_after_s(session, cost, rung, arms)
    steps_s = session.left_s - kept_s
    own_s = 0.0 if rung.index is not None else session.looks_s(arms)
    starts_s = fewest_s(session, cost)
    later_s = starts_s + _look_of_later_s(session, rung, arms)
    # What cannot have its fewest starts is not begun: it gets no share, and is not waited for.
    n_later = max(0, int(min(len(rung.later), (steps_s - own_s - starts_s) / later_s)))
    looks_s = own_s + n_later * (later_s - starts_s)
    typical_s = max(cost.step_s, later_s)
    return Share(
        time_s=own_s + max((steps_s - looks_s) / (1 + n_later), starts_s),
        limit_s=steps_s - n_later * later_s,
        whole_s=session.left_s if arms[0] == session.plan.study.start_configuration() else steps_s,
        expected_s=max(typical_s, own_s + starts_s),
        after_s=n_later * typical_s + kept_s,
    )


def _look_of_later_s(session: Session, rung: Rung, arms: Arms) -> float:
    """Return what looks take in a later rung, in the mean, were nothing kept before it."""
    later = [(arms[0], arms[0].with_values(step.values)) for step in rung.later]
    if not later:
        return 0.0
    return (session.looks_s(arms, *later) - session.looks_s(arms)) / len(later)


def _final_after_s(session: Session, cost: StartCost, rung: Rung, arms: Arms) -> float:
    """Return what is kept for the final claim while a rung is tried, as if that were kept."""
    is_first = rung.attempt == 1 and rung.index is None
    before = () if rung.index is not None else (arms,)
    return final_s(session, cost, 1 if is_first else FINAL_AFTER_STEPS, arms[1], before)


def final_s(
    session: Session,
    cost: StartCost,
    times: int,
    best: Configuration,
    before: tuple[Arms, ...] = (),
) -> float:
    """Return what is kept for the final claim.

    Args:
        session: Holds the plan.
        cost: Of its starts.
        times: What its fewest starts take.
        best: What is compared with the start then.
        before: What is compared before it: what is looked at there is not looked at again.
    """
    final = session.plan.study.start_configuration(), best
    looks_s = session.looks_s(*before, final) - session.looks_s(*before)
    return final_reserve_s(session, cost) * times + looks_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """A rung with what came of it."""

    rung: Rung
    step: LadderStep
    arms: Arms


@dataclass(frozen=True, kw_only=True, slots=True)
class Climbed:
    """Where a ladder ended."""

    steps: tuple[LadderStep, ...]
    best: Configuration
    not_tried: tuple[Step, ...]
    """Steps of the plan for which there was no time."""


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
        interval = result.ratios.get(named(result.metric).ratio)
        given = worst_ratio(interval, objective) if interval and result.decided_by else 1.0
        return Standing(
            best=self.best.with_values({name: after for name, (_, after) in tried.changes.items()}),
            running_ratio=tried.running_ratio,
            kept_ratio=self.kept_ratio * min(1.0, given),
        )


def run_ladder(session: Session, outcome: GrowingOutcome) -> None:
    """Calibrate, try the plan's steps, and prove what was kept on fresh starts."""
    plan = session.plan
    cost = calibrate(session, outcome, n_comparisons=len(plan.steps) + 1)
    _require_time(session, cost)
    session.watch(Notice(reason=calibrated(cost, plan.study.budget_s)))
    climbed = climb(session, cost, lambda done: outcome.note(steps=done))
    steps, best = climbed.steps, climbed.best
    cost = learnt(session, cost, steps)
    _leave_out(session, outcome, cost, climbed)
    # What decided the steps decides the whole: the metric alone, unless its tie breaker kept some.
    is_by_tie = any(step.kept and step.comparison.decided_by for step in steps)
    objective = plan.study.objective
    if not is_by_tie:
        objective = structs.replace(objective, tie_breaker="")
    outcome.note(steps=steps)
    final = final_comparison(session, outcome, cost, best, objective)
    broken = outcome.conclude(final)
    n_kept = sum(step.kept for step in steps)
    what = because("experiment.the_change" if n_kept == 1 else "experiment.the_changes", n=n_kept)
    outcome.settle(best, withdrawn=withdrawn(final, broken, what))


def climb(
    session: Session, cost: StartCost, on_step: Callable[[tuple[LadderStep, ...]], object]
) -> Climbed:
    """Try every step of the plan in order; return them with the best proven configuration.

    Steps that showed nothing are tried once more, as time allows, when a later change was kept:
    what they bring may have been hidden by a limit that is gone now. With the time that is left
    then, undecided steps go on while two standard errors of luck may decide them, first the one
    that needs the least: it would only narrow the final claim. A step that cannot have its
    fewest starts is not begun: half-measured steps prove nothing and cost the final claim its time.

    Args:
        session: Holds the plan.
        cost: From the calibration.
        on_step: Called with all steps so far after each, to save them.
    """
    steps = session.plan.steps
    standing = Standing(best=session.plan.study.start_configuration())
    done: list[Tried] = []
    not_tried: tuple[Step, ...] = ()
    waiting = [
        Rung(
            step=step,
            attempt=1,
            stage=f"step {number} of {len(steps)}",
            later=steps[number:],
        )
        for number, step in enumerate(steps, 1)
    ]
    is_again = False
    while waiting:
        rung = waiting.pop(0)
        arms = (standing.best, standing.best.with_values(rung.step.values))
        if arms[0] == arms[1]:
            continue
        now = learnt(session, cost, [each.step for each in done])
        is_begun = rung.index is not None or session.has_stored(rung.stage, arms)
        if not is_begun and not has_time(session, now, rung, arms):
            not_tried = () if is_again else (rung.step, *(each.step for each in waiting))
            break
        if rung.attempt == 1:
            again = (each.step for each in _worth_another_try(done))
            rung = replace(rung, later=(*rung.later, *again))
        tried = _climb_one(session, now, rung, standing, arms)
        if rung.index is not None:
            done = [each for each in done if each.step.comparison.index != rung.index]
        done.append(Tried(rung=rung, step=tried, arms=arms))
        if tried.kept:
            standing = standing.after(tried, session.plan.study.objective)
        session.watch(StepDone(step=tried))
        on_step(tuple(each.step for each in done))
        if not waiting and not is_again:
            is_again, waiting = True, _worth_another_try(done)
        if not waiting:
            waiting = _within_reach(session, now, done, standing)
    return Climbed(steps=tuple(each.step for each in done), best=standing.best, not_tried=not_tried)


def _worth_another_try(done: Sequence[Tried]) -> list[Rung]:
    """Return the undecided and equivalent steps that a later kept change may have freed.

    Not those that were superseded: another value of a knob that they set was kept since.
    """
    last_kept = {
        name: number
        for number, each in enumerate(done)
        if each.step.kept
        for name in each.step.changes
    }
    wanted = [
        each.rung.step
        for number, each in enumerate(done)
        if each.step.comparison.verdict in _MAY_BE_OPEN
        and number < max(last_kept.values(), default=0)
        and number > max(last_kept.get(name, -1) for name in each.rung.step.values)
    ]
    return [
        Rung(
            step=step,
            attempt=2,
            stage=f"again {place + 1} of {len(wanted)}",
            later=tuple(wanted[place + 1 :]),
        )
        for place, step in enumerate(wanted)
    ]


def _within_reach(
    session: Session, cost: StartCost, done: Sequence[Tried], standing: Standing
) -> list[Rung]:
    """Return the undecided step that needs the least time; none where all are out of reach.

    One that is equivalent in the metric is undecided while its tie breaker is.
    Its comparison goes on where it was: the interval holds at any length of the sequence. Without
    a limit of time, what is open is so because it cannot be decided.
    """
    if session.plan.study.is_until_decided:
        return []
    left_s = session.left_s - final_s(session, cost, FINAL_AFTER_STEPS, standing.best)
    if left_s < cost.start_s:
        return []
    terms = terms_of(session.plan.study, standing.may_lose_ratio)
    states = {
        number: state
        for number, each in enumerate(done)
        if each.step.comparison.verdict in _MAY_BE_OPEN and _is_now(each, standing)
        for state in [claim(session.sound_so_far(each.step.comparison.index), terms)]
        if not state.is_decided
    }
    number = nearest(states, left_s, cost.start_s)
    if number is None:
        return []
    again = done[number]
    return [replace(again.rung, later=(), index=again.step.comparison.index)]


def _is_now(tried: Tried, standing: Standing) -> bool:
    """Tell whether a step was asked of what is the best now."""
    return tried.arms == (standing.best, standing.best.with_values(tried.rung.step.values))


_MAY_BE_OPEN = frozenset({"inconclusive", "equivalent"})


def _climb_one(
    session: Session,
    cost: StartCost,
    rung: Rung,
    standing: Standing,
    arms: Arms,
) -> LadderStep:
    study, step = session.plan.study, rung.step
    share = share_of(session, cost, rung, arms)
    index = rung.index
    if index is None:
        index = session.begin(rung.stage, arms)
    else:
        session.stage = rung.stage
    left_s = max(0.0, min(share.expected_s + share.after_s, session.left_s))
    session.watch(
        Stage(
            name=session.stage,
            detail=step.label,
            elapsed_s=session.spent_s,
            left_s=None if study.is_until_decided else left_s,
        )
    )
    result = run_comparison(
        session,
        index,
        arms,
        Allowance(
            time_s=share.time_s,
            limit_s=share.limit_s,
            whole_s=share.whole_s,
            n_blocks=cost.n_blocks,
            is_left_over=rung.index is not None,
            after_s=share.after_s,
            may_lose_ratio=standing.may_lose_ratio,
        ),
    )
    kept = result.verdict == "better"
    return LadderStep(
        **change_of(study, step, arms),
        comparison=result,
        kept=kept,
        attempt=rung.attempt,
        book_ratio=step.book_ratio,
        running_ratio=standing.running_ratio * (_metric_ratio(result) if kept else 1.0),
    )


def _metric_ratio(result: Comparison) -> float:
    interval = result.ratios.get(named(result.metric).ratio)
    return interval.ratio if interval else 1.0


def _require_time(session: Session, cost: StartCost) -> None:
    """Refuse a budget in which not even one step could be proven."""
    ahead = comparisons_ahead(session.plan)
    first_s = session.looks_s(*ahead[:1], *ahead[-1:])
    needed_s = fewest_s(session, cost) + final_reserve_s(session, cost) + first_s
    if session.left_s < needed_s and not session.goes_on:
        study, one_s, n_steps = session.plan.study, fewest_s(session, cost), len(session.plan.steps)
        whole_s = (n_steps + FINAL_SLACK) * one_s + session.looks_s(*ahead)
        raise too_short(
            study.budget_s,
            f"one step takes about {format_guess(one_s)} here, {study.method.min_starts} starts of "
            f"both; there are {n_steps}, and the final claim takes as long as one",
            Needed(
                first_s=session.spent_s + needed_s,
                whole_s=session.spent_s + whole_s,
                n_steps=n_steps,
            ),
        )


def _leave_out(
    session: Session, outcome: GrowingOutcome, cost: StartCost, climbed: Climbed
) -> None:
    """Say which steps were left out for want of time, and how much more they take."""
    best, left = climbed.best, climbed.not_tried
    if not left:
        outcome.note(not_tried=(), needed_s=None)
        return
    looks_s = session.looks_s(*((best, best.with_values(step.values)) for step in left))
    needed_s = len(left) * fewest_s(session, cost) + looks_s
    labels = [step.label for step in left]
    not_tried = because("experiment.steps_not_tried", steps=labels, needed_s=needed_s)
    session.watch(Notice(reason=not_tried))
    outcome.note(not_tried=left, needed_s=needed_s)
    outcome.warn(not_tried)
