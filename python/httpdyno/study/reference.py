"""The reference of study files, for people: `docs/study.md`, made of the tables."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import inspect as types

from httpdyno.model.written import key_of, written_of
from httpdyno.study.reference_example import EXAMPLES
from httpdyno.study.schema import descriptions, fields, inner_table
from httpdyno.study.table import StudyFile

_HEAD = """\
# Study files

A study is a folder with a `study.toml`: a server, what may be changed of it, what is asked of it,
and what decides. `httpdyno study new` writes one to begin with, `httpdyno study check` tries it
out, `httpdyno study show` says what it comes to, and `httpdyno tune` runs it. What can be set of
a server, `httpdyno knobs` lists. `httpdyno study schema` prints the JSON Schema, for editors.

What is not known is refused by its name, with the nearest that is; nothing is ignored. Times are
written with their units: `50ms`, `30s`, `5m`.

This page is made by `make docs` of the same tables that study files are read by.
"""


def study_reference() -> str:
    """Return the reference in Markdown: each table with its keys, and an example."""
    parts = [_HEAD]
    for key, table, words in sections():
        title = f"## `{key}`" if key else "## The file"
        parts += [title, *([words] if words else []), _keys(table)]
        if key in EXAMPLES:
            parts.append(f"```toml\n{EXAMPLES[key].strip()}\n```")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def sections(
    table: type[msgspec.Struct] = StudyFile, path: str = "", words: str = "", brackets: str = "[{}]"
) -> Iterator[tuple[str, type[msgspec.Struct], str]]:
    """Yield each table as it is written (`[[site.members]]`), its type, and what it is for."""
    yield brackets.format(path) if path else "", table, words
    meanings = descriptions(table)
    for field in fields(table):
        inner = inner_table(field.type)
        if inner is not None:
            name = field.encode_name
            is_list = isinstance(field.type, types.VarTupleType)
            yield from sections(
                inner,
                f"{path}.{name}".removeprefix("."),
                meanings.get(name, ""),
                "[[{}]]" if is_list else "[{}]",
            )


def _keys(table: type[msgspec.Struct]) -> str:
    meanings = descriptions(table)
    lines = ["| key | is | unless said | what it means |", "| --- | --- | --- | --- |"]
    for field in fields(table):
        if inner_table(field.type) is None:
            key, written = key_of(field), written_of(field)
            meaning = meanings.get(key, "").replace("|", "\\|")
            kind = field.type if written is None else types.type_info(written.like)
            cells = (f"`{key}`", _type(kind), _default(field), meaning)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _type(kind: types.Type) -> str:
    match kind:
        case types.LiteralType():
            return ", ".join(f"`{value}`" for value in kind.values)
        case types.VarTupleType():
            return f"list of {_type(kind.item_type)}"
        case types.DictType():
            return f"table of {_type(kind.value_type)}"
        case types.UnionType():
            return _union(kind)
        case _:
            return _NAMES[type(kind)]


_NAMES: Mapping[type[types.Type], str] = {
    types.BoolType: "true or false",
    types.IntType: "whole number",
    types.FloatType: "number",
    types.StrType: "text",
}


def _union(kind: types.UnionType) -> str:
    names = [
        _type(each)
        for each in kind.types
        if not isinstance(each, types.NoneType | types.CustomType)
    ]
    if len(names) == len(_NAMES):
        return "any value"
    return " or ".join(dict.fromkeys(names))


def _default(field: types.Field) -> str:
    if field.required:
        return "*must be said*"
    value = field.default
    if (written := written_of(field)) is not None and value is not msgspec.NODEFAULT:
        value = None if value is None else written.text(value)
    if field.default_factory is not msgspec.NODEFAULT or value in ((), None, ""):
        return "–"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "–" if value is msgspec.NODEFAULT else f"`{value}`"
