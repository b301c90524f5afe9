"""`httpdyno study`: list, show, check, serve and run studies."""

import json as json_text
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.catalog import bundled_studies, open_study
from httpdyno.cli import study_check
from httpdyno.cli.compare import parse_configuration
from httpdyno.cli.console import results
from httpdyno.cli.launch import Request, enter_namespace_for, launch
from httpdyno.cli.option import (
    AcceptChangesOption,
    AlsoOption,
    BudgetOption,
    DryRunOption,
    ForceOption,
    HtmlOption,
    JsonOption,
    MetricOption,
    ResumableStudyArgument,
    ResumeOption,
    SecretsOption,
    SeedOption,
    StudyArgument,
    TrustOption,
    UntilDecidedOption,
    VerboseOption,
    knob_levels,
)
from httpdyno.cli.output import Outputs
from httpdyno.cli.plan_text import phases_words, servers_text
from httpdyno.cli.standard_streams import EXIT_USAGE, say, tell
from httpdyno.cli.trusted_study import open_to_run, runs_as, uses_json, uses_table
from httpdyno.errors import AdapterError, HttpdynoError, NotRunError, OutputError, UsageError
from httpdyno.experiment.answer.likeness import difference_now, not_rehearsed
from httpdyno.experiment.design.smoke_test import one_server
from httpdyno.host.foreign_text import reason
from httpdyno.host.only_read import only_reading
from httpdyno.host.rights import is_root_of_the_machine
from httpdyno.model import Candidate, Configuration, Knob, Study, level_text
from httpdyno.registry import load_target
from httpdyno.report.shared.message import error_text, joined, text, texts
from httpdyno.report.shared.reference import study_reference
from httpdyno.report.shared.workload_text import workload_text
from httpdyno.secret import without_values
from httpdyno.servers.limits.limit_group import LIMITS_HINT, limits_complaint
from httpdyno.study.schema import study_schema
from httpdyno.study.starter import STARTERS, Wish, starter
from httpdyno.study.uses import uses_of
from httpdyno.units import format_bytes, format_duration

_NEW_EXAMPLE = """Example:

\b
  httpdyno study new gunicorn shop:app --python venv/bin/python
  httpdyno study new command -- node server.js --port {port}
"""


def new(  # noqa: PLR0913 - one parameter for each option
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"Kind of server: {', '.join(STARTERS)}.")
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGS",
            help="Application `module:name` for gunicorn and uvicorn. Program and arguments, "
            "after `--`, for command.",
            show_default=False,
        ),
    ] = None,
    *,
    python: Annotated[
        str,
        typer.Option("--python", metavar="PATH", help="Interpreter of your virtual environment."),
    ] = "",
    folder: Annotated[
        str, typer.Option("--folder", metavar="DIR", help="Folder of the application.")
    ] = ".",
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="DIR", help="New folder.  [default: NAME-study]"),
    ] = "",
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """Write a small study into a new folder.

    It runs as it stands if its server is installed. Replace its example knobs and requests with
    yours. For a server that already runs here, use `httpdyno adopt`.
    """
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    if python and kind not in {"gunicorn", "uvicorn"}:
        raise UsageError(
            f"`--python` is for gunicorn and uvicorn, not for {kind}",
            hint="a command names its own interpreter",
        )
    made = starter(
        Wish(
            kind=kind,
            words=tuple(words or ()),
            # Not resolved: it is by its own path that an interpreter knows its environment.
            python=str(Path(python).absolute()) if python else "",
            folder=str(Path(folder).resolve()),
            n_cpus=len(os.sched_getaffinity(0)),
        )
    )
    target = Path(output or f"{made.name}-study")
    _write(target, made.files)
    study = open_study(str(target))
    stack = load_target(study)
    trouble = texts(stack.missing(study.server))
    if not trouble:
        try:
            stack.check(study.server, target, study.start_configuration())
        except HttpdynoError as error:
            trouble = (error_text(error),)
    written = [str(target / name) for name in made.files]
    if outputs.json is not None:
        document = {"study": study.name, "files": written, "cannot_run": list(trouble)}
        outputs.write_json(document)
    if outputs.has_text:
        say(f"wrote {', '.join(written)}")
        for each in trouble:
            say(f"it cannot run yet: {each}")
        say(f"next: `httpdyno study check {target}`, then `httpdyno tune {target}`")
    return 0


