"""`httpdyno study`: list, show, check, serve and run studies."""

import json as json_text
from collections import Counter
from typing import Annotated, Any

import msgspec
import typer
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.catalog import bundled_studies, open_study
from httpdyno.cli import study_check, study_new, study_serve
from httpdyno.cli.console import results
from httpdyno.cli.exit_code import EXIT_USAGE
from httpdyno.cli.launch import Request, launch
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
)
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import say
from httpdyno.cli.uses_table import runs_as, uses_table
from httpdyno.errors import NotRunError
from httpdyno.experiment.phase_words import phases_words
from httpdyno.host.only_read import only_reading
from httpdyno.model import Candidate, Configuration, Knob, Study, level_text
from httpdyno.registry import load_target
from httpdyno.report.shared.reference import study_reference
from httpdyno.report.shared.workload_text import workload_text
from httpdyno.secret import without_values
from httpdyno.study.schema import study_schema
from httpdyno.study.uses import uses_of
from httpdyno.units import format_bytes, format_duration

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
        runs = msgspec.to_builtins(uses_of(opened))
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
app.command("new", epilog=study_new.EXAMPLE)(study_new.new)
app.command("serve", epilog=study_serve.EXAMPLE)(study_serve.serve)


def _missing(study: Study) -> tuple[str, ...]:
    """Return what a study needs and is not here, as far as files tell."""
    try:
        with only_reading():
            return load_target(study).missing(study.server)
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
    beside = f"; told beside it: {', '.join(objective.beside)}" if objective.beside else ""
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
        return study.server.words
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
