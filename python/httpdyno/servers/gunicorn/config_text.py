"""What a configuration that is Python says, as far as that can be told without executing it. Pure.

Assignments at the top of the file count, the last of each name. Their right sides may be literals,
arithmetic, the number of cores and what an unset variable leaves; anything else is not known here,
and only the running arbiter says it.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from httpdyno.errors import AdapterError
from httpdyno.model import Origin

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}
_CORES = frozenset({"multiprocessing.cpu_count", "os.cpu_count", "cpu_count"})
_VARIABLES = frozenset({"os.environ.get", "os.getenv", "environ.get", "getenv"})
_CALLS: dict[str, Callable[..., Any]] = {
    "int": int,
    "str": str,
    "float": float,
    "bool": bool,
    "min": min,
    "max": max,
}
_LARGEST = 1 << 53


@dataclass(frozen=True, kw_only=True, slots=True)
class Assigned:
    """What a name is set to in a file."""

    text: str
    """The right side as it stands there."""
    value: object
    """None where it is not known."""
    is_known: bool
    origin: Origin


class _UnknownError(Exception):
    pass


def assignments(
    source: bytes, file: str, *, n_cores: int, environment: Mapping[str, str]
) -> dict[str, Assigned]:
    """Return the names that a file sets at its top, with what they come to.

    Args:
        source: The file's bytes.
        file: Its path.
        n_cores: What `cpu_count()` gives.
        environment: Variables whose values may be looked at.

    Raises:
        AdapterError: It is no Python; says the line.
    """
    try:
        tree = ast.parse(source, filename=file)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise AdapterError(f"`{file}` line {line} is no Python: {error}") from error
    lines = [0]
    for line_bytes in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line_bytes))
    known: dict[str, Assigned] = {}
    evaluate = _Evaluation(n_cores, environment, known)
    for statement in tree.body:
        for name, value in _targets(statement):
            start = lines[value.lineno - 1] + value.col_offset
            end = lines[(value.end_lineno or value.lineno) - 1] + (value.end_col_offset or 0)
            try:
                found, is_known = evaluate.value(value), True
            except (_UnknownError, ArithmeticError, TypeError, ValueError):
                found, is_known = None, False
            known[name] = Assigned(
                text=source[start:end].decode("utf-8", "replace"),
                value=found,
                is_known=is_known,
                origin=Origin(file=file, line=value.lineno, start=start, end=end),
            )
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            # What is set in a branch or a loop may be set or not.
            for name in _set_below(statement) & known.keys():
                known[name] = _unknown(known[name])
    return known


def _targets(statement: ast.stmt) -> list[tuple[str, ast.expr]]:
    if isinstance(statement, ast.Assign):
        return [(t.id, statement.value) for t in statement.targets if isinstance(t, ast.Name)]
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
        return [(target.id, statement.value)] if isinstance(target, ast.Name) else []
    return []


def _set_below(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _unknown(assigned: Assigned) -> Assigned:
    return Assigned(text=assigned.text, value=None, is_known=False, origin=assigned.origin)


class _Evaluation:
    def __init__(
        self, n_cores: int, environment: Mapping[str, str], known: Mapping[str, Assigned]
    ) -> None:
        self._n_cores = n_cores
        self._environment = environment
        self._known = known

    def value(self, node: ast.expr) -> Any:  # noqa: ANN401, PLR0911 - one for each kind of node
        match node:
            case ast.Constant(value):
                return value
            case ast.List(parts) | ast.Tuple(parts):
                return [self.value(part) for part in parts]
            case ast.UnaryOp(ast.USub(), operand):
                return -self.value(operand)
            case ast.BinOp(left, kind, right) if type(kind) in _OPERATORS:
                return self._operated(self.value(left), kind, self.value(right))
            case ast.BoolOp(ast.Or(), values):
                return next(filter(None, map(self.value, values)), self.value(values[-1]))
            case ast.Name(name) if name in self._known and self._known[name].is_known:
                return self._known[name].value
            case ast.JoinedStr(parts):
                return "".join(str(self.value(part)) for part in parts)
            case ast.FormattedValue(part, -1, None):
                return self.value(part)
            case ast.Call(function, arguments, []):
                return self._called(ast.unparse(function), arguments)
        raise _UnknownError

    @staticmethod
    def _operated(left: object, kind: ast.operator, right: object) -> object:
        if isinstance(kind, ast.Add) and isinstance(left, str) and isinstance(right, str):
            return left + right
        if isinstance(left, int | float) and isinstance(right, int | float):
            return _bounded(_OPERATORS[type(kind)](left, right))
        raise _UnknownError

    def _called(self, name: str, arguments: list[ast.expr]) -> Any:  # noqa: ANN401 - likewise
        values = [self.value(each) for each in arguments]
        if name in _CORES and not values:
            return self._n_cores
        if name in _VARIABLES and values:
            if values[0] in self._environment:
                return self._environment[values[0]]
            return values[1] if len(values) > 1 else None
        if name in _CALLS:
            return _CALLS[name](*values)
        raise _UnknownError


def _bounded(value: float) -> float:
    if abs(value) > _LARGEST:
        raise _UnknownError
    return value
