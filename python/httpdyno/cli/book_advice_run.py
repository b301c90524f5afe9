"""Advice of the book without figures: the run of its study."""

from httpdyno.book.advice import AdviceHere, Told
from httpdyno.cli.book_advice import change_of, host_text, told_of
from httpdyno.cli.find_study import open_study
from httpdyno.cli.running import outcome_of
from httpdyno.experiment.planning import make_plan
from httpdyno.experiment.rehearsal import rehearse
from httpdyno.registry import load_target
from httpdyno.report.shared.message import joined


def run_advice(here: AdviceHere, *, budget_s: float, seed: int) -> Told:
    """Run the study of an advice, which stores it, and return what it says of the advice.

    Raises:
        HttpdynoError: It cannot run here, or the time is too short for any claim.
        KeyboardInterrupt: Somebody wants it to end; what was measured is stored.
    """
    study = open_study(here.advice.study)
    plan = make_plan(study, seed=seed, budget_s=budget_s)
    rehearse(plan, load_target(study))
    outcome = outcome_of(plan)
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    return told_of(outcome, here.name, change_of(here.advice, study)) or Told(
        name=here.name,
        claim=here.claim,
        verdict="not_measured",
        badge="not measured",
        says=joined(outcome.ended_by) or "the time was over before it",
        measured_at=outcome.began_at,
        run_id=outcome.id,
        host=host_text(outcome.host),
        version=outcome.host.server,
        seed=seed,
    )
