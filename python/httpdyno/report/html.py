"""The dyno sheet: a study's outcome as one HTML file that needs no network and no script."""

from httpdyno.model import Outcome
from httpdyno.report.json import outcome_json
from httpdyno.report.page import rendered


def outcome_html(outcome: Outcome) -> str:
    """Return the sheet as one self-contained file."""
    from markupsafe import Markup  # noqa: PLC0415 - heavy

    from httpdyno.report.sheet import sheet  # noqa: PLC0415 - imports altair

    values = sheet(outcome, drawn=Markup)
    return rendered("sheet.html.j2", values, outcome_json(outcome), css=("sheet.css",))
