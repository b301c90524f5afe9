"""A whole run: what its plan's method does, stored as it goes, and told however it ends.

How questions are answered: the methods that a plan may name.

A method begins comparisons one after the other (`Session.begin`), each chosen by what those before
found, and notes what it finds as it goes. It knows no more of the future than its plan says, and
what it does follows from plan and evidence alone: so a run that goes on does the same again on what
is stored, and then measures. `tests.conformance.method` has what every method must do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from httpdyno.errors import HttpdynoError
from httpdyno.experiment.decide.warning import known_warnings
from httpdyno.experiment.design.inputs import changed_names, input_digests
from httpdyno.experiment.method.factorial import run_factorial
from httpdyno.experiment.method.ladder import run_ladder
from httpdyno.experiment.method.session import Event, GrowingOutcome, Session
from httpdyno.experiment.method.sweep import run_sweep
from httpdyno.experiment.method.versus import run_pair, run_versus
from httpdyno.experiment.trial.bench import Bench
from httpdyno.model import HostFacts, Outcome, Plan
from httpdyno.reason import Reason, because
from httpdyno.store.run_store import StudyStore


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


def run_plan(  # noqa: PLR0913 - effects in, each by its name
    plan: Plan,
    *,
    bench: Bench,
    store: StudyStore,
    run_id: str,
    watch: Callable[[Event], None],
    host: HostFacts | None = None,
    known: Sequence[Reason] = (),
) -> Outcome:
    """Do what the plan says; return what was found, also when interrupted.

    Every window, start and step is stored as it ends. Run again with the same `run_id`, it takes
    the stored starts first and goes on where they end.

    Args:
        plan: What to do.
        bench: Where starts are measured.
        store: Where they are kept.
        run_id: The run's id in the store.
        watch: Is told what happens.
        host: The machine that the run was begun on; the bench is asked where it is None.
        known: What the result is warned of before it is there.

    Raises:
        HttpdynoError: The study cannot go on; what was found so far is stored.
    """
    session = Session(plan=plan, bench=bench, store=store, run_id=run_id, watch=watch)
    outcome = GrowingOutcome(session, host or bench.host())
    outcome.warn(*known_warnings(plan.study, outcome.found.host), *known)
    before = input_digests(plan.study) if plan.inputs else {}
    try:
        method_of(plan)(session, outcome)
        outcome.warn(*_changed_amid(plan, before), *session.unused())
    except KeyboardInterrupt:
        outcome.warn(*_changed_amid(plan, before))
        return outcome.note(
            status="interrupted",
            ended_by=(because("experiment.interrupted", run=run_id),),
        )
    except HttpdynoError as error:
        outcome.note(status="failed", ended_by=(error.reason,))
        raise
    return outcome.note(status="complete")


def _changed_amid(plan: Plan, before: dict[str, str]) -> Iterator[Reason]:
    """Warn where files were changed while they were measured with."""
    if before and (names := changed_names(before, input_digests(plan.study))):
        yield because("experiment.changed_amid_run", names=names)
