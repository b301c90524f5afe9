"""The time of a ladder's steps: what one may use, and what is kept for those after it.

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

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec import structs

from httpdyno.experiment.calibration import StartCost
from httpdyno.experiment.final import fewest_s, final_reserve_s
from httpdyno.experiment.session import Session
from httpdyno.experiment.short_budget import N_CALIBRATION_STARTS
from httpdyno.model import Configuration, LadderStep, Step

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