def _write(target: Path, files: Mapping[str, str]) -> None:
    if target.exists():
        raise UsageError(f"`{target}` is there already", hint="name another folder with `--output`")
    try:
        for name, text in files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"`{target}` cannot be written: {reason(error)}") from error


_SERVE_EXAMPLE = """Example:

\b
  httpdyno study serve bookmarks --at workers=4
"""


def serve(
    study: StudyArgument,
    *,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="KNOB=VALUE,…",
            autocompletion=knob_levels,
            help="Configuration: knobs, or the name of a candidate of the study.  [default: its "
            "start]",
            show_default=False,
        ),
    ] = None,
    trust: TrustOption = False,
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """Start a study's server and keep it until Ctrl-C.

    It runs as in a measurement: on loopback, prepared, in a temporary folder. httpdyno prints the
    address and, if the study has a network of its own, the command that enters it. `--json` adds
    the processes and the settings in effect. From a script, end it with TERM.
    """
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    opened = open_to_run(study, is_trusted=trust)
    if opened.fragments is not None:
        raise UsageError(
            f"study {opened.name} is about code, there is no server to keep",
            hint=f"`httpdyno study check {opened.name}` calls each body once",
        )
    configuration = parse_configuration(at, opened) if at else opened.start_configuration()
    enter_namespace_for(opened)
    adapter = load_target(opened)
    if missing := texts(adapter.missing(opened.server)):
        raise AdapterError(
            f"study {opened.name} cannot run here: {joined(missing)}",
            hint="`httpdyno doctor` says what each bundled study needs",
        )
    if cannot := limits_complaint(limits for _, limits in opened.limits):
        raise AdapterError(
            f"study {opened.name} cannot run here", why=[cannot], hints=[LIMITS_HINT]
        )
    try:
        with one_server(adapter, opened, configuration) as up:
            [address, *more] = up.running.addresses
            network = up.running.networks[0]
            path = opened.workload.requests[0].path
            load = opened.load_of(configuration)
            is_tls = opened.server.tls or load.tls is not None
            url = f"{'https' if is_tls else 'http'}://{address}{path}"
            if outputs.json is not None:
                told = {"url": url, "pids": list(up.running.root_pids)}
                told |= {"addresses": list(up.running.addresses), "network": network}
                outputs.write_json({**told, "effective": up.effective.values})
            if outputs.has_text:
                say(url)
            if why := not_rehearsed(opened) or difference_now(up.running, opened, load):
                tell(text(why))
            # What reads it through a pipe is to have it while the server is there.
            sys.stdout.flush()
            pids = ", ".join(map(str, up.running.root_pids))
            others = f", and {', '.join(more)}" if more else ""
            tell(
                f"{configuration.label()}: up after {format_duration(up.ready_s)}, process {pids}"
                f"{others}; Ctrl-C ends it"
            )
            if network:
                tell(f"it is in a network of its own: `{_way_into(network)} COMMAND` asks it there")
            signal.pause()
    except KeyboardInterrupt:
        tell(f"the server of {opened.name} is ended")
    return 0


def _way_into(network: str) -> str:
    """Return what runs a command in a network namespace, for whoever runs this one."""
    if is_root_of_the_machine():
        return f"nsenter --net={network}"
    ours = f"/proc/{os.getpid()}/ns/user"
    return f"nsenter --preserve-credentials --user={ours} --net={network}"


app = typer.Typer(
    rich_markup_mode=None,
    invoke_without_command=True,
    epilog="""Example:

\b
  httpdyno study list
  httpdyno study show bookmarks
  httpdyno study run bookmarks --budget 3m
""",
)


@app.callback()
def overview(context: typer.Context) -> None:
    """Write, check, show and run studies of a server and its knobs."""
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(EXIT_USAGE)


