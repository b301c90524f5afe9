"""What every page is made with: templates that escape, and data that no page can mistake."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from httpdyno.report.shared.phrase import sentence
from httpdyno.report.shared.prose import held

if TYPE_CHECKING:
    from jinja2 import Environment

_JOINER = "\N{WORD JOINER}"
_TEMPLATES = Path(__file__).parents[1] / "templates"


def rendered(
    template: str,
    values: dict[str, Any],
    data: dict[str, Any],
    *,
    css: tuple[str, ...],
) -> str:
    """Return a template filled in, as one file that needs nothing else.

    Args:
        template: Its name.
        values: What it shows; text is escaped.
        data: What the page carries as JSON.
        css: The names of its style sheets.
    """
    from markupsafe import Markup  # noqa: PLC0415 - heavy

    sheets = "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in css)
    page = (
        _environment()
        .get_template(template)
        .render(
            **values,
            css=Markup(sheets),  # noqa: S704 - our own files
            data=Markup(script_json(data)),  # noqa: S704 - escaped there
        )
    )
    return f"{page}\n"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - heavy
    from markupsafe import Markup, escape  # noqa: PLC0415

    def marked(each: Callable[[str], str]) -> Callable[[str], Markup]:
        return lambda text: Markup(each(str(escape(text))))  # noqa: S704 - escaped

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    own = {"glued": glued, "sentence": sentence, "ticked": _ticked}
    environment.filters |= {name: marked(each) for name, each in own.items()}
    return environment


def _ticked(escaped: str) -> str:
    """Return escaped text with what stands in backticks as code, and the rest glued."""
    parts = re.split(r"`([^`]+)`", escaped)
    return "".join(f"<code>{part}</code>" if n % 2 else glued(part) for n, part in enumerate(parts))


def glued(text: str) -> str:
    """Return the text with each number held to its unit, or to the noun that it counts.

    Not for what people copy into a file: its spaces are no spaces any more.
    """
    return re.sub(r"(?<=\d)/(?=s\b)", f"/{_JOINER}", held(text))


def script_json(data: dict[str, Any]) -> str:
    """Return JSON that can stand in a script element: no `<` can end or open anything."""
    text = msgspec.json.encode(data).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
