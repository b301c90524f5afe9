"""How questions are answered: the methods that a plan may name.

A method begins comparisons one after the other (`Session.begin`), each chosen by what those before
found, and notes what it finds as it goes. It knows no more of the future than its plan says, and
what it does follows from plan and evidence alone: so a run that goes on does the same again on what
is stored, and then measures. `tests.conformance.method` has what every method must do.
"""

from collections.abc import Mapping
from typing import Protocol

from httpdyno.experiment.factorial import run_factorial
from httpdyno.experiment.ladder import run_ladder
from httpdyno.experiment.outcome import GrowingOutcome
from httpdyno.experiment.pair import run_pair
from httpdyno.experiment.session import Session
from httpdyno.experiment.sweep import run_sweep
from httpdyno.experiment.versus import run_versus
from httpdyno.model import Plan


class MethodRun(Protocol):
    """Answers the question of a session's plan."""

    def __call__(self, session: Session, outcome: GrowingOutcome, /) -> None:
        """Measure until the question is answered or the budget is spent, and settle on a result.

        Raises:
            HttpdynoError: It cannot be answered; what was found so far is noted.
        """


METHODS: Mapping[str, MethodRun] = {
    "ladder": run_ladder,
    "sweep": run_sweep,
    "table": run_versus,
    "factorial": run_factorial,
}
"""By `method.kind` of the study."""


def method_of(plan: Plan) -> MethodRun:
    """Return the method that a plan asks for."""
    if plan.reference is not None:
        return run_versus
    return run_pair if plan.compare is not None else METHODS[plan.study.method.kind]
