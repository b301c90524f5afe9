"""`httpdyno book`: the experiments and the advice of the founding documents, then and now."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.book.advice import Advice, AdviceHere, Told, advice_here, all_advice
from httpdyno.book.document import advice_json, book_json, experiment_json
from httpdyno.book.experiment import Experiment, experiments, way_of
from httpdyno.book.found import Host
from httpdyno.book.page import book_html
from httpdyno.book.result import Now, UnderWay, keep_under_way
from httpdyno.book.run import (
    RESUME,
    Request,
    Round,
    broken_off,
    limit_s_of,
    named,
    reason_not,
    reasons_not,
    results_here,
    round_s,
    run_round,
    runnable,
    what_is_asked,
)
from httpdyno.book.text import (
    ADVICE_TITLE,
    advice_sheet,
    advice_summary,
    listed,
    listed_advice,
    sheet,
    summary,
)
from httpdyno.catalog import open_study
from httpdyno.cli.console import messages, results
from httpdyno.cli.launch import enter_namespace_for, outcome_of, seed_or_new
from httpdyno.cli.live_display import LiveLine
from httpdyno.cli.option import ForceOption, JsonOption, SeedOption
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import EXIT_INTERRUPTED, say, tell
from httpdyno.errors import UsageError
from httpdyno.experiment.design.inputs import taken_anew
from httpdyno.units import duration_s

_INDENT = (0, 0, 0, 2)
_FEW = 3
"""Of so many all is shown as each ends, of more a few lines."""
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
def overview(
    context: typer.Context, *, json: JsonOption = None, force: ForceOption = False
) -> None:
    """Repeat the experiments of the tuning books and compare the results.

    Below the experiments it lists advice without figures, with the verdict of a study here.
    `run` measures. The last result of each is kept.
    """
    if context.invoked_subcommand is not None:
        if json is not None:
            raise UsageError(
                "options before the command's name are for the list of all",
                hint=f"`httpdyno book {context.invoked_subcommand} --help` has its own",
            )
        return
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    found, reasons, advised = results_here(), reasons_not(), advice_here(all_advice())
    if outputs.json is not None:
        outputs.write_json(book_json(experiments(), reasons, found, advised))
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
        parts.append(Text(ADVICE_TITLE, "bold"))
        parts += [Padding(listed_advice(here), _INDENT) for here in advised]
        results().print(Group(*parts))
        say("", *summary(experiments(), reasons, found, round_s(runnable(reasons))))
        say(*advice_summary(advised))


@app.command(
    "show",
    epilog="""Example:

\b
  httpdyno book show mod-cgi-baseline
