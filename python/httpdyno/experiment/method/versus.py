"""Several configurations, each against the same reference: those of a `compare`, or a table's rows.

One comparison after the other, each with starts of its own. The risk of a wrong word is shared out
(Bonferroni), so that with the study's confidence none of the verdicts is wrong, however often one
looks and whatever the comparisons have to do with each other. Nothing is claimed of one candidate
against another.

Two configurations against each other, and nothing else.
"""

from collections.abc import Sequence
from statistics import fmean

from httpdyno.experiment.decide.claim import claim
from httpdyno.experiment.design.plan import change_of
from httpdyno.experiment.method.comparison import (
    Allowance,
    comparison_so_far,
    nearest,
    run_comparison,
    terms_of,
)
from httpdyno.experiment.method.session import FinalDone, GrowingOutcome, Session, Stage, StepDone
from httpdyno.metrics.table import named
from httpdyno.model import Comparison, Configuration, LadderStep, Plan, Step, level_text
from httpdyno.reason import because


def run_pair(session: Session, outcome: GrowingOutcome) -> None:
    """Compare the plan's two configurations with all of the budget."""
    arms = session.plan.compare
    if arms is None:
        raise TypeError("a plan of two configurations names them")
    study = session.plan.study
    index = session.begin("comparison", arms)
    session.watch(
        Stage(
            name=session.stage,
            detail=", ".join(
                f"{name} {level_text(old)} → {level_text(new)}"
                for name, (old, new) in arms[0].changes(arms[1]).items()
            )
            or because("experiment.one_against_itself"),
            elapsed_s=0.0,
            left_s=None if study.is_until_decided else study.budget_s,
        )
    )
    allowance = Allowance(
        time_s=session.left_s,
        must_decide=True,
        limit_s=session.left_s,
        whole_s=session.overtime_s,
        n_blocks=study.method.blocks_per_start,
        is_last=True,
        borders=session.plan.borders,
    )
    try:
        result = run_comparison(session, index, arms, allowance)
    except KeyboardInterrupt:
        if so_far := comparison_so_far(session, index, arms):
            outcome.conclude(so_far)
        raise
    session.watch(FinalDone(comparison=result))
    broken = outcome.conclude(result)
    outcome.settle(arms[1] if result.verdict == "better" and not broken else arms[0], arms)


Arms = tuple[Configuration, Configuration]


def run_versus(session: Session, outcome: GrowingOutcome) -> None:
    """Compare each of the plan's candidates with its reference, in their order.

    What one does not use goes to the next ones. The time that is left in the end goes to those
    that are undecided, first to the one that needs the least. A budget that cannot hold the fewest
    starts of all is refused once the first start has shown what one takes; where later ones take
    longer, what is proven by then stays, and what was not measured says so.
    """
    plan = session.plan
    name = row_name(plan)
    done: list[LadderStep] = []
    for number, step in enumerate(plan.steps, 1):
        arms = arms_of(plan, step)
        index = session.begin(f"{name} {number} of {len(plan.steps)}", arms)
        to_come = len(plan.steps) - number + 1
        allowance = Allowance(
            time_s=session.left_s / to_come,
            limit_s=session.left_s / to_come,
            whole_s=session.overtime_s / to_come,
            n_blocks=plan.study.method.blocks_per_start,
            must_decide=number == 1,
            n_alike=to_come,
            looks_s=session.looks_s(*(arms_of(plan, each) for each in plan.steps[number:])),
            is_last=to_come == 1,
            after_s=0.0 if plan.study.is_until_decided else _after_s(session, to_come),
        )
        _tell(session, step)
        done.append(_compared(session, outcome, (step, index, arms), allowance, done))
    while (place := _within_reach(session, done)) is not None:
        step, index = plan.steps[place], done[place].comparison.index
        session.stage = f"{name} {place + 1} goes on"
        _tell(session, step)
        allowance = Allowance(
            time_s=session.left_s,
            limit_s=session.left_s,
            n_blocks=plan.study.method.blocks_per_start,
            is_left_over=True,
        )
        done[place] = _compared(
            session, outcome, (step, index, arms_of(plan, step)), allowance, done
        )
    reference = plan.reference or plan.study.start_configuration()
    best = best_of(done, reference)
    outcome.settle(best, (reference, best))


