"""One load test as an HTML file that needs no network and no script."""

import re

from httpdyno.model import LoadOutcome
from httpdyno.report.load.json import load_json
from httpdyno.report.load.page import page
from httpdyno.report.shared.template import glued, rendered


def load_html(outcome: LoadOutcome) -> str:
    """Return the report as one self-contained file."""
    return rendered(
        "load.html.j2",
        page(outcome),
        load_json(outcome),
        css=("page.css", "load.css"),
        filters={"ticked": _ticked},
    )


def _ticked(escaped: str) -> str:
    """Return escaped text with what stands in backticks as code, and the rest glued."""
    parts = re.split(r"`([^`]+)`", escaped)
    return "".join(f"<code>{part}</code>" if n % 2 else glued(part) for n, part in enumerate(parts))
