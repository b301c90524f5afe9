"""`httpdyno knobs`: what can be set of a server, within which bounds, at what risk."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.cli.console import results
from httpdyno.cli.option import ForceOption, JsonOption
from httpdyno.cli.output import Outputs
from httpdyno.errors import UsageError
from httpdyno.model import KnobInfo, Member, level_text
from httpdyno.registry import adapter_names, load_adapter, site_adapters
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.stack.adapter import ServerAdapter
from httpdyno.study.complaint import nearest

EXAMPLE = """Example:

\b
  httpdyno knobs gunicorn
"""

_INDENT = (0, 0, 0, 4)
_EFFECTS = {
    "visible": "clients can see it",
    "memory": "bounded by memory",
    "stale": "answers may be out of date for a while",
    "loss": "log lines or data may be lost",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """Knobs with where they are from."""

    server: str
    source: str
    """`[server]` of studies, or the main configuration file of a member that is here."""
    knobs: Mapping[str, KnobInfo]
    trouble: str = ""
    """Why nothing is known of it, where that is so."""


def command(
    server: Annotated[
        str | None,
        typer.Argument(
            metavar="SERVER", help="Kind of server, such as gunicorn.  [default: all, by name]"
        ),
    ] = None,
    *,
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """List a server's settings: values, default, cost and risk.

    For a server of studies: all knobs that its adapter knows. For a server configured on this
    machine: the settings of its own files, with their values as defaults.
    """
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    found = [*_of_studies(server), *_found_here(server)]
    if server is not None and not found:
        known = sorted({*adapter_names(), *(each.name for each in site_adapters())})
        if server in known:
            raise UsageError(
                f"no {server} is configured here where its packages have it",
                hint="`httpdyno inspect FILE` reads a configuration that lies elsewhere",
            )
        raise UsageError(
            f"no server is called `{server}`",
            hint=nearest(server, known) or f"there are {', '.join(known)}",
        )
    if outputs.json is not None:
        outputs.write_json({"servers": [_document(each) for each in found]})
    if outputs.has_text:
        shown = _names(found) if server is None else Group(*map(_sheet, found))
        results().print(shown)
    return 0


def _of_studies(server: str | None) -> list[Listed]:
    return [
        Listed(server=name, source="[server]", knobs=load_adapter(name).knobs())
        for name in adapter_names()
        if server in {None, name}
    ]


def _found_here(server: str | None) -> list[Listed]:
    return [
        _surveyed(adapter, member)
        for adapter in site_adapters()
        if server in {None, adapter.name}
        for member in adapter.usual()
    ]


def _surveyed(adapter: ServerAdapter, member: Member) -> Listed:
    """Return what can be set of a member; only read, and nothing of it executed."""
    source = member.main or " ".join(member.command)
    survey = adapter.survey(member, adapter.read(member), None)
    if isinstance(survey, NotRunning):
        return Listed(server=adapter.name, source=source, knobs={}, trouble=text(survey.detail))
    return Listed(server=adapter.name, source=source, knobs=adapter.knobs(survey))


def _document(listed: Listed) -> dict[str, Any]:
    return {
        "server": listed.server,
        "source": listed.source,
        "trouble": listed.trouble,
        "knobs": {name: msgspec.to_builtins(info) for name, info in listed.knobs.items()},
    }


def _names(found: list[Listed]) -> RenderableType:
    lines = [
        Text.assemble(
            (each.server, "cyan"),
            f"  {each.source}  {each.trouble or _count(each)}",
        )
        for each in found
    ]
    return Group(*lines)


def _count(listed: Listed) -> str:
    if not listed.knobs:
        return "knobs of any name, which a study gives it"
    return f"{len(listed.knobs)} knobs"


def _sheet(listed: Listed) -> RenderableType:
    parts: list[RenderableType] = [Text(f"{listed.server}, {listed.source}", "bold")]
    if listed.trouble or not listed.knobs:
        parts.append(Padding(Text(listed.trouble or _count(listed)), _INDENT))
    for name, info in listed.knobs.items():
        line = Text.assemble((name, "cyan"), f"  {domain_text(info)}")
        if info.default is not None:
            line.append(f"; {level_text(info.default)} unless set", "dim")
        parts += [line, Padding(Text(_meaning(info)), _INDENT)]
    return Group(*parts)


def domain_text(info: KnobInfo) -> str:
    """Return what values a knob takes: `1 … 64 processes`, `on, off`."""
    if info.kind == "boolean":
        return "true or false"
    if info.choices:
        return ", ".join(info.choices)
    if info.kind in {"choice", "text"}:
        return "text"
    unit = f" {info.unit}" if info.unit else ""
    low, high = (_number(bound) for bound in (info.minimum, info.maximum))
    if not low and not high:
        return f"{'a whole number' if info.kind == 'integer' else 'a number'}{unit}"
    if not high:
        return f"{low} or more{unit}"
    return f"{low} … {high}{unit}" if low else f"at most {high}{unit}"


def _number(bound: float | None) -> str:
    if bound is None:
        return ""
    return f"{bound:,.0f}" if float(bound).is_integer() else f"{bound:g}"


def _meaning(info: KnobInfo) -> str:
    parts = [info.summary]
    if info.cost:
        parts.append(f"takes a {info.cost}" if info.cost != "live" else "taken up at once")
    if info.effect in _EFFECTS:
        parts.append(_EFFECTS[info.effect])
    if info.risk:
        parts.append(info.risk)
    return "; ".join(part.rstrip(".") for part in parts if part)
