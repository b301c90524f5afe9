"""Run a plan on real servers, show it as it goes, and put the outcome where it was asked for."""

from httpdyno.cli.console import messages
from httpdyno.cli.output import Outputs
from httpdyno.cli.progress import RunProgress
from httpdyno.cli.showing import show_outcome
from httpdyno.errors import AdapterError
from httpdyno.experiment.run import run_plan
from httpdyno.experiment.server_bench import ServerBench
from httpdyno.model import Outcome, Plan
from httpdyno.registry import load_adapter
from httpdyno.store import Store

EXIT_NOT_BORNE_OUT = 1
"""Done, and the answer is no: what the steps kept was taken back at the end."""
EXIT_INTERRUPTED = 130


def run_and_report(plan: Plan, outputs: Outputs, *, resume: str | None = None) -> int:
    """Run the plan, or go on with a stored run of it; return the exit code.

    Raises:
        HttpdynoError: The study cannot run; what was measured so far is stored.
    """
    outcome = _run(plan, resume)
    show_outcome(outcome, outputs)
    if outcome.status == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_NOT_BORNE_OUT if outcome.withdrawn else 0


def _run(plan: Plan, resume: str | None) -> Outcome:
    study = plan.study
    adapter = load_adapter(study.server.adapter)
    missing = adapter.missing(study.server)
    if missing:
        raise AdapterError(
            f"study {study.name} cannot run here: {'; '.join(missing)}",
            hint="`httpdyno doctor` says what each bundled study needs",
        )
    with (
        Store.open() as store,
        ServerBench(adapter=adapter, study=study, seed=plan.seed) as bench,
    ):
        if resume is None:
            run_id = store.create_run(plan, bench.host())
        else:
            run_id = resume
            store.claim_run(run_id)
        with RunProgress(messages(), len(plan.steps)) as progress:
            return run_plan(plan, bench=bench, store=store, run_id=run_id, watch=progress)
