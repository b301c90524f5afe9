"""Run a plan on real servers, show it as it goes, and put the outcome where it was asked for."""

from dataclasses import dataclass

from msgspec import structs

from httpdyno.cli.console import messages
from httpdyno.cli.exit_code import EXIT_INTERRUPTED, EXIT_NOT_BORNE_OUT
from httpdyno.cli.outcome_output import show_outcome
from httpdyno.cli.output import Outputs
from httpdyno.cli.progress import RunProgress
from httpdyno.cli.standard_streams import tell
from httpdyno.errors import AdapterError, UsageError
from httpdyno.experiment.answer.rehearsed import not_rehearsed
from httpdyno.experiment.bench_choice import bench_of
from httpdyno.experiment.inputs import changes_since, input_digests
from httpdyno.experiment.machine_card import taken_in_boot
from httpdyno.experiment.run import run_plan
from httpdyno.model import HostFacts, Outcome, Plan
from httpdyno.reason import Reason, because
from httpdyno.registry import load_target
from httpdyno.servers.limits.limit_group import LIMITS_HINT, limits_complaint
from httpdyno.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Resumed:
    """A stored run to go on with."""

    run_id: str
    accepts_changes: bool = False
    """Although what it reads is not what it was."""


def run_and_report(plan: Plan, outputs: Outputs, *, resume: Resumed | None = None) -> int:
    """Run the plan, or go on with a stored run of it; return the exit code.

    Raises:
        HttpdynoError: The study cannot run; what was measured so far is stored.
    """
    outcome = outcome_of(plan, resume)
    show_outcome(outcome, outputs)
    if outcome.status == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_NOT_BORNE_OUT if outcome.withdrawn else 0


def outcome_of(plan: Plan, resume: Resumed | None = None) -> Outcome:
    """Run the plan, or go on with a stored run of it; every window is stored as it ends.

    Raises:
        HttpdynoError: The study cannot run; what was measured so far is stored.
    """
    study = plan.study
    adapter = load_target(study)
    missing = adapter.missing(study.server)
    if missing:
        raise AdapterError(
            f"study {study.name} cannot run here: {'; '.join(missing)}",
            hint="`httpdyno doctor` says what each bundled study needs"
            if study.site is None
            else "`httpdyno doctor` says what this machine allows",
        )
    if cannot := limits_complaint(limits for _, limits in study.limits):
        raise AdapterError(f"study {study.name} cannot run here: {cannot}", hint=LIMITS_HINT)
    if words := not_rehearsed(study):
        tell(words)
    # Taken before anything runs beside it.
    kept = taken_in_boot() if resume is None else None
    with (
        Store.open() as store,
        bench_of(adapter, study, seed=plan.seed) as bench,
    ):
        known: tuple[Reason, ...] = ()
        if resume is None:
            plan = structs.replace(plan, inputs=input_digests(study))
            host = bench.host()
            if kept is not None:
                host = structs.replace(host, card=kept.card, card_taken_at=kept.taken_at)
            run_id = store.create_run(plan, host)
        else:
            run_id = resume.run_id
            host = store.host(run_id)
            known = _changes(plan, resume, host, bench.host())
            store.take_over(run_id)
            store.replan(run_id, plan)
        with RunProgress(messages(), len(plan.steps)) as progress:
            return run_plan(
                plan,
                bench=bench,
                store=store,
                run_id=run_id,
                watch=progress,
                host=host,
                known=known,
            )


def _changes(plan: Plan, resume: Resumed, before: HostFacts, now: HostFacts) -> tuple[Reason, ...]:
    """Return that a run goes on with something else than it began with.

    Raises:
        UsageError: It does, and nobody accepted that.
    """
    changes = changes_since(plan, before, now)
    if not changes:
        return ()
    words = "; ".join(changes)
    if not resume.accepts_changes:
        raise UsageError(
            f"run {resume.run_id} was begun with something else: {words}",
            hint="what was measured before and what will be are not of one question: put it back, "
            "begin a new run, or give `--accept-changes`, which the report will say",
        )
    return (because("experiment.accepted_changes", changes=changes),)
