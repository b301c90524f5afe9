"""What a study file may say: its keys with their types, defaults and meanings, from the tables.

The text beneath a field of a table, a record of `model` or `study/table.py`, is its description: in
the JSON Schema for editors, and in the reference for people (`report/shared/reference.py`). Metrics
bring theirs (`metrics.table`).
"""

import ast
import inspect
import re
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import inspect as types

from httpdyno.metrics.table import METRICS_TEXT
from httpdyno.model.written import fields_of, key_of, written_of
from httpdyno.study.table import StudyFile


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of study files, for editors."""
    schema = msgspec.json.schema(StudyFile)
    known = tables()
    schema["$defs"] = {name: schema["$defs"][name] for name in known}
    for name, table in known.items():
        definition, meanings = schema["$defs"][name], descriptions(table)
        own = definition["properties"]
        definition["properties"] = {
            key_of(field): _property(field, own) | {"description": meanings.get(key_of(field), "")}
            for field in fields(table)
        }
    return schema


def _property(field: types.Field, own: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    if (written := written_of(field)) is None:
        return own[field.encode_name]
    found = msgspec.json.schema(written.like)
    if field.default is not msgspec.NODEFAULT:
        found["default"] = None if field.default is None else written.text(field.default)
    return found


def tables() -> dict[str, type[msgspec.Struct]]:
    """Return every table of a study file, by the name of its type."""
    found: dict[str, type[msgspec.Struct]] = {}
    waiting: list[type[msgspec.Struct]] = [StudyFile]
    while waiting:
        table = waiting.pop(0)
        if table.__name__ not in found:
            found[table.__name__] = table
            waiting += [
                inner for field in fields(table) if (inner := inner_table(field.type)) is not None
            ]
    return found


def fields(table: type[msgspec.Struct]) -> tuple[types.Field, ...]:
    """Return the keys of a table, in the order in which they are declared."""
    kind = types.type_info(table)
    return fields_of(kind) if isinstance(kind, types.StructType) else ()


def inner_table(kind: types.Type) -> type[msgspec.Struct] | None:
    """Return the table that a key holds one or several of; None where it holds values."""
    if isinstance(kind, types.VarTupleType):
        kind = kind.item_type
    if isinstance(kind, types.UnionType):
        kind = next((each for each in kind.types if isinstance(each, types.StructType)), kind)
    return kind.cls if isinstance(kind, types.StructType) else None


def descriptions(table: type[msgspec.Struct]) -> dict[str, str]:
    """Return what each key of a table means, in a line; what nobody described is left out."""
    names = {field.name: key_of(field) for field in fields(table)}
    found: dict[str, str] = {}
    for base in reversed(table.__mro__):
        found |= _of_class(base)
    found |= {f.name: _OTHER.sub(r"`\1`", help_) for f in fields(table) if (help_ := _help(f))}
    return {
        key: found[name].replace("{metrics}", METRICS_TEXT)
        for name, key in names.items()
        if name in found
    }


def _help(field: types.Field) -> str:
    """Return what a field's own declaration says of it; empty where the text beneath it does."""
    kind = field.type
    return str((kind.extra or {}).get("help", "")) if isinstance(kind, types.Metadata) else ""


_OTHER = re.compile(r"\{([a-z_]+)\}")
"""Another key, in what a declaration says."""


@cache
def _of_class(table: type) -> dict[str, str]:
    """Return the texts beneath the fields of a class, which Python itself does not keep."""
    module = sys.modules.get(table.__module__)
    if module is None or not table.__module__.startswith("httpdyno."):
        return {}
    bodies = {
        node.name: node.body
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ClassDef)
    }
    found: dict[str, str] = {}
    body = bodies.get(table.__name__, [])
    for field, after in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[field.target.id] = " ".join(str(after.value.value).split())
    return found
