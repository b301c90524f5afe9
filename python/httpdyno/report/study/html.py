"""The page: a study's outcome as one HTML file that needs no network and no script."""

from httpdyno.model import Outcome
from httpdyno.report.shared.template import rendered
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import sheet


def outcome_html(outcome: Outcome) -> str:
    """Return the sheet as one self-contained file."""
    return rendered("study.html.j2", sheet(outcome), outcome_json(outcome), css=("page.css",))
