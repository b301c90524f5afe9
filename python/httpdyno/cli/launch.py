"""From a command line to a plan, and from the plan to its run."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import msgspec
from msgspec import structs
from msgspec.structs import replace

from httpdyno.catalog import bundled_studies, open_study
from httpdyno.cli.console import messages, results
from httpdyno.cli.outcome_output import show_outcome
from httpdyno.cli.output import Outputs
from httpdyno.cli.plan_text import plan_lines
from httpdyno.cli.progress import RunProgress
from httpdyno.cli.standard_streams import EXIT_INTERRUPTED, EXIT_NOT_BORNE_OUT, say, tell
from httpdyno.cli.trusted_study import open_to_run, to_go_on
from httpdyno.errors import AdapterError, StudyFileError, UsageError
from httpdyno.experiment.answer.likeness import not_rehearsed
from httpdyno.experiment.design.inputs import changes_since, input_digests, taken_in_boot
from httpdyno.experiment.design.plan import make_plan, with_budget
from httpdyno.experiment.design.smoke_test import rehearse
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.trial.server_bench import bench_of
from httpdyno.host.only_read import only_reading
from httpdyno.model import HostFacts, Outcome, Plan, Study
from httpdyno.reason import Reason, because
from httpdyno.registry import load_target
from httpdyno.report.shared.message import joined, text, texts
from httpdyno.secret import has_digests, with_secrets_of, without_values
from httpdyno.servers.limits.limit_group import LIMITS_HINT, limits_complaint
from httpdyno.servers.stack.seats import enter_for
from httpdyno.store import Store
from httpdyno.study.knob import check_loads
from httpdyno.study.objective import check_has, decided_by, with_also
from httpdyno.units import duration_s


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
    missing = texts(adapter.missing(study.server))
    if missing:
        raise AdapterError(
            f"study {study.name} cannot run here: {joined(missing)}",
            hint="`httpdyno doctor` says what each bundled study needs"
            if study.site is None
            else "`httpdyno doctor` says what this machine allows",
        )
    if cannot := limits_complaint(limits for _, limits in study.limits):
        raise AdapterError(f"study {study.name} cannot run here", why=[cannot], hints=[LIMITS_HINT])
    if why := not_rehearsed(study):
        tell(text(why))
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
    if not resume.accepts_changes:
        raise UsageError(
            f"run {resume.run_id} was begun with something else",
            hint="what was measured before and what will be are not of one question: put it back, "
            "begin a new run, or give `--accept-changes`, which the report will say",
            why=changes,
        )
    return (because("experiment.accepted_changes", changes=changes),)


_SEED_BITS = 32
_PLAN_INDENT = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A run as asked for on the command line."""

    study: str | None
    budget: str | None = None
    metric: str | None = None
    """That is to decide in place of the study's."""
    also: tuple[str, ...] = ()
    """Metrics that are to be told beside the study's."""
    is_until_decided: bool = False
    seed: int | None = None
    resume: str | None = None
    accepts_changes: bool = False
    """Goes on although what the run reads is not what it was."""
    is_dry_run: bool = False
    is_trusted: bool = False
    """Whether a study that others may have written is to run, as it is now."""
    html: str | None = None
    json: str | None = None
    is_forced: bool = False
    """Whether files that httpdyno did not write are overwritten."""
    has_secrets: bool = False
    is_verbose: bool = False


def launch(request: Request) -> int:
    """Plan what was asked for, and run it or say what it would be."""
    outputs = Outputs(
        json=request.json,
        html=request.html,
        has_secrets=request.has_secrets,
        is_verbose=request.is_verbose,
        is_forced=request.is_forced,
    )
    outputs.check()
    plan = _stored_plan(request) if request.resume else _new_plan(request)
    resume = (
        Resumed(run_id=request.resume, accepts_changes=request.accepts_changes)
        if request.resume
        else None
    )
    return execute(plan, outputs, resume=resume, is_dry_run=request.is_dry_run)


def execute(
    plan: Plan, outputs: Outputs, *, resume: Resumed | None = None, is_dry_run: bool = False
) -> int:
    """Run a plan and report it, or print it and stop."""
    if is_dry_run:
        with only_reading():
            notes = () if resume else rehearse(plan, load_target(plan.study))
        for note in notes:
            messages().print(text(note), soft_wrap=True, markup=False)
        show_plan(plan, outputs)
        return 0
    enter_namespace_for(plan.study)
    if resume is None:
        rehearse(plan, load_target(plan.study))
    return run_and_report(plan, outputs, resume=resume)


def enter_namespace_for(study: Study) -> None:
    """Run this command anew in a user namespace, where a study's servers need that.

    Nothing may have been begun that has to be ended in order.

    Raises:
        AdapterError: It cannot be run anew.
    """
    if study.site is not None:
        enter_for(study.site.isolation)
    elif study.server.network is not None:
        enter_for("cell")


def show_plan(plan: Plan, outputs: Outputs) -> None:
    """Print what a plan would do."""
    if outputs.has_text:
        for line in plan_lines(plan):
            # Beside the first column, which is as wide as the longest of its words.
            say(fill(line, results().width, subsequent_indent=" " * _PLAN_INDENT))
    if outputs.json is not None:
        shown = plan if outputs.has_secrets else without_values(plan)
        document = msgspec.to_builtins(shown)
        if plan.study.is_until_decided:
            document["study"]["budget_s"] = None
        outputs.write_json(document)


def deciding_by(study: Study, metric: str | None) -> Study:
    """Return the study with another metric deciding; the same where none is named.

    Raises:
        UsageError: It makes no sense.
    """
    if metric is None:
        return study
    try:
        return decided_by(study, metric)
    except UsageError as error:
        raise UsageError(f"`--metric`: {error}", hint=error.hint) from error


