"""Two configurations against each other, and nothing else."""

from httpdyno.experiment.comparison import Allowance, comparison_so_far, run_comparison
from httpdyno.experiment.event import FinalDone, Stage
from httpdyno.experiment.outcome import GrowingOutcome
from httpdyno.experiment.session import Session
from httpdyno.model import level_text


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
            or "a configuration against itself",
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