@app.command(
    "list",
    epilog="""Example:

\b
  httpdyno study list
""",
)
def list_studies(json: JsonOption = None, force: ForceOption = False) -> int:
    """List the bundled studies and whether they can run here."""
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    studies = [open_study(name) for name in bundled_studies()]
    missing = {each.name: _missing(each) for each in studies}
    if outputs.json is not None:
        rows = [
            {
                "name": each.name,
                "title": each.title,
                "server": each.server.adapter,
                "method": each.method.kind,
                "budget_s": each.budget_s,
                "missing": list(missing[each.name]),
            }
            for each in studies
        ]
        outputs.write_json({"studies": rows})
    if outputs.has_text:
        results().print(Group(*(_listed(each, bool(missing[each.name])) for each in studies)))
        if any(missing.values()):
            say("\n`httpdyno doctor` says what is missing and how to install it")
    return 0


@app.command(
    "show",
    epilog="""Example:

\b
  httpdyno study show bookmarks
""",
)
def show(study: StudyArgument, json: JsonOption = None, force: ForceOption = False) -> int:
    """Show everything that a study would run or touch; run nothing."""
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    opened = open_study(study)
    if outputs.json is not None:
        runs = uses_json(uses_of(opened))
        outputs.write_json({**msgspec.to_builtins(without_values(opened)), "runs": runs})
    if outputs.has_text:
        console = results()
        console.print(Text(f"{opened.name}: {opened.title}", "bold"))
        if opened.about:
            console.print(f"\n{_reflowed(opened.about)}")
        console.print()
        console.print(_facts(opened))
        console.print(Text.assemble("\n", ("knobs", "bold"), ", in the order they are tried"))
        console.print(_knobs(opened.knobs))
        if opened.candidates:
            words = ", several knobs at once, tried before single ones"
            console.print(Text.assemble("\n", ("candidates", "bold"), words))
            console.print(_candidates(opened.candidates))
        console.print(Text.assemble("\n", *runs_as()))
        console.print(uses_table(uses_of(opened)))
    return 0


