"""`httpdyno book`: the experiments of the founding documents, then and now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.book.declared import experiment, experiments, way_of, whole_s
from httpdyno.book.experiment import Experiment
from httpdyno.book.result import Now, UnderWay, keep_under_way, kept_results, under_way
from httpdyno.cli.book_needs import reason_not
from httpdyno.cli.console import results
from httpdyno.cli.exit_code import EXIT_INTERRUPTED
from httpdyno.cli.launch import seed_or_new
from httpdyno.cli.option import JsonOption, SeedOption
from httpdyno.cli.output import Outputs, write_json, write_text
from httpdyno.cli.standard_streams import say, tell
from httpdyno.errors import UsageError
from httpdyno.report.book.html import book_html
from httpdyno.report.book.json import book_json, experiment_json
from httpdyno.report.book.text import listed, sheet, summary
from httpdyno.study.complaint import nearest
from httpdyno.units import duration_s

_INDENT = (0, 0, 0, 2)
_RESUME = "`httpdyno book run --all --resume`"
_FEW = 3
"""Of so many all is shown as each ends, of more a few lines."""
MOST_S = 90 * 60.0
"""All of them together are over by then."""
_OVERHEAD = 1.15
"""Coming up, looking and ending are beside the budgets; what they take more is the others' loss."""
HtmlOption = Annotated[
    str | None,
    typer.Option("--html", metavar="FILE", help="Write all experiments as one HTML page."),
]
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
    found, reasons = _results(), _reasons()
    if outputs.json is not None:
        write_json(book_json(experiments(), reasons, found), outputs.json)
    if outputs.has_text:
        parts: list[RenderableType] = []
        chapter = ""
        for each in experiments():
            document = each.chapter.partition(",")[0]
            if document != chapter:
                parts += [Text(document, "bold")]
                chapter = document
            now, reason = found.get(each.name), reasons[each.name]
            parts.append(Padding(listed(each, way_of(each), now, reason), _INDENT))
        results().print(Group(*parts))
        say("", *summary(experiments(), reasons, found, round_s(_runnable(reasons))))


@app.command(
    "show",
    epilog="""Example:

\b
  httpdyno book show mod-cgi-baseline
""",
)
def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An experiment, as `httpdyno book` lists it.")
    ],
    *,
    json: JsonOption = None,
) -> int:
    """Show an experiment: then, how it is run and judged, and now."""
    outputs = Outputs(json=json)
    outputs.check()
    each = _named(name)
    now, reason = _results().get(each.name), reason_not(each)
    if outputs.json is not None:
        write_json(experiment_json(each, way_of(each), reason, now), outputs.json)
    if outputs.has_text:
        results().print(sheet(each, way_of(each), now, reason))
    return 0


