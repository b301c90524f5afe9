"""One load test as an HTML file that needs no network and no script."""

import re
from pathlib import Path

from httpdyno.model import LoadOutcome
from httpdyno.report.html import script_json
from httpdyno.report.load.json import load_json

_TEMPLATES = Path(__file__).parent.parent / "templates"


def load_html(outcome: LoadOutcome) -> str:
    """Return the report as one self-contained file."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - heavy
    from markupsafe import Markup, escape  # noqa: PLC0415

    from httpdyno.report.load.page import page  # noqa: PLC0415 - imports altair

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["ticked"] = lambda text: Markup(_ticked(str(escape(text))))  # noqa: S704
    css = "".join(
        (_TEMPLATES / name).read_text(encoding="utf-8") for name in ("sheet.css", "load.css")
    )
    text = environment.get_template("load.html.j2").render(
        **page(outcome, drawn=Markup),
        css=Markup(css),  # noqa: S704 - our own files
        data=Markup(script_json(load_json(outcome))),  # noqa: S704 - escaped there
    )
    return f"{text}\n"


def _ticked(escaped: str) -> str:
    """Return escaped text with what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
