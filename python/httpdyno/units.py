"""Quantities as people type and read them: `30s`, `500/s`, `64KiB`.

Everything inside the program is in SI base units (seconds, bytes, per second); this module is
the only way in and out.
"""

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Literal, Protocol

from httpdyno.errors import UsageError

Toward = Literal["nearest", "down", "up"]
"""Where a figure is rounded to. Ends of intervals go outward: what is read off them holds."""


class Format(Protocol):
    """How a quantity is written, such as `format_rate`."""

    def __call__(self, value: float, /, *, toward: Toward = "nearest") -> str:
        """Return the quantity with its unit."""


_ROUNDING = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(us|ms|min|s|m|h)")
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/\s*(s|m|min|h))?")
_PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_FACTOR = re.compile(r"(\d+(?:\.\d+)?)\s*x?")
_BYTES = {
    "B": 1.0,
    "kB": 1e3,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}
_BITS = {"bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}
_SIZE = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_BYTES)})?")
_MOST_DIGITS = 300
"""Of a size; what has more is beyond any number, and none that Python reads."""
_BANDWIDTH = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join([*_BYTES, *_BITS])})(?:/s)?")


def duration_s(text: str, option: str = "") -> float:
    """Return the seconds in a duration such as `250ms`, `30s`, `3m`, `1m30s`.

    Args:
        text: What was written.
        option: The option that it stands behind, if any; a message names it.

    Raises:
        UsageError: Not a duration, or a bare number (a number without a unit is ambiguous).
    """
    compact = text.strip().replace(" ", "")
    parts = _DURATION_PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise UsageError(
            f"`{f'{option} {text}'.lstrip()}` is not a duration",
            hint="Give a number and a unit: `250ms`, `30s`, `3m`.",
        )
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return _finite(seconds, text, hint="Give a number and a unit: `250ms`, `30s`, `3m`.")


def duration_text(seconds: float) -> str:
    """Return a duration as `duration_s` reads it, in the largest unit that it is whole in."""
    for unit in ("m", "s", "ms", "us"):
        n = round(seconds / _SECONDS[unit], 6)
        if n and n == int(n):
            return f"{n:.0f}{unit}"
    return f"{seconds:g}s"


def rate_per_s(text: str) -> float:
    """Return the events per second in a rate such as `500/s`, `30/m` or `500` (per second).

    Raises:
        UsageError: Not a rate, or not positive.
    """
    rate = rate_or_zero_per_s(text)
    if rate <= 0:
        raise UsageError(f"`{text}` is not a rate", hint="Give requests per second: `500/s`.")
    return rate


def rate_or_zero_per_s(text: str) -> float:
    """Return the events per second, as `rate_per_s`; zero is a rate too.

    Raises:
        UsageError: Not a rate.
    """
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"`{text}` is not a rate", hint="Give requests per second: `500/s`.")
    per_s = float(match[1]) / _SECONDS[match[2] or "s"]
    return _finite(per_s, text, hint="Give requests per second: `500/s`.")


def share_ratio(text: str) -> float:
    """Return the ratio that a percentage is: 0.3 of `30%`. It may be more than 1.

    Raises:
        UsageError: Not a percentage (a bare number is ambiguous).
    """
    match = _PERCENTAGE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"`{text}` is not a percentage", hint="Such as `30%`.")
    return _finite(float(match[1]) / 100, text, hint="Such as `30%`.")


def factor(text: str) -> float:
    """Return the number in `2x`, `0.5x` or `2`.

    Raises:
        UsageError: Not a factor.
    """
    match = _FACTOR.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"`{text}` is not a factor", hint="Such as `2x`.")
    return _finite(float(match[1]), text, hint="Such as `2x`.")


def size_bytes(text: str) -> int:
    """Return the bytes in a size such as `4KiB`, `10kB` or `512`.

    Raises:
        UsageError: Not a size, or not whole bytes.
    """
    size = _exact_bytes(text)
    if size % 1:
        raise UsageError(f"`{text}` is not a size", hint="Give bytes: `512`, `4KiB`, `1MB`.")
    return int(size)


def memory_bytes(text: str) -> int:
    """Return the bytes in an amount of memory, as `size_bytes`, to the nearest: `10.3MiB`.

    Raises:
        UsageError: Not a size.
    """
    return round(_exact_bytes(text))


def _exact_bytes(text: str) -> Fraction:
    # Not as a float: 4178.837 kB are whole bytes, 4178.837 * 1e3 is not a whole number.
    match = _SIZE.fullmatch(text.strip())
    if match is None or len(match[1]) > _MOST_DIGITS:
        raise UsageError(f"`{text}` is not a size", hint="Give bytes: `512`, `4KiB`, `1MB`.")
    return Fraction(match[1]) * int(_BYTES[match[2] or "B"])


def bandwidth_bytes_per_s(text: str) -> float:
    """Return the bytes per second in a bandwidth such as `28.8kbit`, `1Mbit/s` or `64KiB/s`.

    Raises:
        UsageError: Not a bandwidth, or a bare number.
    """
    match = _BANDWIDTH.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"`{text}` is not a bandwidth", hint="Give a number and a unit: `28.8kbit`, `64KiB/s`."
        )
    number, unit = float(match[1]), match[2]
    per_s = number * _BITS[unit] / 8 if unit in _BITS else number * _BYTES[unit]
    return _finite(per_s, text, hint="Give a number and a unit: `28.8kbit`, `64KiB`.")


def _finite(value: float, text: str, *, hint: str) -> float:
    """Return the value; a number of hundreds of digits is none."""
    if not math.isfinite(value):
        raise UsageError(f"`{text[:20]}…` is beyond any number", hint=hint)
    return value


