"""The sentences that reasons are shown as: one row a code, one file a room.

A row is a template: `{name}` is a parameter, `{name:FORMAT}` one in a format of `_FORMATS`
(`{p99:duration}`), `{n:count start}` is `1 start` or `3 starts` (`{n:count process/processes}`
where an s is not enough), `{why}` a reason's own sentence. A condition makes two codes of one.
"""

import string
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources

from httpdyno.reason import Param, Reason
from httpdyno.report.shared.phrase import oxford, plural
from httpdyno.units import (
    format_bytes,
    format_change,
    format_count,
    format_duration,
    format_per_thousand,
    format_percent,
    format_rate,
)


def text(reason: Reason) -> str:
    """Return the sentence of a reason.

    Raises:
        KeyError: No such code, or a parameter of its row is missing.
    """
    return _Formatter().vformat(rows()[reason.code], (), reason.params)


def texts(reasons: Sequence[Reason]) -> tuple[str, ...]:
    """Return the sentence of each."""
    return tuple(text(each) for each in reasons)


@cache
def rows() -> dict[str, str]:
    """Return all templates by their codes."""
    return {
        f"{file.name.removesuffix('.toml')}.{name}": template
        for file in (resources.files("httpdyno.report") / "messages").iterdir()
        if file.name.endswith(".toml")
        for name, template in tomllib.loads(file.read_text(encoding="utf-8")).items()
    }


def fields(template: str) -> set[str]:
    """Return the parameters that a template names."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


_FORMATS: dict[str, Callable[[float], str]] = {
    "bytes": format_bytes,
    "change": format_change,
    "duration": format_duration,
    "mean": format_count,
    "per_thousand": format_per_thousand,
    "percent": format_percent,
    "rate": format_rate,
}


class _Formatter(string.Formatter):
    def format_field(self, value: Param, format_spec: str) -> str:
        kind, _, noun = format_spec.partition(" ")
        if isinstance(value, tuple):
            words = [self.format_field(each, "") for each in value]
            return {"and": oxford, "code": _in_code}.get(kind, ", ".join)(words)
        if isinstance(value, Reason):
            return text(value)
        if kind == "count" and isinstance(value, int):
            return _counted(value, noun)
        if kind in _FORMATS and isinstance(value, int | float):
            return _FORMATS[kind](value)
        return format(value, format_spec)


def _counted(n: int, noun: str) -> str:
    one, _, many = noun.partition("/")
    return plural(n, one) if n == 1 or not many else f"{n:,} {many}"


def _in_code(words: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in words)