@app.command(
    "run",
    epilog="""Example:

\b
  httpdyno study run bookmarks --budget 3m --html report.html
""",
)
def run(  # noqa: PLR0913 - one parameter for each option
    study: ResumableStudyArgument = None,
    *,
    budget: BudgetOption = None,
    metric: MetricOption = None,
    also: AlsoOption = None,
    until_decided: UntilDecidedOption = False,
    seed: SeedOption = None,
    resume: ResumeOption = None,
    accept_changes: AcceptChangesOption = False,
    dry_run: DryRunOption = False,
    trust: TrustOption = False,
    html: HtmlOption = None,
    json: JsonOption = None,
    force: ForceOption = False,
    with_secrets: SecretsOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Run a study: its changes one after the other, or all side by side."""
    return launch(
        Request(
            study=study,
            budget=budget,
            metric=metric,
            also=tuple(also or ()),
            is_until_decided=until_decided,
            seed=seed,
            resume=resume,
            accepts_changes=accept_changes,
            is_dry_run=dry_run,
            is_trusted=trust,
            html=html,
            json=json,
            is_forced=force,
            has_secrets=with_secrets,
            is_verbose=verbose,
        )
    )


@app.command(
    "schema",
    epilog="""Example:

\b
  httpdyno study schema > study.schema.json
""",
)
def schema(
    *,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a Markdown page instead.")
    ] = False,
) -> int:
    """Print the JSON Schema of study files, for editors."""
    if markdown:
        say(study_reference().rstrip("\n"))
        return 0
    document: dict[str, Any] = study_schema()
    say(json_text.dumps(document, indent=2))
    return 0


app.command("check", epilog=study_check.EXAMPLE)(study_check.check)
app.command("new", epilog=_NEW_EXAMPLE)(new)
app.command("serve", epilog=_SERVE_EXAMPLE)(serve)


def _missing(study: Study) -> tuple[str, ...]:
    """Return what a study needs and is not here, as far as files tell."""
    try:
        with only_reading():
            return texts(load_target(study).missing(study.server))
    except NotRunError:
        return ()


def _listed(study: Study, is_lacking: bool) -> RenderableType:
    budget = format_duration(study.budget_s)
    line = Text.assemble(
        (study.name, "cyan"), f"  {study.server.adapter}, {study.method.kind}, {budget}"
    )
    if is_lacking:
        line.append("  cannot run here", "yellow")
    return Group(line, Padding(Text(study.title), (0, 0, 0, 4)))


def _reflowed(text: str) -> str:
    """Return the text with its paragraphs kept, and its lines as wide as the terminal."""
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


def _facts(study: Study) -> Table:
    load, objective = study.load_of(study.start_configuration()), study.objective
    tie = f", then {objective.tie_breaker}" if objective.tie_breaker else ""
    beside = f"; reported beside it: {', '.join(objective.beside)}" if objective.beside else ""
    limits = [f"errors at most {objective.max_error_ratio:.2%}"]
    if objective.max_p99_s is not None:
        limits.append(f"p99 at most {format_duration(objective.max_p99_s)}")
    if objective.max_memory_bytes is not None:
        limits.append(f"memory at most {format_bytes(objective.max_memory_bytes)}")
    counts = Counter(f"{each.method} {each.path}" for each in load.asked)
    requests = ", ".join(f"{text} ({n} ×)" if n > 1 else text for text, n in counts.items())
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column()
    for name, fact in (
        ("folder", study.folder),
        *(
            _code_facts(study)
            if study.fragments is not None
            else (
                ("server", _server_text(study)),
                ("limits", study.limit_words if study.limits else ""),
                ("first", ", ".join(f"{each.method} {each.path}" for each in load.first)),
                ("requests", requests),
                ("load", workload_text(load)),
                ("decides", f"{objective.metric}{tie}{beside}; {', '.join(limits)}"),
            )
        ),
        ("method", study.method.kind),
        ("phases", _phases_text(study)),
        ("budget", format_duration(study.budget_s)),
        ("book", study.book_figure),
    ):
        if fact:
            table.add_row(name, Text(fact))
    return table


def _phases_text(study: Study) -> str:
    """Return what each turn goes through, and what of it decides; empty without phases."""
    method = study.method
    return f"{phases_words(method)}; `{method.decides}` decides" if method.phases else ""


def _code_facts(study: Study) -> tuple[tuple[str, str], ...]:
    """Return what there is to say of a study about code: nothing is requested."""
    return (
        ("program", " ".join(study.server.command)),
        ("taken off", f"{study.fragments.empty}, the empty body" if study.fragments else ""),
        ("decides", study.objective.metric),
    )


def _server_text(study: Study) -> str:
    """Return the adapter; of a site its members, front to back, with what they are set by."""
    if study.site is None:
        return servers_text(study.server)
    return ", ".join(
        f"{member.name} ({member.kind}: {member.main or ' '.join(member.command)})"
        for member in study.site.members
    )


def _knobs(knobs: tuple[Knob, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), pad_edge=False, header_style="dim")
    for name in ("knob", "start", "levels", "what it does"):
        table.add_column(name, overflow="fold")
    for knob in knobs:
        unit = f" {knob.unit}" if knob.unit and knob.levels else ""
        table.add_row(
            Text(knob.name, "cyan"),
            level_text(knob.start),
            Text(", ".join(level_text(each) for each in knob.levels) + unit),
            Text(knob.title or knob.why),
        )
    return table


def _candidates(candidates: tuple[Candidate, ...]) -> Table:
    sets = [Configuration(values=each.values).label() for each in candidates]
    # A number that is cut reads as another one.
    longest = max(cell_len(part) for each in sets for part in f"{each},".split(" "))
    table = Table(box=None, padding=(0, 2, 0, 2), pad_edge=False, header_style="dim")
    table.add_column("candidate", overflow="fold")
    table.add_column("sets", overflow="fold", min_width=min(longest, _MOST_SETS))
    table.add_column("what it does", overflow="fold")
    for candidate, label in zip(candidates, sets, strict=True):
        name, what = Text(candidate.name, "cyan"), Text(candidate.title or candidate.why)
        table.add_row(name, Text(label), what)
    return table


_MOST_SETS = 40
"""Half of a terminal: the rest is for what it does."""