def row_name(plan: Plan) -> str:
    """Return what is compared with the reference: what a command line named, or a table's rows."""
    return "candidate" if plan.command == "compare" else "row"


def arms_of(plan: Plan, step: Step) -> Arms:
    """Return the reference and a candidate of a plan that compares several with one."""
    if plan.reference is None:
        raise TypeError("a plan of several candidates names what they are compared with")
    return plan.reference, plan.reference.with_values(step.values)


def best_of(steps: Sequence[LadderStep], reference: Configuration) -> Configuration:
    """Return the candidate that came out best of those that are better; else the reference.

    That it is better than another candidate is not claimed.
    """
    better = [step for step in steps if step.kept]
    if not better:
        return reference
    return max(better, key=_gain).comparison.b.configuration


def _gain(step: LadderStep) -> float:
    compared = step.comparison
    metric = compared.decided_by or compared.metric
    interval = compared.ratios.get(named(metric).ratio)
    if interval is None:
        return 1.0
    return interval.ratio if named(metric).is_more_better else 1 / interval.ratio


def _compared(
    session: Session,
    outcome: GrowingOutcome,
    what: tuple[Step, int, Arms],
    allowance: Allowance,
    done: Sequence[LadderStep],
) -> LadderStep:
    """Return a candidate's verdict; where it is interrupted, the outcome has what is proven."""
    step, index, arms = what
    objective = session.plan.objective
    try:
        result = run_comparison(session, index, arms, allowance, objective)
    except KeyboardInterrupt:
        if so_far := comparison_so_far(session, index, arms, objective):
            outcome.note(steps=_with(done, _told(session, step, arms, so_far)))
        raise
    told = _told(session, step, arms, result)
    session.watch(StepDone(step=told, is_of_ladder=False))
    outcome.note(steps=_with(done, told))
    return told


def _with(done: Sequence[LadderStep], step: LadderStep) -> tuple[LadderStep, ...]:
    """Return the steps with one more, or with what one of them came to since."""
    by_label = {each.label: each for each in done}
    return tuple({**by_label, step.label: step}.values())


def _told(session: Session, step: Step, arms: Arms, result: Comparison) -> LadderStep:
    study = session.plan.study
    return LadderStep(
        **change_of(study, step, arms),
        comparison=result,
        book_ratio=step.book_ratio,
        kept=result.verdict == "better",
    )


def _tell(session: Session, step: Step) -> None:
    left_s = None if session.plan.study.is_until_decided else max(0.0, session.left_s)
    session.watch(
        Stage(
            name=session.stage,
            detail=step.whole_label,
            elapsed_s=session.spent_s,
            left_s=left_s,
        )
    )


def _after_s(session: Session, to_come: int) -> float:
    return session.left_s * (to_come - 1) / to_come


def _within_reach(session: Session, done: Sequence[LadderStep]) -> int | None:
    """Return which undecided candidate needs the least time.

    None where all are out of reach, or where no time ends them: then they are undecided because
    they cannot be decided.
    """
    whole = [each.comparison for each in done if each.comparison.n_starts > 1]
    if session.plan.study.is_until_decided or not whole:
        return None
    start_s = fmean(
        (each.duration_s - session.looked_s(each.index)) / each.n_starts for each in whole
    )
    if session.left_s < start_s:
        return None
    terms = terms_of(session.plan.study, objective=session.plan.objective)
    states = {
        number: claim(session.sound_so_far(each.comparison.index), terms)
        for number, each in enumerate(done)
        if each.comparison.verdict == "inconclusive"
    }
    return nearest(states, session.left_s, start_s)