def format_number(value: float, decimals: int, *, toward: Toward = "nearest") -> str:
    """Return a finite number with so many decimals, and thousands marks."""
    # From the shortest text that means this float: 4.61 is not to become 4.62 on the way up
    # because its nearest binary number is a hair above it.
    exact = Decimal(repr(float(value)))
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), _ROUNDING[toward]):,f}"


def format_count(value: float, /, *, toward: Toward = "nearest") -> str:
    """Return how many there are in the mean: `12.05`, `1,204`."""
    return format_number(value, 2 if abs(value) < _WHOLE_FROM else 0, toward=toward)


def format_about(value: float, /, *, toward: Toward = "nearest") -> str:
    """Return a mean number of which a few samples tell: `3.1`, `12`."""
    return format_number(value, 0 if value >= 10 else 1, toward=toward)  # noqa: PLR2004 - digits


def format_per_thousand(ratio: float, /, *, toward: Toward = "nearest") -> str:
    """Return what comes so seldom that a thousand are counted, by these: `1.93`, `0.042`."""
    value = 1_000 * ratio
    digits = 2 if value == 0 or abs(value) >= 1 else 1 - math.floor(math.log10(abs(value)))
    return format_number(value, 0 if abs(value) >= _WHOLE_FROM else digits, toward=toward)


_WHOLE_FROM = 1000
"""From so many on nobody counts hundredths."""


def format_bounds(low: float, high: float, text: Format) -> str:
    """Return an interval, `6,116/s … 6,265/s`, its ends rounded outward."""
    return f"{text(low, toward='down')} … {text(high, toward='up')}"


def format_beside(value: float, limit: float, text: Format) -> str:
    """Return a quantity that was held against a limit, rounded so that both read as different."""
    if value == limit or text(value) != text(limit):
        return text(value)
    return text(value, toward="up" if value > limit else "down")


def format_duration(seconds: float, /, *, toward: Toward = "nearest") -> str:
    """Return a duration with three significant digits and its best unit: `41.2 ms`.

    From 100 s on it is in minutes and seconds, from 100 min on in hours and minutes.
    """
    if not math.isfinite(seconds):
        return "–"
    size = abs(seconds)
    if size >= 100:  # noqa: PLR2004 - from here minutes read better
        # Rounded first: what is left of a minute would round to a whole one, `53 min 60 s`.
        whole, (upper, lower) = abs(_whole(seconds, toward)), ("min", "s")
        if whole >= 6000:  # noqa: PLR2004 - and from here hours do
            whole, (upper, lower) = abs(_whole(seconds / 60, toward)), ("h", "min")
        return f"{'-' * (seconds < 0)}{whole // 60} {upper} {whole % 60:02d} {lower}"
    for limit, factor, unit in ((1.0, 1.0, "s"), (1e-3, 1e3, "ms")):
        if size >= limit:
            return f"{_three_digits(seconds * factor, toward)} {unit}"
    return f"{_three_digits(seconds * 1e6, toward)} µs"


def format_guess(seconds: float) -> str:
    """Return an estimated duration without digits that nobody believes: `16 s`, `21 min`, `3 h`."""
    if seconds < 100:  # noqa: PLR2004 - from here minutes read better
        return f"{max(1, round(seconds))} s"
    if seconds < 6000:  # noqa: PLR2004 - and from here hours do
        return f"{round(seconds / 60)} min"
    return f"{round(seconds / 3600):,} h"


def format_rate(per_s: float, /, *, toward: Toward = "nearest") -> str:
    """Return a rate with thousands marks: `1,998/s`."""
    if not math.isfinite(per_s):
        return "–"
    return f"{_three_digits(per_s, toward)}/s"


def format_percent(ratio: float, /, *, toward: Toward = "nearest") -> str:
    """Return a share as `0.31 %` or `12 %`: two digits, and no more.

    Nothing and all are told apart from nearly nothing and nearly all.
    """
    percent = ratio * 100
    if 0 < percent < _LEAST_PERCENT:
        return f"< {_LEAST_PERCENT} %"
    if 99 < percent < 100:  # noqa: PLR2004 - all but a few
        return "> 99 %"
    if not percent or percent >= 10:  # noqa: PLR2004 - two digits before the point
        return f"{format_number(percent, 0, toward=toward)} %"
    text = format_number(percent, 1 - math.floor(math.log10(abs(percent))), toward=toward)
    # 0.5 %, not 0.50 %.
    return f"{text.rstrip('0').rstrip('.')} %"


def format_change(ratio: float) -> str:
    """Return how much a ratio from 1 on is more: `17 %`, or `16 times` from twice on."""
    times = ratio >= 2  # noqa: PLR2004 - a percentage beyond 100 is hard to picture
    return f"{_three_digits(ratio)} times" if times else format_percent(ratio - 1)


def format_bytes(n_bytes: float, /, *, toward: Toward = "nearest") -> str:
    """Return a size with its best binary unit: `12.3 MiB`."""
    size = float(n_bytes)
    for unit in ("B", "KiB", "MiB"):
        if abs(size) < 1024:  # noqa: PLR2004
            return f"{_three_digits(size, toward)} {unit}"
        size /= 1024
    return f"{_three_digits(size, toward)} GiB"


_LEAST_PERCENT = 0.01
"""Below, a share is as good as nothing, but it is not nothing."""


def _whole(value: float, toward: Toward) -> int:
    return int(Decimal(repr(float(value))).to_integral_value(_ROUNDING[toward]))


def _three_digits(value: float, toward: Toward = "nearest") -> str:
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return format_number(value, digits, toward=toward)
