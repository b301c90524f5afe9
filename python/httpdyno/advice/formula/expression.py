"""Expressions of a formula as text: worked out with dimensions, written with the numbers put in.

A formula is declared as text and worked out from that text, so that what is shown is what was
reckoned. Bytes can be added to bytes and to nothing else: the dimension check is how a misprint in
a formula shows, such as a process subtracted from megabytes.
"""

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence

from httpdyno.advice.formula.quantity import Quantity

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
