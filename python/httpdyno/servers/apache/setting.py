"""What is in force of one directive, in a survey; levels as text and back. Pure."""

import re

from httpdyno.model import KnobInfo, Level, Reading, Survey, level_text

PREFORK = "prefork"
TLS_CACHE = "SSLSessionCache"
WRITTEN = " as written"
"""Behind a directive's name: a reading of its number where Apache says that it takes another."""
_COMPILED = {
    True: {
        "MaxRequestWorkers": 400,
        "ServerLimit": 16,
        "ThreadsPerChild": 25,
        "ThreadLimit": 64,
        "StartServers": 3,
        "MinSpareThreads": 75,
        "MaxSpareThreads": 250,
    },
    False: {
        "MaxRequestWorkers": 256,
        "ServerLimit": 256,
        "StartServers": 5,
        "MinSpareServers": 5,
        "MaxSpareServers": 10,
    },
}
"""Whether the module is threaded → directive → what httpd 2.4 has without any."""


def mpm_of(survey: Survey) -> str:
    """Return the module that runs the processes: `prefork`, `worker` or `event`."""
    known = ("event", "worker", PREFORK)
    return next((name for name in known if f"mpm_{name}_module" in survey.modules), PREFORK)


def is_threaded(survey: Survey) -> bool:
    """Whether processes have several threads."""
    return mpm_of(survey) != PREFORK


def reading_of(survey: Survey, name: str, scope: str = "") -> Reading | None:
    """Return what sets a directive in a scope; its name in any case."""
    found = (r for r in survey.readings if r.name.lower() == name.lower() and r.scope == scope)
    return next(found, None)


def number_of(survey: Survey, name: str) -> int:
    """Return the number that is in force for the whole server; Apache reads what is none as 0."""
    reading = reading_of(survey, name)
    if reading is None:
        return _COMPILED[is_threaded(survey)].get(name, 0)
    match = re.match(r"[+-]?\d+", reading.text.strip('"'))
    return int(match[0]) if match else 0


def level_of(info: KnobInfo, text: str) -> Level | None:
    """Return a directive's argument as a level of its knob; None where it is none."""
    bare = text.strip().strip('"')
    level: Level | None = bare
    if info.kind == "boolean":
        level = {"on": True, "off": False}.get(bare.lower())
    elif info.kind == "integer":
        level = int(bare) if re.fullmatch(r"\d+", bare) else None
    elif info.kind == "number":
        level = _number(bare)
    elif info.name == TLS_CACHE:
        level = _cache_size(bare)
    elif info.choices:
        level = next((c for c in info.choices if c.lower() == bare.lower()), None)
    return None if level is None or info.complaint(level) else level


def _cache_size(text: str) -> str | None:
    """Return the bytes of a shared cache, or `none`; None for caches of other kinds."""
    match = re.fullmatch(r"shmcb:.+\((\d+)\)", text)
    return match[1] if match else None


def size_span(argument: bytes) -> tuple[int, int]:
    """Return where the digits of a cache's size are in an argument of `SSLSessionCache`."""
    digits = argument.rpartition(b"(")[2]
    start = len(argument) - len(digits)
    return start, start + len(digits.partition(b")")[0])


def _number(text: str) -> float | None:
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        return None
    value = float(text)
    return int(value) if value.is_integer() else value


def argument_text(level: Level) -> str:
    """Return a level as Apache writes it: `On`, not `true`."""
    if isinstance(level, bool):
        return "On" if level else "Off"
    return level_text(level)


def said_text(info: KnobInfo, text: str) -> str:
    """Return an argument as levels are written, so that both can be compared."""
    level = level_of(info, text)
    return text.strip() if level is None else level_text(level)
