"""`httpdyno demo`: the first thing to run."""

from httpdyno.cli.launch import Request, launch
from httpdyno.cli.option import BudgetOption, HtmlOption, JsonOption, SeedOption

EXAMPLE = """Example:

\b
  httpdyno demo
"""

STUDY = "bookmarks"
BUDGET = "150s"
HTML = "httpdyno-bookmarks-{id}.html"


def command(
    *,
    budget: BudgetOption = None,
    seed: SeedOption = None,
    html: HtmlOption = None,
    json: JsonOption = None,
) -> int:
    """Tune the bundled application and write a report of what helped.

    A small bookmarks application runs under gunicorn with a careless but ordinary
    configuration; each change that is proven to help is kept. The report goes into this folder
    as httpdyno-bookmarks-ID.html; nothing else outside a private folder is touched.
    """
    return launch(
        Request(study=STUDY, budget=budget or BUDGET, seed=seed, html=html or HTML, json=json)
    )
