"""A whole run: what its plan's method does, stored as it goes, and told however it ends."""

from collections.abc import Callable, Sequence

from httpdyno.errors import HttpdynoError
from httpdyno.experiment import caveat
from httpdyno.experiment.bench import Bench
from httpdyno.experiment.event import Event
from httpdyno.experiment.inputs import changed_names, input_digests
from httpdyno.experiment.method import method_of
from httpdyno.experiment.outcome import GrowingOutcome
from httpdyno.experiment.session import Session
from httpdyno.model import Caveat, HostFacts, Outcome, Plan
from httpdyno.store.run_store import StudyStore


def run_plan(  # noqa: PLR0913 - effects in, each by its name
    plan: Plan,
    *,
    bench: Bench,
    store: StudyStore,
    run_id: str,
    watch: Callable[[Event], None],
    host: HostFacts | None = None,
    doubts: Sequence[Caveat] = (),
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
        doubts: What is known against the result before it is there.

    Raises:
        HttpdynoError: The study cannot go on; what was found so far is stored.
    """
    session = Session(plan=plan, bench=bench, store=store, run_id=run_id, watch=watch)
    outcome = GrowingOutcome(session, host or bench.host())
    if plan.study.fragments is None:
        outcome.doubt(*caveat.shared_cores(outcome.found.host))
    outcome.doubt(
        *caveat.fresh_servers(plan.study.method), *caveat.unlike_the_site(plan.study.site)
    )
    outcome.doubt(*doubts)
    before = input_digests(plan.study) if plan.inputs else {}
    try:
        method_of(plan)(session, outcome)
        outcome.doubt(*_changed_amid(plan, before), *session.unused_caveats())
    except KeyboardInterrupt:
        outcome.doubt(*_changed_amid(plan, before))
        return outcome.note(
            status="interrupted",
            message=f"interrupted; `httpdyno study run --resume {run_id}` goes on from here",
        )
    except HttpdynoError as error:
        outcome.note(status="failed", message=f"{error}")
        raise
    return outcome.note(status="complete")


def _changed_amid(plan: Plan, before: dict[str, str]) -> tuple[Caveat, ...]:
    """Return the doubt that files were changed while they were measured with."""
    names = changed_names(before, input_digests(plan.study)) if before else []
    return caveat.changed_amid_run(names)
