"""What configuration Apache really runs with, from its own words.

`-D DUMP_CONFIG` prints the directives as read, but not what the MPM makes of them afterwards.
That is in warnings (workers over ServerLimit are clipped), or nowhere at all: a MaxSpareServers
that is not above MinSpareServers silently becomes one more than it.

Source of the silent rules: httpd 2.4 documentation, prefork, MaxSpareServers ("Apache httpd will
automatically adjust it to MinSpareServers + 1"), and StartServers, of which no more than
MaxRequestWorkers are ever started.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from httpdyno.model import Effective
from httpdyno.servers.apache.knob import KNOBS

_ADJUSTED = re.compile(
    r"WARNING: (\w+) of (-?\d+) (?:exceeds|not allowed).*?"
    r"(?:decreasing|increasing)(?: \w+)? to (-?\d+)"
)
_OPENS = re.compile(r"<(\w+)\s*([^>]*)>")
_TRANSPARENT = frozenset({"ifmodule", "ifdefine", "ifversion", "ifdirective", "iffile"})
_MIN_SPARE_DEFAULT = 5
_START_DEFAULT = 5
_WORKERS_DEFAULT = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Directive:
    """One directive of the dump."""

    name: str
    arguments: str
    section: str
    """Such as `<VirtualHost *:80>`; empty for the main server."""


def directives(dump: str) -> list[Directive]:
    """Return the directives of a `-D DUMP_CONFIG`, in order."""
    found: list[Directive] = []
    sections: list[tuple[str, str]] = []
    for raw in dump.splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("</"):
            if sections:
                sections.pop()
            continue
        opening = _OPENS.fullmatch(line)
        if opening is not None:
            sections.append((opening[1], line))
            continue
        name, _, arguments = line.partition(" ")
        inner = [text for kind, text in sections if kind.lower() not in _TRANSPARENT]
        found.append(
            Directive(name=name, arguments=arguments.strip(), section=inner[-1] if inner else "")
        )
    return found


def adjustments(words: str) -> dict[str, int]:
    """Return what Apache says that it changed: directive → value in force."""
    return {match[1]: int(match[3]) for match in _ADJUSTED.finditer(words)}


def effective(dump: str, words: str, asked: Mapping[str, str]) -> Effective:
    """Return what is in force of the knobs, and what was asked of them.

    Args:
        dump: What it printed for `-D DUMP_CONFIG`; it reads its configuration twice.
        words: What Apache wrote to its error output and log.
        asked: Directive → argument, as Apache writes it.
    """
    names = {name.lower(): name for name in KNOBS}
    values: dict[str, str] = {}
    elsewhere: dict[str, Directive] = {}
    for directive in directives(dump):
        name = names.get(directive.name.lower())
        if name is None:
            continue
        if directive.section:
            elsewhere[name] = directive
        else:
            values[name] = _canonical(name, directive.arguments)
    values |= {name: str(value) for name, value in adjustments(words).items()}
    values |= _silent_adjustments(values)
    for name, directive in elsewhere.items():
        other = _canonical(name, directive.arguments)
        if name in asked and other != values.get(name):
            values[name] = f"{values.get(name, 'not set')} ({other} in {directive.section})"
    return Effective(
        values=values,
        asked=dict(asked),
        source="the running Apache's -D DUMP_CONFIG and its warnings",
    )


def processes_at_start(values: Mapping[str, str]) -> int:
    """Return how many processes prefork starts before it looks at its load."""
    started = _number(values, "StartServers")
    workers = _number(values, "MaxRequestWorkers")
    return min(
        _START_DEFAULT if started is None else started,
        _WORKERS_DEFAULT if workers is None else workers,
    )


def _silent_adjustments(values: Mapping[str, str]) -> dict[str, str]:
    adjusted = {}
    least = _number(values, "MinSpareServers") or _MIN_SPARE_DEFAULT
    most = _number(values, "MaxSpareServers")
    if most is not None and most <= least:
        adjusted["MaxSpareServers"] = str(least + 1)
    workers, started = _number(values, "MaxRequestWorkers"), _number(values, "StartServers")
    if workers is not None and started is not None and started > workers:
        adjusted["StartServers"] = str(workers)
    return adjusted


def _number(values: Mapping[str, str], name: str) -> int | None:
    text = values.get(name, "")
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def _canonical(name: str, arguments: str) -> str:
    bare = arguments.strip('"')
    if KNOBS[name].kind == "integer":
        # Apache reads numbers by atoi: what is none silently becomes 0.
        digits = re.match(r"[+-]?\d+", bare)
        return str(int(digits[0])) if digits else "0"
    return bare.capitalize() if bare.lower() in {"on", "off"} else bare