""",
)
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="An experiment or an advice that `httpdyno book` lists."
        ),
    ],
    *,
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """Show an experiment or advice: method, published and local result."""
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    each = named(name)
    if isinstance(each, Advice):
        [here] = advice_here([each])
        if outputs.json is not None:
            outputs.write_json(advice_json(here))
        if outputs.has_text:
            results().print(advice_sheet(here))
        return 0
    now, reason = results_here().get(each.name), reason_not(each)
    if outputs.json is not None:
        outputs.write_json(experiment_json(each, way_of(each), reason, now))
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
            help="Experiments and advice that `httpdyno book` lists.",
            show_default=False,
        ),
    ] = None,
    *,
    run_all: Annotated[
        bool, typer.Option("--all", help="Run every experiment that can run here.")
    ] = False,
    with_advice: Annotated[
        bool,
        typer.Option(
            "--advice", help="With --all: also check the advice without figures. Takes hours."
        ),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="With --all: continue the last interrupted run."),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Time budget for all experiments together.  [default: each one's own]",
            show_default=False,
        ),
    ] = None,
    seed: SeedOption = None,
    html: HtmlOption = None,
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """Measure experiments here and keep their results.

    `httpdyno book show` names the method: a comparison, a count or load tests. An advice runs and
    stores its whole study. Exit code 1 if one could not be measured.
    """
    outputs = Outputs(html=html, json=json, is_forced=force)
    outputs.check()
    request = Request(names=names or [], is_all=run_all, is_resumed=resume, has_advice=with_advice)
    before = broken_off(request, seed)
    asked = what_is_asked(request, before, tell)
    _enter_namespaces(asked)
    whole_seed = before.seed if before else seed_or_new(seed)
    limit_s = limit_s_of(budget, asked, before)
    if run_all and before is None:
        _keep_begun(whole_seed, budget, has_advice=with_advice)

    def shown(each: Experiment | AdviceHere, now: Now | Told) -> None:
        if outputs.has_text:
            results().print(_shown(each, now, is_few=len(asked) <= _FEW))

    round_ = Round(
        asked=asked,
        seed=whole_seed,
        limit_s=limit_s,
        stretch=max(1.0, limit_s / round_s(asked)) if asked else 1.0,
        card=taken_anew().card,
        show=shown,
    )
    host = Host(run_plan=outcome_of, tell=tell, watched=lambda name: LiveLine(messages(), name))
    code = 0
    try:
        run_round(round_, host)
        code = 1 if round_.n_failed else 0
        if run_all and round_.n_left:
            tell(f"{RESUME} measures the other {len(asked) - len(round_.done)}")
        elif run_all:
            keep_under_way(None)
    except KeyboardInterrupt:
        n_left = len(asked) - len(round_.done)
        how = f"; {RESUME} measures the other {n_left}" * run_all
        tell(f"{len(round_.done)} of {len(asked)} are measured and kept{how}")
        code = EXIT_INTERRUPTED
    if outputs.html is not None:
        _write_report(outputs)
    if outputs.json is not None:
        outputs.write_json(_done_json(asked, round_.done))
    return code


@app.command(
    "report",
    epilog="""Example:

\b
  httpdyno book report --html book.html
""",
)
def report(*, html: HtmlOption = None, json: JsonOption = None, force: ForceOption = False) -> int:
    """Write one page of all experiments: published and local results."""
    outputs = Outputs(json=json, html=html, is_forced=force)
    outputs.check()
    if outputs.html is None and outputs.json is None:
        raise UsageError("nothing to write", hint="such as `--html book.html`")
    if outputs.html is not None:
        _write_report(outputs)
    if outputs.json is not None:
        advised = advice_here(all_advice())
        outputs.write_json(book_json(experiments(), reasons_not(), results_here(), advised))
    return 0


def _enter_namespaces(asked: Sequence[Experiment | AdviceHere]) -> None:
    for each in asked:
        if isinstance(each, AdviceHere):
            enter_namespace_for(open_study(each.advice.study))


def _keep_begun(seed: int, budget: str | None, *, has_advice: bool) -> None:
    began_at = datetime.now(UTC).isoformat(timespec="seconds")
    given_s = duration_s(budget) if budget else None
    keep_under_way(UnderWay(began_at=began_at, seed=seed, budget_s=given_s, has_advice=has_advice))


def _write_report(outputs: Outputs) -> None:
    advised = advice_here(all_advice())
    page = book_html(experiments(), reasons_not(), results_here(), advised)
    tell(f"wrote {outputs.write_html(page)}")


def _shown(each: Experiment | AdviceHere, now: Now | Told, *, is_few: bool) -> RenderableType:
    """Return what came of one, on a sheet where there are few of them."""
    if isinstance(each, Experiment) and isinstance(now, Now):
        return sheet(each, each, now, "") if is_few else listed(each, each, now, "")
    if isinstance(each, AdviceHere) and isinstance(now, Told):
        here = replace(each, now=now)
        return advice_sheet(here) if is_few else listed_advice(here)
    raise TypeError("the result is of something else than what was run")


def _done_json(
    asked: Sequence[Experiment | AdviceHere], done: Sequence[Now | Told]
) -> dict[str, Any]:
    by_name = {now.name: now for now in done}
    rows: dict[str, Any] = {"experiments": [], "advice": []}
    for each in asked:
        now = by_name.get(each.name)
        if isinstance(each, Experiment) and isinstance(now, Now):
            rows["experiments"].append(experiment_json(each, each, "", now))
        if isinstance(each, AdviceHere) and isinstance(now, Told):
            rows["advice"].append(advice_json(replace(each, now=now)))
    return rows
