"""The sentences that reasons are shown as: one row a code, one file a room.

A row is a template: `{name}` is a parameter, `{name:FORMAT}` one in a format of `_FORMATS`
(`{p99:duration}`), `{n:count start}` is `1 start` or `3 starts` (`{n:count process/processes}`
where an s is not enough), `{why}` a reason's own sentence (`{why:line}` in one line).
`{metric:label}` is what a metric is called, `{mean:figure {metric}}` a figure of it,
`{p99_s:beside {limit_s} duration}` one that reads as different from its limit. A condition makes
two codes of one.
"""

import string
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources

from httpdyno.errors import HttpdynoError
from httpdyno.metrics import named
from httpdyno.reason import Param, Reason
from httpdyno.report.shared.phrase import oxford, plural
from httpdyno.units import (
    Format,
    format_about,
    format_beside,
    format_bytes,
    format_change,
    format_count,
    format_duration,
    format_guess,
    format_number,
    format_per_thousand,
    format_percent,
    format_rate,
)

_RULES = "rules"
_PACKAGE = resources.files("httpdyno")
_MESSAGES = _PACKAGE / "report" / "messages"


def text(reason: Reason) -> str:
    """Return the sentence of a reason; of one that has no row here its code with its parameters.

    Such is what another version of httpdyno stored.
    """
    template = rows_of(reason.code.partition(".")[0]).get(reason.code)
    if template is None or not fields(template) <= reason.params.keys():
        return str(reason)
    return _Formatter().vformat(template, (), reason.params)


def joined(reasons: Sequence[str | Reason]) -> str:
    """Return the sentences of a verdict's reasons as one."""
    return "; ".join(texts(reasons))


def error_text(error: HttpdynoError) -> str:
    """Return what an error says, with its causes."""
    return ": ".join(filter(None, [error.message, joined(error.why)]))


def hint_text(error: HttpdynoError) -> str:
    """Return what to do about an error; empty where that is not known."""
    return error.hint or joined(error.hints)


def texts(reasons: Sequence[str | Reason]) -> tuple[str, ...]:
    """Return the sentence of each; what others said stays as it is."""
    return tuple(each if isinstance(each, str) else text(each) for each in reasons)


@cache
def rows_of(room: str) -> dict[str, str]:
    """Return a room's templates by their codes.

    Each file is read when it is first asked for: a report needs few, and those of rules are large.
    A code may be of a store that others write too, so no room but a name is a file.
    """
    if room == _RULES:
        return dict(_of_rules())
    if not room.isidentifier():
        return {}
    file = _MESSAGES / f"{room}.toml"
    templates = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return {f"{room}.{name}": template for name, template in templates.items()}


def rows() -> dict[str, str]:
    """Return all templates by their codes; what findings of rules say stands with the rules."""
    rooms = [*(file.name.removesuffix(".toml") for file in _MESSAGES.iterdir()), _RULES]
    return {code: template for room in rooms for code, template in rows_of(room).items()}


def _of_rules() -> Iterator[tuple[str, str]]:
    file = _PACKAGE / "advice" / "rules" / "rules.toml"
    for name, rule in tomllib.loads(file.read_text(encoding="utf-8")).items():
        says = rule["says"]
        if isinstance(says, str):
            yield f"{_RULES}.{name}", says
        else:
            yield from ((f"{_RULES}.{name}.{case}", template) for case, template in says.items())


def fields(template: str) -> set[str]:
    """Return the parameters that a template names."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


STATUSES: dict[str, str] = {
    "refused": "was refused",
    "crashed": "crashed",
    "hung": "stopped answering",
    "unstable": "was unstable",
    "unlike": "answers unlike the start",
    "infeasible": "broke a limit",
}
"""How an arm came out that is not complete, by its status."""


_FORMATS: dict[str, Format] = {
    "bytes": format_bytes,
    "change": lambda ratio, **_: format_change(ratio),
    "about": format_about,
    "down": lambda ratio, **_: format_number(ratio, 2, toward="down"),
    "duration": format_duration,
    "duration_at_most": lambda seconds, **_: format_duration(seconds, toward="up"),
    "guess": lambda seconds, **_: format_guess(seconds),
    "mean": format_count,
    "ns": lambda seconds, **_: f"{format_number(seconds * 1e9, 1)} ns",
    "per_thousand": format_per_thousand,
    "percent": format_percent,
    "rate": format_rate,
    "signed_bytes": lambda size, **_: f"{'−' if size < 0 else ''}{format_bytes(abs(size))}",
    "up": lambda ratio, **_: format_number(ratio, 2, toward="up"),
}


class _Formatter(string.Formatter):
    def format_field(self, value: Param, format_spec: str) -> str:
        kind, _, noun = format_spec.partition(" ")
        if isinstance(value, Reason):
            return " ".join(text(value).split()) if kind == "line" else text(value)
        if isinstance(value, tuple):
            words = [self.format_field(each, "") for each in value]
            return _JOINED.get(format_spec, ", ".join)(words)
        if isinstance(value, str) and kind in _NAMES:
            return _NAMES[kind](value)
        if isinstance(value, int | float) and (write := _writes(kind, noun)):
            return write(value)
        return format(value, format_spec)


def _writes(kind: str, noun: str) -> Callable[[float], str] | None:
    """Return what writes a number so; None where Python does."""
    if kind == "count":
        return lambda n: _counted(int(n), noun)
    if kind == "beside":
        limit, _, unit = noun.partition(" ")
        return lambda value: format_beside(value, float(limit), _FORMATS[unit])
    return named(noun).write if kind == "figure" else _FORMATS.get(kind)


def _counted(n: int, noun: str) -> str:
    one, _, many = noun.partition("/")
    return plural(n, one) if n == 1 or not many else f"{n:,} {many}"


def _spaced(kind: str) -> str:
    return kind.replace("_", " ")


def _in_code(words: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in words)


_JOINED: dict[str, Callable[[Sequence[str]], str]] = {
    "and": oxford,
    "and that": " and that ".join,
    "code": _in_code,
    "first": lambda words: words[0].partition("\n")[0],
    "lines": "\n".join,
    "or": " or ".join,
    "then": "; ".join,
}
_NAMES: dict[str, Callable[[str], str]] = {
    "fact": lambda name: _HOST_FACTS[name],
    "label": lambda metric: named(metric).label,
    "limiter": lambda limit: _LIMITERS.get(limit) or f"the load client ({_spaced(limit)})",
    "spaced": _spaced,
    "status": STATUSES.__getitem__,
    "words": lambda name: name.replace("_", " "),
}
_HOST_FACTS: dict[str, str] = {
    "httpdyno": "httpdyno",
    "python": "Python",
    "kernel": "the kernel",
    "cpu": "the processor",
    "n_cpus": "the number of cores",
    "memory_bytes": "the memory",
    "limits": "the limits of processes",
    "server": "the server",
    "client_cpus": "the load client's cores",
    "server_cpus": "the server's cores",
    "limits_by": "the control groups that limit the server",
}
"""What of a machine a run depends on, by its field of `HostFacts`."""
_LIMITERS: dict[str, str] = {"network": "the network stack", "machine_cpu": "others on the CPUs"}
"""Who was the limit by a verdict of the load engine that names neither server nor client."""
