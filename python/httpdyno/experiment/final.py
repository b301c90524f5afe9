"""The last claim: what was found against the start, on starts that nothing was chosen by."""

from collections.abc import Mapping

from httpdyno.experiment.calibration import StartCost
from httpdyno.experiment.comparison import (
    Allowance,
    comparison_so_far,
    run_comparison,
    unaffordable,
)
from httpdyno.experiment.event import FinalDone, Stage
from httpdyno.experiment.outcome import GrowingOutcome
from httpdyno.experiment.session import FINAL, Session
from httpdyno.experiment.short_budget import FINAL_SLACK
from httpdyno.model import Comparison, Configuration, Objective, Verdict
from httpdyno.reason import Reason, because

FINAL_LOG_RATIO = 0.05
"""The final claim goes on, as time allows, until its interval is about ±5 %."""


def fewest_s(session: Session, cost: StartCost) -> float:
    """Return the time that a comparison's fewest starts take, without looks at their servers."""
    return cost.first_s + (session.plan.study.method.min_starts - 1) * cost.start_s


def final_reserve_s(session: Session, cost: StartCost) -> float:
    """Return the time that is kept for the starts of the final claim."""
    return fewest_s(session, cost) * FINAL_SLACK


def final_comparison(
    session: Session,
    outcome: GrowingOutcome,
    cost: StartCost,
    best: Configuration,
    objective: Objective,
) -> Comparison | None:
    """Compare the best proven configuration with the start on fresh starts.

    Fresh, because the steps that were kept are those that came out well: their product is an
    optimist. None if nothing was kept. Where its fewest starts do not fit into what is left of the
    budget, it is `not_measured`, and says what it takes. Where it is interrupted, the outcome has
    what it proves so far.
    """
    start = session.plan.study.start_configuration()
    if best == start:
        return None
    was_begun = session.has_stored(FINAL, (start, best))
    index = session.begin(FINAL, (start, best))
    is_until_decided = session.plan.study.is_until_decided
    needed_s = fewest_s(session, cost) + session.looks_s((start, best))
    left_s = max(0.0, min(session.left_s, final_reserve_s(session, cost)))
    session.watch(
        Stage(
            name=session.stage,
            detail="start against the best proven configuration, on fresh starts",
            elapsed_s=session.spent_s,
            left_s=None if is_until_decided else left_s,
        )
    )
    # Where decisions end the run and no time, none is left over for more than that.
    precise = None if is_until_decided else FINAL_LOG_RATIO
    # Its time was set aside; what went wrong on the way may have used some of it up.
    is_affordable = needed_s <= session.overtime_s
    arms = start, best
    if not is_affordable and not was_begun:
        result = unaffordable(session, index, arms, needed_s)
        session.watch(FinalDone(comparison=result))
        return result
    allowance = Allowance(
        time_s=max(session.left_s, needed_s),
        limit_s=session.left_s,
        whole_s=session.overtime_s,
        n_blocks=cost.n_blocks,
        is_last=True,
        precise_log_ratio=precise,
    )
    try:
        result = run_comparison(session, index, arms, allowance, objective)
    except KeyboardInterrupt:
        if so_far := comparison_so_far(session, index, arms, objective):
            outcome.conclude(so_far)
        raise
    session.watch(FinalDone(comparison=result))
    return result


def withdrawn(final: Comparison | None, broken: Reason | None, what: Reason) -> Reason | None:
    """Return why the start stays although a better one was found on the way; None if it does not.

    What the steps found is chosen because it came out well; the final claim, on fresh starts, is
    what one may believe. Without its word nothing is settled on but the start.
    """
    if final is None or (final.verdict == "better" and broken is None):
        return None
    if broken is not None:
        return because("experiment.withdrawn_for_limit", what=what, why=broken)
    return because(
        "experiment.withdrawn_by_metric" if final.ratios else "experiment.withdrawn",
        what=what,
        found=_NOT_BETTER.get(final.verdict, because("experiment.could_not_be_proven")),
        metric=final.decided_by or final.metric,
        why=final.reasons,
    )


_NOT_BETTER: Mapping[Verdict, Reason] = {
    "worse": because("experiment.came_out_worse"),
    "equivalent": because("experiment.made_no_difference"),
    "failed": because("experiment.failed_on_fresh_starts"),
}