@app.command(
    "run",
    epilog="""Example:

\b
  httpdyno book run mod-cgi-baseline mrpc-sweep
  httpdyno book run --all --budget 60m --html book.html
  httpdyno book run --all --resume
""",
)
def run(  # noqa: PLR0913 - one parameter for each option
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Experiments, as `httpdyno book` lists them.",
            show_default=False,
        ),
    ] = None,
    *,
    run_all: Annotated[bool, typer.Option("--all", help="Every one that can run here.")] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="With `--all`: go on where the last one was broken off."),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="The time for all that is asked for.  [default: what each may take]",
            show_default=False,
        ),
    ] = None,
    seed: SeedOption = None,
    html: HtmlOption = None,
    json: JsonOption = None,
) -> int:
    """Measure experiments of the book here, and keep what comes out.

    Each is a comparison with an interval, a count, or load tests, as `show` says. It ends with
    exit code 1 where one could not be measured.
    """
    outputs = Outputs(html=html, json=json)
    outputs.check()
    request = _Request(names=names or [], is_all=run_all, is_resumed=resume)
    asked, before = _asked(request), _broken_off(request, seed)
    whole_seed = before.seed if before else seed_or_new(seed)
    limit_s = _limit_s(budget, asked, before)
    if run_all and before is None:
        began_at = datetime.now(UTC).isoformat(timespec="seconds")
        given_s = duration_s(budget) if budget else None
        keep_under_way(UnderWay(began_at=began_at, seed=whole_seed, budget_s=given_s))
    # The engine and all that it needs: the list of experiments answers without.
    from httpdyno.cli.book_run import Round, run_round  # noqa: PLC0415

    def shown(each: Experiment, now: Now) -> None:
        if outputs.has_text:
            is_few = len(asked) <= _FEW
            results().print(sheet(each, each, now, "") if is_few else listed(each, each, now, ""))

    round_ = Round(
        asked=asked,
        seed=whole_seed,
        limit_s=limit_s,
        stretch=max(1.0, limit_s / round_s(asked)) if asked else 1.0,
        show=shown,
    )
    code = 0
    try:
        run_round(round_)
        code = 1 if round_.n_failed else 0
        if run_all and round_.n_left:
            tell(f"{_RESUME} measures the other {len(asked) - len(round_.done)}")
        elif run_all:
            keep_under_way(None)
    except KeyboardInterrupt:
        n_left = len(asked) - len(round_.done)
        how = f"; {_RESUME} measures the other {n_left}" * run_all
        tell(f"{len(round_.done)} of {len(asked)} are measured and kept{how}")
        code = EXIT_INTERRUPTED
    if outputs.html is not None:
        _write_report(outputs.html)
    if outputs.json is not None:
        rows = [experiment_json(_named(now.name), _named(now.name), "", now) for now in round_.done]
        write_json({"experiments": rows}, outputs.json)
    return code


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
    write_text(Path(path), book_html(experiments(), _reasons(), _results()))
    tell(f"wrote {path}")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    """What is to be run, as asked for on the command line."""

    names: Sequence[str]
    is_all: bool
    is_resumed: bool


def _broken_off(request: _Request, seed: int | None) -> UnderWay | None:
    """Return the run that goes on; None where a new one begins."""
    if not request.is_resumed:
        return None
    if not request.is_all:
        raise UsageError("`--resume` is for `--all`", hint=_RESUME)
    if seed is not None:
        raise UsageError(
            "the run that goes on has its own seed", hint="leave out `--seed` with `--resume`"
        )
    before = under_way()
    if before is None:
        raise UsageError("no `book run --all` was broken off here", hint="leave out `--resume`")
    return before


def _limit_s(budget: str | None, asked: Sequence[Experiment], before: UnderWay | None) -> float:
    """Return the time for all that is asked for."""
    if budget is not None:
        given_s = duration_s(budget)
        if given_s <= 0:
            raise UsageError(f"a budget of `{budget}` is no time at all", hint="`--budget 30m`")
        return given_s
    if before is not None and before.budget_s is not None:
        return before.budget_s * whole_s(asked) / whole_s(_runnable(_reasons()))
    return round_s(asked)


def round_s(asked: Sequence[Experiment]) -> float:
    """Return the time after which none of these goes on, where no other is given."""
    return whole_s(asked) * _OVERHEAD


def _asked(request: _Request) -> list[Experiment]:
    if bool(request.names) == request.is_all:
        raise UsageError(
            "name experiments, or give `--all`, not both", hint="`httpdyno book` lists them"
        )
    if not request.is_all:
        # Two of the same data are one.
        found = dict.fromkeys(way_of(_named(name)).name for name in request.names)
        asked = [_named(name) for name in found]
        for each in asked:
            if reason := reason_not(each):
                raise UsageError(f"{each.name} cannot be run here: {reason}")
        return asked
    reasons = _reasons()
    for each in experiments():
        if reasons[each.name] and not each.same_as:
            tell(f"left out: {each.name}: {reasons[each.name]}")
    asked, before = _runnable(reasons), under_way()
    if request.is_resumed and before is not None:
        done = {now.name for now in kept_results().values() if now.measured_at >= before.began_at}
        asked = [each for each in asked if each.name not in done]
    return asked


def _runnable(reasons: Mapping[str, str]) -> list[Experiment]:
    """Return those that can run here, without those that another stands for."""
    return [each for each in experiments() if not (each.same_as or reasons[each.name])]


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
