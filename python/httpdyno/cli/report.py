"""`httpdyno report`: show a stored run again."""

from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.option import HtmlOption, JsonOption
from httpdyno.cli.outcome_output import show_outcome
from httpdyno.cli.output import Outputs, write_text
from httpdyno.cli.standard_streams import say
from httpdyno.errors import StoreError, UsageError
from httpdyno.store import Store

EXAMPLE = """Example:

\b
  httpdyno report --html report.html
"""


def command(
    run_id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The run.  [default: the latest]", show_default=False),
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
        found = run_id or store.latest_run_id()
        if found is None:
            raise StoreError("no run is stored", hint="`httpdyno demo` makes one")
        outcome = store.outcome(found)
        study = store.plan(found).study.name
    if outcome is None:
        raise StoreError(
            f"run {found} of `{study}` was killed before it had any result",
            hint=f"`httpdyno study run --resume {found}` goes on with it",
        )
    if diff is None:
        show_outcome(outcome, outputs)
        return 0
    if not outcome.overlay_diff:
        raise UsageError(
            f"run {found} of `{study}` changes nothing: there is no difference to write",
            hint=f"`httpdyno report {found}` says what it found",
        )
    if diff == "-":
        say(outcome.overlay_diff.removesuffix("\n"))
    else:
        write_text(Path(diff), outcome.overlay_diff)
    return 0
