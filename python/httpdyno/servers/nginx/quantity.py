"""Numbers as nginx writes them: sizes, times, switches."""

import os
import re

from httpdyno.model import KnobInfo, Level

_SIZE = re.compile(r"(\d+)([kKmMgG]?)")
_SIZE_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TIME = re.compile(r"(?:(\d+)(ms|[smhdwMy]?))+")
_TIME_PART = re.compile(r"(\d+)(ms|[smhdwMy]?)")
_TIME_UNITS = {
    "": 1.0,
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
    "w": 604_800.0,
    "M": 2_592_000.0,
    "y": 31_536_000.0,
}


def size_bytes(text: str) -> int | None:
    """Return what `16k` is; None where it is no size."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _SIZE_UNITS[match[2].lower()] if match else None


def size_text(n_bytes: int) -> str:
    """Return a size as nginx takes it, in the largest unit that it is a whole number of."""
    for unit in ("g", "m", "k"):
        if n_bytes and n_bytes % _SIZE_UNITS[unit] == 0:
            return f"{n_bytes // _SIZE_UNITS[unit]}{unit}"
    return str(n_bytes)


def time_s(text: str) -> float | None:
    """Return the seconds that `1h30m` is; None where it is no time."""
    if not _TIME.fullmatch(text):
        return None
    return sum(int(n) * _TIME_UNITS[unit] for n, unit in _TIME_PART.findall(text))


def time_text(seconds: float, like: str) -> str:
    """Return a time as nginx takes it, with a unit where the one it replaces has one."""
    if seconds != int(seconds):
        return f"{round(seconds * 1000)}ms"
    return f"{int(seconds)}s" if like[-1:].isalpha() else str(int(seconds))


def n_processors() -> int:
    """Return what `worker_processes auto` stands for."""
    return os.sysconf("SC_NPROCESSORS_ONLN")


def level_of(info: KnobInfo, text: str) -> Level | None:
    """Return the level that a text of nginx stands for; None where it is none of this knob's."""
    if info.kind == "boolean":
        return {"on": True, "off": False}.get(text)
    if info.kind in {"choice", "text"}:
        return text
    if text == "auto":
        return n_processors()
    if info.unit == "s":
        seconds = time_s(text)
        return seconds if seconds is None or seconds != int(seconds) else int(seconds)
    return size_bytes(text) if info.unit == "bytes" else _number(text)


def text_of(info: KnobInfo, level: Level, like: str = "") -> str:
    """Return a level as nginx takes it, written like the one that it replaces."""
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, str):
        return level
    if info.unit == "s":
        return time_text(level, like)
    return size_text(int(level)) if info.unit == "bytes" else str(level)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
