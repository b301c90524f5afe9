"""Expressions of a formula as text: worked out with dimensions, written with the numbers put in.

A formula is declared as text and worked out from that text, so that what is shown is what was
reckoned. Bytes can be added to bytes and to nothing else: the dimension check is how a misprint in
a formula shows, such as a process subtracted from megabytes.
"""

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
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

# Quantities with their dimensions, as they are read, reckoned with and written.

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
    "rates": "N=RATE,…",
    "sizes": "N=SIZE,…",
}

_HOUR_S = 3600.0
_LONG_S = 600.0
"""From here on, minutes read better."""

MOST = 1e18
"""In base units; beyond it, and below its inverse, nothing is a figure of a server."""

_BINARY_UNITS = re.compile(r"\d\s*[KMG]iB")
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
    return _BINARY_UNITS.search(text) is not None


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


_NEAR = 1e-12
"""Nearer than this to a whole number, as a share of it, it is that number: floats are no nearer."""

_SIGNS = {" * ": " × ", " - ": " − ", "(-": "(−"}
_NAME = re.compile(r"[a-z_]\w*")


class DimensionError(ValueError):
    """An expression adds or compares what cannot be: a formula is wrong."""


def evaluate(text: str, known: Mapping[str, Quantity]) -> Quantity:
    """Work out an expression.

    Args:
        text: Names, numbers, `+ - * /`, `floor`, `ceil`, `min`, `max` and `exp`.
        known: What the names stand for.

    Raises:
        DimensionError: It adds what has not the same dimension.
        ZeroDivisionError: It divides by nothing.
    """
    return _value(ast.parse(text, mode="eval").body, known)


def with_signs(text: str) -> str:
    """Return an expression with the signs that people read."""
    for typed, sign in _SIGNS.items():
        text = text.replace(typed, sign)
    return text


def with_numbers(text: str, written: Mapping[str, str]) -> str:
    """Return an expression with quantities in the place of names."""
    pieces: list[str] = []
    end = 0
    for name in _NAME.finditer(text):
        number = written.get(name[0], name[0])
        # `1 / 827/s` would read as something else.
        is_divided_by = text[: name.start()].endswith("/ ") and "/" in number
        pieces += [text[end : name.start()], f"({number})" if is_divided_by else number]
        end = name.end()
    return with_signs("".join([*pieces, text[end:]]))


def _value(node: ast.expr, known: Mapping[str, Quantity]) -> Quantity:
    match node:
        case ast.Constant(value=int() | float() as number):
            return Quantity(value=float(number))
        case ast.Name(id=name):
            return known[name]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _BINARY[type(sign)](_value(left, known), _value(right, known))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negated = _value(operand, known)
            return Quantity(value=-negated.value, dimension=negated.dimension)
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _CALLS:
            return _CALLS[name]([_value(each, known) for each in arguments])
        case _:
            raise DimensionError(f"`{ast.unparse(node)}` is nothing that formulas have")


def _added(left: Quantity, right: Quantity) -> Quantity:
    return Quantity(value=left.value + right.value, dimension=_common([left, right]))


def _taken_away(left: Quantity, right: Quantity) -> Quantity:
    return Quantity(value=left.value - right.value, dimension=_common([left, right]))


def _times(left: Quantity, right: Quantity) -> Quantity:
    (a, b), (c, d) = left.dimension, right.dimension
    return Quantity(value=left.value * right.value, dimension=(a + c, b + d))


def _over(left: Quantity, right: Quantity) -> Quantity:
    (a, b), (c, d) = left.dimension, right.dimension
    return Quantity(value=left.value / right.value, dimension=(a - c, b - d))


def _whole(rounded: Callable[[float], int]) -> Callable[[Sequence[Quantity]], Quantity]:
    def call(arguments: Sequence[Quantity]) -> Quantity:
        [each] = arguments
        if each.dimension != (0, 0):
            raise DimensionError("only a count can be rounded")
        nearest = round(each.value)
        # 70 × 0.1 is 7.000000000000001, and eight workers are not needed for it.
        is_near = abs(each.value - nearest) <= _NEAR * max(1.0, abs(each.value))
        return Quantity(value=float(nearest if is_near else rounded(each.value)))

    return call


def _chosen(choose: Callable[[list[float]], float]) -> Callable[[Sequence[Quantity]], Quantity]:
    def call(arguments: Sequence[Quantity]) -> Quantity:
        value = choose([each.value for each in arguments])
        return Quantity(value=value, dimension=_common(arguments))

    return call


def _exponential(arguments: Sequence[Quantity]) -> Quantity:
    [each] = arguments
    if each.dimension != (0, 0):
        raise DimensionError("only a number has an exponential")
    return Quantity(value=math.exp(each.value))


def _common(quantities: Sequence[Quantity]) -> tuple[int, int]:
    """Return the dimension that all have; zero is nothing of anything."""
    found = {each.dimension for each in quantities if each.value or each.dimension != (0, 0)}
    if len(found) > 1:
        raise DimensionError(
            "bytes, seconds and counts cannot be added or compared with each other"
        )
    return found.pop() if found else (0, 0)


_BINARY: Mapping[type[ast.operator], Callable[[Quantity, Quantity], Quantity]] = {
    ast.Add: _added,
    ast.Sub: _taken_away,
    ast.Mult: _times,
    ast.Div: _over,
}
_CALLS = {
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "min": _chosen(min),
    "max": _chosen(max),
    "exp": _exponential,
}
