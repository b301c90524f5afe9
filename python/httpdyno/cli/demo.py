"""`httpdyno demo`: the first thing to run."""

from typing import Annotated

import typer

from httpdyno.cli.launch import Request, launch
from httpdyno.cli.option import ForceOption, JsonOption, SeedOption, UntilDecidedOption

EXAMPLE = """Example:

\b
  httpdyno demo
"""

STUDY = "bookmarks"
_BUDGET = "180s"


def command(  # noqa: PLR0913 - one parameter for each option
    *,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help=f"Time budget for the whole demo.  [default: {_BUDGET}]",
            show_default=False,
        ),
    ] = None,
    until_decided: UntilDecidedOption = False,
    seed: SeedOption = None,
    html: Annotated[
        str,
        typer.Option("--html", metavar="FILE", help="Report file. `{id}` is the run's id."),
    ] = "httpdyno-bookmarks-{id}.html",
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """Tune the bundled application and write a report of what helped.

    A small bookmarks application runs under gunicorn with a careless configuration. httpdyno keeps
    each change that is proven to help. It writes the report into this folder and touches nothing
    else outside a private one.
    """
    if budget is None and not until_decided:
        budget = _BUDGET
    return launch(
        Request(
            study=STUDY,
            budget=budget,
            is_until_decided=until_decided,
            seed=seed,
            html=html,
            json=json,
            is_forced=force,
        )
    )
