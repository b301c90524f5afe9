"""Reference in Markdown, made of declarations: study files and rules (`make docs`)."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

import msgspec
from msgspec import inspect as types

from httpdyno.advice.rules import all_rules
from httpdyno.advice.rules.declaration import SEVERITIES, Rule
from httpdyno.model.written import key_of, written_of
from httpdyno.study.schema import descriptions, fields, inner_table
from httpdyno.study.table import StudyFile

_STUDY_HEAD = """\
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
    parts = [_STUDY_HEAD]
    for key, table, words in sections():
        title = f"## `{key}`" if key else "## The file"
        parts += [title, *([words] if words else []), _keys(table)]
        if key in examples():
            parts.append(f"```toml\n{examples()[key]}\n```")
    return "\n\n".join(part.strip() for part in parts) + "\n"


@cache
def examples() -> Mapping[str, str]:
    """Return an example of each table, by its head; of the file's own keys by ""."""
    file = resources.files("httpdyno.report.shared") / "study_examples.toml"
    found: dict[str, str] = {}
    head = ""
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        if named := _TABLE_HEAD.match(line):
            head = named[0]
        found[head] = f"{found.get(head, '')}{line}\n"
    return {name: text.strip() for name, text in found.items()}


_TABLE_HEAD = re.compile(r"\[{1,2}[a-z.]+\]{1,2}(?=\s|$)")


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
    lines = ["| key | is | default | meaning |", "| --- | --- | --- | --- |"]
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
        case types.Metadata():
            return _type(kind.type)
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
        return "*required*"
    value = field.default
    if (written := written_of(field)) is not None and value is not msgspec.NODEFAULT:
        value = None if value is None else written.text(value)
    if field.default_factory is not msgspec.NODEFAULT or value in ((), None, ""):
        return "–"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "–" if value is msgspec.NODEFAULT else f"`{value}`"


# The rules as a page to read, `docs/reference/rules.md`, made of their declarations.

_RULES_HEAD = """\
# Rules

What `httpdyno inspect` reports of settings: what the book (*Practical mod_perl* by Bekman and
Cholet, 2004, chapter 11) and the servers' own manuals have that a machine can check. A rule reads
what is known of a server, and changes nothing. If it lacks what it needs, it reports nothing.

If a knob stands for what a rule reports, the rule proposes it. The study that `httpdyno adopt`
makes tries it first, with the finding as the reason, and `httpdyno tune` proves whether it helps.
`adopt` sees what a running server shows at that moment (memory, queues). It does not check what
needs load or a system-call profile: `httpdyno inspect` prints the `adopt --knob` for that.

`bad`: it does not do what it says, or harms under load. `doubtful`: it mostly costs more than it
gives. `hint`: it costs something, and somebody may want that. Rules measure nothing: `httpdyno
tune` and `httpdyno compare` do.

This page is made by `make docs` of `python/httpdyno/advice/rules/rules.toml`.
"""


def rule_reference() -> str:
    """Return the page in Markdown."""
    parts = [_RULES_HEAD]
    for severity in SEVERITIES:
        index = [
            f"- [`{each.name}`](#{each.name}): {each.checks} ({', '.join(each.kinds)})"
            for each in all_rules()
            if each.severity == severity
        ]
        parts += [f"Mostly `{severity}`:", "\n".join(index)]
    for each in all_rules():
        parts += _rule_section(each)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _rule_section(rule: Rule) -> Iterator[str]:
    yield f"## {rule.name}"
    yield f"{', '.join(rule.kinds)}; mostly `{rule.severity}`. **{_sentence(rule.checks)}**"
    yield f"**Why.** {rule.why}"
    if rule.needs:
        yield f"**Needs.** {rule.needs}"
    yield f"**Fix.** {_sentence(rule.fix)} Risk: {rule.risks}."
    if rule.proposes:
        yield f"**Tries.** {_tried(rule)}"
    yield f"**When not.** {_sentence(rule.unless)}"
    yield f"**Source.** {_sentence(rule.source)}"


def _tried(rule: Rule) -> str:
    """Return the knobs, and their kind where a rule is of several."""
    parts = []
    for each in rule.proposes:
        kinds = f" ({', '.join(each.kinds)})" if each.kinds else ""
        parts.append(f"`{each.knob}`{kinds}: {each.value}")
    return f"{'; '.join(parts)}."


def _sentence(words: str) -> str:
    """Return the words as a sentence; a name at its head, `mod_php` or a host, stays as it is."""
    first = words.split(maxsplit=1)[0].rstrip(".,:;")
    is_name = any(mark in first for mark in "._-/")
    return f"{words if is_name else words[0].upper() + words[1:]}."
