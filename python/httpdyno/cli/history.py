"""`httpdyno history`: what is stored."""

from typing import Annotated

import typer
from msgspec.structs import replace

from httpdyno.cli.console import results
from httpdyno.cli.keep import MOST_RUNS, newest_runs
from httpdyno.cli.option import ForceOption, JsonOption
from httpdyno.cli.output import Outputs
from httpdyno.errors import StoreError
from httpdyno.model import Outcome, RunSummary
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.history import HistoryRow, history_json, history_row, history_text
from httpdyno.store import Store

EXAMPLE = """Example:

\b
  httpdyno history
"""


def command(
    json: JsonOption = None,
    force: ForceOption = False,
    *,
    limit: Annotated[
        int,
        typer.Option(
            "-n",
            "--limit",
            min=1,
            metavar="N",
            help="Maximum number of runs to list.",
        ),
    ] = MOST_RUNS,
) -> int:
    """List the stored runs, newest first."""
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    with Store.open() as store:
        rows = [_stored_row(store, run) for run in newest_runs(store, limit)]
        n_others = store.n_runs() - len(rows)
    if outputs.json is not None:
        outputs.write_json({"runs": history_json(rows), "n_others": n_others})
    if outputs.has_text:
        results().print(history_text(rows, n_others))
    return 0


def run_row(run: RunSummary, outcome: Outcome | None) -> HistoryRow:
    """Return a stored run as a row; also one that was killed before it had any result."""
    if outcome is not None:
        # The store knows better than the outcome whether anybody is still at it.
        return history_row(replace(outcome, status=run.status))
    return _row(run, f"no result yet; {plural(run.n_windows, 'window')} stored")


def _stored_row(store: Store, run: RunSummary) -> HistoryRow:
    if run.command in {"load", "turns"}:
        return _row(run, run.headline or f"`httpdyno report {run.id}` shows it")
    try:
        return run_row(run, store.outcome(run.id))
    except StoreError as error:
        # One that cannot be read must not hide the others.
        return _row(run, f"{error}")


def _row(run: RunSummary, headline: str) -> HistoryRow:
    return HistoryRow(
        id=run.id,
        study=run.study,
        command=run.command,
        status=run.status,
        began_at=run.began_at,
        duration_s=run.duration_s,
        headline=headline,
    )
