"""Quantities with their dimensions, as they are read, reckoned with and written."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Literal

from httpdyno.errors import UsageError
from httpdyno.model import Record
from httpdyno.units import (
    bandwidth_bytes_per_s,
    duration_s,
    factor,
    format_duration,
    format_number,
    memory_bytes,
    rate_per_s,
    share_ratio,
)

Kind = Literal["size", "duration", "rate", "bandwidth", "count", "number", "share", "factor"]

Dimension = tuple[int, int]
"""Exponents of byte and second."""

DIMENSIONS: dict[str, Dimension] = {
    "size": (1, 0),
    "duration": (0, 1),
    "rate": (0, -1),
    "bandwidth": (1, -1),
    "count": (0, 0),
    "number": (0, 0),
    "share": (0, 0),
    "factor": (0, 0),
}

METAVARS: dict[str, str] = {
    "size": "SIZE",
    "duration": "TIME",
    "rate": "RATE",
    "bandwidth": "BANDWIDTH",
    "count": "N",
    "number": "NUMBER",
    "share": "PERCENT",
    "factor": "FACTOR",
    "rate by count": "N=RATE,…",
    "size by count": "N=SIZE,…",
}

_HOUR_S = 3600.0
_LONG_S = 600.0
"""From here on, minutes read better."""

MOST = 1e18
"""In base units; beyond it, and below its inverse, nothing is a figure of a server."""

_BINARY = re.compile(r"\d\s*[KMG]iB")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Quantity(Record, frozen=True):
    """A number in base units with its dimension."""

    value: float
    dimension: Dimension = (0, 0)


def read(text: str, kind: str) -> float:
    """Return a quantity as typed in base units.

    Raises:
        UsageError: It is none of that kind, or no figure that a server has.
    """
    value = float(_READERS[kind](text))
    if value and not 1 / MOST <= value <= MOST:
        raise UsageError(f"`{text}` is beyond any server", hint="Give a figure of this world.")
    return value


def is_binary(text: str) -> bool:
    """Whether a size was typed in KiB, MiB or GiB."""
    return _BINARY.search(text) is not None


def write(value: float, kind: str, *, binary: bool = False) -> str:
    """Return a quantity as people read it.

    Args:
        value: In base units.
        kind: What it is.
        binary: Sizes in KiB, MiB and GiB rather than kB, MB and GB.
    """
    if kind in {"size", "bandwidth"}:
        return _size(value, binary=binary) + ("/s" if kind == "bandwidth" else "")
    return _WRITERS.get(kind, _plain)(value)


def _size(n_bytes: float, *, binary: bool) -> str:
    step, units = (1024, ("B", "KiB", "MiB", "GiB")) if binary else (1000, ("B", "kB", "MB", "GB"))
    size, unit = float(n_bytes), units[0]
    for unit in units:
        # As it will read: 999,999 bytes are 1 MB, not 1,000 kB.
        if abs(float(f"{size:.4g}")) < step or unit == units[-1]:
            break
        size /= step
    return f"{_plain(size)} {unit}"


def _plain(value: float) -> str:
    """Return a number with four significant digits, whole ones in full, without idle zeros."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = format_number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _count(text: str) -> float:
    if not text.strip().isdecimal():
        raise UsageError(f"`{text}` is not a count", hint="Give a whole number: `50`.")
    return _bounded(text)


def _number(text: str) -> float:
    if _NUMBER.fullmatch(text.strip()) is None:
        raise UsageError(f"`{text}` is not a number", hint="Such as `827` or `0.85`.")
    return _bounded(text)


def _bounded(text: str) -> float:
    # Digits by the hundred are no number that a float holds.
    return min(float(text), math.nextafter(math.inf, 0))


def _duration(seconds: float) -> str:
    if seconds < 0:
        return f"-{_duration(-seconds)}"
    hours = seconds / _HOUR_S
    if hours >= 1 and hours.is_integer():
        return f"{hours:,.0f} h"
    if seconds >= _LONG_S:
        return format_duration(seconds)
    for unit_s, unit in ((1.0, "s"), (1e-3, "ms")):
        if not seconds or seconds >= unit_s:
            return f"{_plain(seconds / unit_s)} {unit}"
    return f"{_plain(seconds * 1e6)} µs"


def _rate(per_s: float) -> str:
    return f"{_plain(per_s)}/s"


def _share(ratio: float) -> str:
    return f"{_plain(ratio * 100)} %"


def _factor(ratio: float) -> str:
    return f"{_plain(ratio)} ×"


_WRITERS: Mapping[str, Callable[[float], str]] = {
    "duration": _duration,
    "rate": _rate,
    "share": _share,
    "factor": _factor,
}
_READERS: Mapping[str, Callable[[str], float]] = {
    "size": memory_bytes,
    "duration": duration_s,
    "rate": rate_per_s,
    "bandwidth": bandwidth_bytes_per_s,
    "count": _count,
    "number": _number,
    "share": share_ratio,
    "factor": factor,
}
