"""`httpdyno report`: show a stored run again."""

from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.keep import newest_runs
from httpdyno.cli.load.output import LoadOutputs
from httpdyno.cli.option import HtmlOption, JsonOption, stored_ids
from httpdyno.cli.outcome_output import show_outcome
from httpdyno.cli.output import STDOUT, Outputs, write_bytes
from httpdyno.cli.standard_streams import say_patch
from httpdyno.cli.turns_output import show_turns
from httpdyno.errors import StoreError, UsageError
from httpdyno.foreign_text import kept_bytes
from httpdyno.report.study.their_files import patch_text
from httpdyno.store import Store

EXAMPLE = """Example:

\b
  httpdyno report --html report.html
"""


def command(
    run_id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            autocompletion=stored_ids,
            help="The run.  [default: the latest]",
            show_default=False,
        ),
    ] = None,
    *,
    html: HtmlOption = None,
    json: JsonOption = None,
    diff: Annotated[
        str | None,
        typer.Option(
            "--diff",
            metavar="FILE|-",
            help="Write what changes in the server's files, as `patch -p1` takes it; `-` is "
            "stdout, without text.",
        ),
    ] = None,
) -> int:
    """Show a stored run again, or write it as HTML or JSON."""
    outputs = Outputs(json=json, html=html)
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
            page = outputs.html_path(found)
            LoadOutputs(json=json, html=str(page) if page else None).write(store.load(found))
        elif kind == "turns":
            show_turns(store.turns(found), outputs, run_id=found)
        else:
            _show_study(store, found, outputs, diff)
    return 0


def _show_study(store: Store, run_id: str, outputs: Outputs, diff: str | None) -> None:
    outcome = store.outcome(run_id)
    if outcome is None:
        study = store.plan(run_id).study.name
        raise StoreError(
            f"run {run_id} of `{study}` was killed before it had any result",
            hint=f"`httpdyno study run --resume {run_id}` goes on with it",
        )
    if diff is None:
        show_outcome(outcome, outputs)
        return
    is_own_site = outcome.plan.study.site is not None
    text = patch_text(outcome.overlay_diff) if is_own_site else outcome.overlay_diff
    if not text:
        what = "no file" if outcome.overlay_diff else "nothing"
        raise UsageError(
            f"run {run_id} of `{outcome.plan.study.name}` changes {what}: there is no difference "
            "to write",
            hint=f"`httpdyno report {run_id}` says what it found",
        )
    if diff == STDOUT:
        say_patch(kept_bytes(text))
    else:
        write_bytes(Path(diff), kept_bytes(text))