def also_telling(study: Study, also: Sequence[str]) -> Study:
    """Return the study with a verdict for each of these metrics too.

    Raises:
        UsageError: One of them makes no sense.
    """
    try:
        objective = with_also(study.objective, also, study.workload)
    except UsageError as error:
        raise UsageError(f"`--also`: {error}", hint=f"there are {error.hint}") from error
    for metric in objective.also:
        try:
            check_has(metric, study)
        except UsageError as error:
            raise UsageError(f"`--also`: {error}", hint=error.hint) from error
    return replace(study, objective=objective)


def deciding_in(study: Study, phase: str | None) -> Study:
    """Return the study with another of its phases deciding; the same where none is named.

    Raises:
        UsageError: It has no such phase.
    """
    if phase is None:
        return study
    names = [each.name for each in study.method.phases]
    if phase not in names:
        raise UsageError(
            f"`--phase {phase}` is no phase of study {study.name}",
            hint=f"its phases: {', '.join(names)}" if names else "it has none",
        )
    return replace(study, method=replace(study.method, decides=phase))


def seed_or_new(seed: int | None) -> int:
    """Return the seed given, or a new one; either way the plan records it.

    Raises:
        UsageError: A seed that is none.
    """
    if seed is not None and not 0 <= seed < 2**_SEED_BITS:
        raise UsageError(f"a seed of {seed} is outside 0 to {2**_SEED_BITS - 1}")
    return random.SystemRandom().getrandbits(_SEED_BITS) if seed is None else seed


def budget_or_none(text: str | None, *, is_until_decided: bool) -> float | None:
    """Return a budget in seconds, infinite until decided, None where the study's own holds.

    Raises:
        UsageError: Not a duration, no time at all, or both a time and none.
    """
    if is_until_decided and text is not None:
        raise UsageError(
            f"`--budget {text}` and `--until-decided` exclude each other",
            hint="one ends the run after a time, the other when it is decided; give one of them",
        )
    if is_until_decided:
        return math.inf
    if text is None:
        return None
    budget_s = duration_s(text, "--budget")
    if budget_s <= 0:
        raise UsageError(f"a budget of `{text}` is no time at all", hint="such as `--budget 3m`")
    return budget_s


def _new_plan(request: Request) -> Plan:
    if request.accepts_changes:
        raise UsageError(
            "`--accept-changes` is for a run that goes on", hint="give `--resume ID` with it"
        )
    if request.study is None:
        raise UsageError("no study was named", hint="`httpdyno study list` shows the bundled ones")
    study = deciding_by(_opened(request, request.study), request.metric)
    study = also_telling(study, request.also)
    if not study.knobs:
        raise UsageError(
            f"study {study.name} has nothing to try: it names no knob",
            hint="put a `[[knobs]]` with a name and levels into it; `httpdyno knobs` lists them",
        )
    check_loads(study)
    return make_plan(study, seed=seed_or_new(request.seed), budget_s=_budget_s(request))


def _opened(request: Request, study: str) -> Study:
    if request.is_dry_run:
        return open_study(study)
    return open_to_run(study, is_trusted=request.is_trusted)


def _budget_s(request: Request) -> float | None:
    return budget_or_none(request.budget, is_until_decided=request.is_until_decided)


def _stored_plan(request: Request) -> Plan:
    if request.seed is not None:
        raise UsageError(
            f"run `{request.resume}` has its own seed", hint="leave out `--seed` with `--resume`"
        )
    if request.also or request.metric is not None:
        option = "--also" if request.also else "--metric"
        raise UsageError(
            f"run `{request.resume}` has its own metrics",
            hint=f"leave out `{option}` with `--resume`",
        )
    budget_s = _budget_s(request)
    with Store.open() as store:
        plan = store.plan(request.resume or "")
    if request.study is not None and not _is_study(request.study, plan.study.name):
        raise UsageError(
            f"run `{request.resume}` is of the study `{plan.study.name}`, not `{request.study}`",
            hint="`--resume` needs no study",
        )
    if has_digests(plan.study):
        plan = replace(plan, study=with_secrets_of(plan.study, _study_as_it_is(request, plan)))
    if not request.is_dry_run:
        study = to_go_on(plan.study, is_trusted=request.is_trusted)
        plan = plan if study is plan.study else replace(plan, study=study)
    # The whole run's, with what was spent of it already.
    return plan if budget_s is None else with_budget(plan, budget_s)


def _study_as_it_is(request: Request, plan: Plan) -> Study:
    """Return the study that a stored run is of, read again: the store keeps no secrets.

    Raises:
        UsageError: It is not where it was.
    """
    folder = Path(plan.study.folder)
    bundled = bundled_studies().get(plan.study.name)
    is_bundled = bundled is not None and bundled.parent == folder
    named = request.study if request.study not in {None, plan.study.name} else None
    # Not every study's file has the usual name.
    usual = plan.study.name if is_bundled else str(folder / plan.study.file)
    try:
        return open_study(named or usual)
    except StudyFileError as error:
        amid = error.within(
            f"run `{request.resume}` needs its study file again, for what the store does not keep "
            "(cookies, the environment)"
        )
        amid["hint"] = f"name the file: `httpdyno study run FILE --resume {request.resume}`"
        raise UsageError(**amid) from error


def _is_study(name_or_path: str, name: str) -> bool:
    """Whether a study given by name or path is the one of this name.

    Raises:
        StudyFileError: It is neither, or there is no such study.
    """
    # The name alone does where the file is gone or was changed since: the run has its own copy.
    return name_or_path == name or open_study(name_or_path).name == name
