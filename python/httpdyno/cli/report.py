"""`httpdyno report`: show a stored run again."""

from typing import Annotated

import typer

from httpdyno.cli.option import HtmlOption, JsonOption
from httpdyno.cli.outcome_output import show_outcome
from httpdyno.cli.output import Outputs
from httpdyno.errors import StoreError
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
    show_outcome(outcome, outputs)
    return 0
