"""`httpdyno book`: the experiments of the founding documents, then and now."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.book.declared import experiment, experiments, way_of
from httpdyno.book.experiment import Experiment
from httpdyno.book.result import Now, keep, kept_results
from httpdyno.cli.book_needs import reason_not
from httpdyno.cli.console import results
from httpdyno.cli.launch import seed_or_new
from httpdyno.cli.option import HtmlOption, JsonOption, SeedOption
from httpdyno.cli.output import Outputs, write_json, write_text
from httpdyno.cli.standard_streams import say, tell
from httpdyno.errors import HttpdynoError, UsageError
from httpdyno.report.book.html import book_html
from httpdyno.report.book.json import book_json, experiment_json
from httpdyno.report.book.text import listed, sheet
from httpdyno.study.complaint import nearest
from httpdyno.units import duration_s, format_duration

_INDENT = (0, 0, 0, 2)
app = typer.Typer(
    rich_markup_mode=None,
    invoke_without_command=True,
    epilog="""Example:

\b
  httpdyno book
  httpdyno book run mod-cgi-baseline
  httpdyno book report --html book.html
""",
)


@app.callback()
def overview(context: typer.Context, *, json: JsonOption = None) -> None:
    """List and measure the experiments of the books on tuning.

    Each is a table or a measurement that is printed there: what was found then stands beside what
    is found here. `run` measures; the last result of each is kept.
    """
    if context.invoked_subcommand is not None:
        if json is not None:
            raise UsageError(
                "options before the command's name are for the list of all",
                hint=f"`httpdyno book {context.invoked_subcommand} --help` has its own",
            )
        return
    outputs = Outputs(json=json)
    outputs.check()
    found = _results()
    if outputs.json is not None:
        write_json(book_json(experiments(), _reasons(), found), outputs.json)
    if outputs.has_text:
        parts: list[RenderableType] = []
        chapter = ""
        for each in experiments():
            document = each.chapter.partition(",")[0]
            if document != chapter:
                parts += [Text(document, "bold")]
                chapter = document
            parts.append(Padding(listed(each, found.get(each.name), reason_not(each)), _INDENT))
        results().print(Group(*parts))
        say("\n`httpdyno book run NAME` measures one here, `httpdyno book run --all` all of them")


@app.command(
    "show",
    epilog="""Example:

\b
  httpdyno book show mod-cgi-baseline
""",
)
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of an experiment.")],
    *,
    json: JsonOption = None,
) -> int:
    """Show an experiment: then, how it is run, and now."""
    outputs = Outputs(json=json)
    outputs.check()
    each = _named(name)
    now, reason = _results().get(each.name), reason_not(each)
    if outputs.json is not None:
        write_json(experiment_json(each, reason, now), outputs.json)
    if outputs.has_text:
        results().print(sheet(each, way_of(each), now, reason))
    return 0


@app.command(
    "run",
    epilog="""Example:

\b
  httpdyno book run mod-cgi-baseline mrpc-sweep
  httpdyno book run --all --budget 60m
""",
)
def run(  # noqa: PLR0913 - one parameter for each option
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Of experiments.", show_default=False),
    ] = None,
    *,
    run_all: Annotated[bool, typer.Option("--all", help="Every one that can run here.")] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="The time for all that is asked for.  [default: a minute or two for each]",
            show_default=False,
        ),
    ] = None,
    seed: SeedOption = None,
    html: HtmlOption = None,
    json: JsonOption = None,
) -> int:
    """Measure experiments of the book here, and keep what comes out.

    Each is a comparison with an interval, a count, or a load test, as `show` says. It ends with
    exit code 1 where one could not be run.
    """
    # The engine and all that it needs: the list of experiments answers without.
    from httpdyno.cli.book_ways import run_experiment  # noqa: PLC0415
    from httpdyno.telemetry.machine_card import machine_card  # noqa: PLC0415

    outputs = Outputs(html=html, json=json)
    outputs.check()
    asked = _asked(names or [], run_all=run_all)
    whole_s = sum(each.budget_s for each in asked)
    share = min(1.0, duration_s(budget) / whole_s) if budget else 1.0
    whole_seed = seed_or_new(seed)
    n_failed, done = 0, []
    card = machine_card()
    for number, each in enumerate(asked, 1):
        tell(
            f"{number} of {len(asked)}: {each.name}, about {format_duration(each.budget_s * share)}"
        )
        try:
            now = run_experiment(each, card, budget_s=each.budget_s * share, seed=whole_seed)
        except HttpdynoError as error:
            if len(asked) == 1:
                raise
            n_failed += 1
            tell(f"{each.name} was not measured: {error}")
            continue
        keep(now)
        done.append(experiment_json(each, "", now))
        if outputs.has_text:
            results().print(sheet(each, each, now, ""))
    if outputs.html is not None:
        _write_report(outputs.html)
    if outputs.json is not None:
        write_json({"experiments": done}, outputs.json)
    return 1 if n_failed else 0


@app.command(
    "report",
    epilog="""Example:

\b
  httpdyno book report --html book.html
""",
)
def report(*, html: HtmlOption = None, json: JsonOption = None) -> int:
    """Write one page of all experiments: then beside now."""
    outputs = Outputs(json=json, html=html)
    outputs.check()
    if outputs.html is None and outputs.json is None:
        raise UsageError("nothing to write", hint="such as `--html book.html`")
    if outputs.html is not None:
        _write_report(outputs.html)
    if outputs.json is not None:
        write_json(book_json(experiments(), _reasons(), _results()), outputs.json)
    return 0


def _write_report(path: str) -> None:
    from pathlib import Path  # noqa: PLC0415 - as the others that write

    write_text(Path(path), book_html(experiments(), _reasons(), _results()))
    tell(f"wrote {path}")


def _asked(names: Sequence[str], *, run_all: bool) -> list[Experiment]:
    if bool(names) == run_all:
        raise UsageError("name experiments, or give `--all`", hint="`httpdyno book` lists them")
    if not run_all:
        # Two of the same data are one.
        found = dict.fromkeys(way_of(_named(name)).name for name in names)
        asked = [_named(name) for name in found]
        for each in asked:
            if reason := reason_not(each):
                raise UsageError(f"{each.name} cannot be run here: {reason}")
        return asked
    asked = []
    for each in experiments():
        if each.same_as:
            continue
        if reason := reason_not(each):
            tell(f"left out: {each.name}: {reason}")
        else:
            asked.append(each)
    return asked


def _named(name: str) -> Experiment:
    each = experiment(name)
    if each is None:
        known = [one.name for one in experiments()]
        raise UsageError(
            f"no experiment is called `{name}`",
            hint=nearest(name, known) or "`httpdyno book` lists them",
        )
    return each


def _reasons() -> Mapping[str, str]:
    return {each.name: reason_not(each) for each in experiments()}


def _results() -> dict[str, Now]:
    """Return what is kept, also under the names of those that were printed twice."""
    kept = kept_results()
    names = {each.name: way_of(each).name for each in experiments()}
    return {name: kept[of] for name, of in names.items() if of in kept}
