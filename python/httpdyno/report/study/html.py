"""The dyno sheet: a study's outcome as one HTML file that needs no network and no script."""

from httpdyno.model import Outcome
from httpdyno.report.shared.template import rendered
from httpdyno.report.study.json import outcome_json


def outcome_html(outcome: Outcome) -> str:
    """Return the sheet as one self-contained file."""
    from markupsafe import Markup  # noqa: PLC0415 - heavy

    from httpdyno.report.study.page import sheet  # noqa: PLC0415 - imports altair

    values = sheet(outcome, drawn=Markup)
    return rendered("study.html.j2", values, outcome_json(outcome), css=("page.css",))
