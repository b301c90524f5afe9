"""`httpdyno report`: show a stored run again."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from httpdyno.cli.console import results
from httpdyno.cli.keep import newest_runs
from httpdyno.cli.option import ForceOption, HtmlOption, JsonOption, VerboseOption, stored_ids
from httpdyno.cli.outcome_output import show_outcome
from httpdyno.cli.output import Outputs
from httpdyno.errors import StoreError, UsageError
from httpdyno.host.foreign_text import kept_bytes
from httpdyno.model import RunUnderWay
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.running import under_way_text, under_way_words
from httpdyno.report.study.their_files import is_proven, patch_text
from httpdyno.store import Store

EXAMPLE = """Example:

\b
  httpdyno report --html report.html
"""


def command(  # noqa: PLR0913 - one parameter for each option
    run_id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            autocompletion=stored_ids,
            help="Run id.  [default: the latest]",
            show_default=False,
        ),
    ] = None,
    *,
    html: HtmlOption = None,
    json: JsonOption = None,
    force: ForceOption = False,
    diff: Annotated[
        str | None,
        typer.Option(
            "--diff",
            metavar="FILE|-",
            help="Write the changes to the server's files for `patch -p1`. `-` is stdout, "
            "without text.",
        ),
    ] = None,
    verbose: VerboseOption = False,
) -> int:
    """Show a stored run, or write it as HTML, JSON or a patch."""
    outputs = Outputs(json=json, html=html, diff=diff, is_verbose=verbose, is_forced=force)
    outputs.check()
    with Store.open() as store:
        newest = newest_runs(store)
        found = run_id or next((run.id for run in newest), None)
        if found is None:
            raise StoreError("no run is stored", hint="`httpdyno demo` makes one")
        kind = store.command(found)
        if diff is not None and kind in {"load", "turns"}:
            raise UsageError(f"run {found} changed nothing, so there is no difference to write")
        if kind == "load":
            from httpdyno.cli.load.output import LoadOutputs  # noqa: PLC0415 - seldom

            page = outputs.html_path(found)
            shown = LoadOutputs(
                json=json,
                html=str(page) if page else None,
                verbose=verbose,
                force=force,
            )
            shown.check()
            shown.write(store.load(found))
        elif kind == "turns":
            from httpdyno.cli.outcome_output import show_turns  # noqa: PLC0415 - seldom

            show_turns(store.turns(found), outputs, run_id=found)
        else:
            _show_study(store, found, outputs)
    return 0


def _show_study(store: Store, run_id: str, outputs: Outputs) -> None:
    outcome = store.outcome(run_id)
    if outcome is None:
        under_way = store.under_way(run_id)
        if under_way is not None:
            _show_under_way(under_way, outputs, has_diff=outputs.diff is not None)
            return
        study = store.plan(run_id).study.name
        raise StoreError(
            f"run {run_id} of `{study}` was killed before it had any result",
            hint=f"`httpdyno study run --resume {run_id}` goes on with it",
        )
    if outputs.diff is None:
        show_outcome(outcome, outputs)
        under_way = store.under_way(run_id) if outcome.status == "running" else None
        if under_way is not None and outputs.has_text:
            words = f"{under_way_words(under_way, datetime.now(UTC))}; {_followed_by(run_id)}"
            results().print(Text(""), Prose(Text(words)))
        return
    if not is_proven(outcome):
        raise UsageError(
            f"run {run_id} of `{outcome.plan.study.name}` did not prove b better: there is no "
            "change to write",
            hint=f"`httpdyno report {run_id}` says what it found, and how its files differ",
        )
    is_own_site = outcome.plan.study.site is not None
    text = patch_text(outcome.overlay_diff) if is_own_site else outcome.overlay_diff
    if not text:
        what = "no file" if outcome.overlay_diff else "nothing"
        raise UsageError(
            f"run {run_id} of `{outcome.plan.study.name}` changes {what}: there is no difference "
            "to write",
            hint=f"`httpdyno report {run_id}` says what it found",
        )
    outputs.write_diff(kept_bytes(text), run_id=run_id)


def _show_under_way(run: RunUnderWay, outputs: Outputs, *, has_diff: bool) -> None:
    """Print what is known of a run that has no outcome yet.

    Raises:
        StoreError: Something else was asked for, which takes an outcome.
    """
    if has_diff or outputs.json is not None or outputs.html is not None:
        raise StoreError(
            under_way_words(run, datetime.now(UTC)),
            hint=f"it has nothing to write yet; `httpdyno watch run:{run.id}` follows it",
        )
    results().print(under_way_text(run, datetime.now(UTC)))
    results().print(Text(""), Text(_followed_by(run.id)))


def _followed_by(run_id: str) -> str:
    return f"`httpdyno watch run:{run_id}` follows it"
