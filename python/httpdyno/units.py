"""Quantities as people type and read them: `30s`, `500/s`, `64KiB`.

Everything inside the program is in SI base units (seconds, bytes, per second); this module is
the only way in and out.
"""

import math
import re

from httpdyno.errors import UsageError

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(us|ms|min|s|m|h)")
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/\s*(s|m|min|h))?")


def duration_s(text: str) -> float:
    """Return the seconds in a duration such as `250ms`, `30s`, `3m`, `1m30s`.

    Raises:
        UsageError: Not a duration, or a bare number (a number without a unit is ambiguous).
    """
    compact = text.strip().replace(" ", "")
    parts = _DURATION_PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise UsageError(
            f"`{text}` is not a duration", hint="Give a number and a unit: `250ms`, `30s`, `3m`."
        )
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def rate_per_s(text: str) -> float:
    """Return the events per second in a rate such as `500/s`, `30/m` or `500` (per second).

    Raises:
        UsageError: Not a rate, or not positive.
    """
    match = _RATE.fullmatch(text.strip())
    if match is None or float(match[1]) <= 0:
        raise UsageError(f"`{text}` is not a rate", hint="Give requests per second: `500/s`.")
    return float(match[1]) / _SECONDS[match[2] or "s"]


def format_duration(seconds: float) -> str:
    """Return a duration with three significant digits and its best unit: `41.2 ms`."""
    if not math.isfinite(seconds):
        return "–"
    size = abs(seconds)
    if size >= 100:  # noqa: PLR2004 - from here minutes read better
        return f"{int(seconds // 60)} min {seconds % 60:02.0f} s"
    for limit, factor, unit in ((1.0, 1.0, "s"), (1e-3, 1e3, "ms")):
        if size >= limit:
            return f"{_three_digits(seconds * factor)} {unit}"
    return f"{_three_digits(seconds * 1e6)} µs"


def format_rate(per_s: float) -> str:
    """Return a rate with thousands marks: `1,998/s`."""
    if not math.isfinite(per_s):
        return "–"
    return f"{per_s:,.0f}/s" if per_s >= 1000 else f"{_three_digits(per_s)}/s"  # noqa: PLR2004


def format_bytes(n_bytes: float) -> str:
    """Return a size with its best binary unit: `12.3 MiB`."""
    size = float(n_bytes)
    for unit in ("B", "KiB", "MiB"):
        if abs(size) < 1024:  # noqa: PLR2004
            return f"{_three_digits(size)} {unit}"
        size /= 1024
    return f"{_three_digits(size)} GiB"


def _three_digits(value: float) -> str:
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"
