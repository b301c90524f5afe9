"""The dyno sheet: a study's outcome as one HTML file that needs no network and no script."""

from pathlib import Path
from typing import Any

import msgspec

from httpdyno.model import Outcome
from httpdyno.report.json import outcome_json

_TEMPLATES = Path(__file__).parent / "templates"


def outcome_html(outcome: Outcome) -> str:
    """Return the sheet as one self-contained file."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - heavy
    from markupsafe import Markup  # noqa: PLC0415

    from httpdyno.report.sheet import sheet  # noqa: PLC0415 - imports altair

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    css = (_TEMPLATES / "sheet.css").read_text(encoding="utf-8")
    template = environment.get_template("sheet.html.j2")
    page = template.render(
        **sheet(outcome, drawn=Markup),
        css=Markup(css),  # noqa: S704 - our own file
        data=Markup(script_json(outcome_json(outcome))),  # noqa: S704 - escaped there
    )
    return f"{page}\n"


def script_json(data: dict[str, Any]) -> str:
    """Return JSON that can stand in a script element: no `<` can end or open anything."""
    text = msgspec.json.encode(data).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
