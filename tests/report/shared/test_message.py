"""Reasons and their sentences: every code has its row, every row is used, names agree."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

import httpdyno
from httpdyno.reason import Reason, because
from httpdyno.report.shared import message

PRODUCT = Path(httpdyno.__file__).parent


@cache
def _calls() -> list[tuple[str, ast.Call]]:
    return [
        (f"{file.relative_to(PRODUCT)}:{node.lineno}", node)
        for file in PRODUCT.rglob("*.py")
        if "because(" in (text := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "because"
    ]


def _codes(node: ast.expr) -> list[str]:
    if isinstance(node, ast.IfExp):
        return _codes(node.body) + _codes(node.orelse)
    assert isinstance(node, ast.Constant), "a code is a literal, or one of two by `if`"
    return [str(node.value)]


def test_every_reason_has_a_row_with_its_parameters():
    wrong = []
    for place, call in _calls():
        given = {each.arg for each in call.keywords}
        for code in _codes(call.args[0]):
            template = message.rows().get(code)
            if template is None or not message.fields(template) <= given:
                wrong.append(f"{place}: {code}({', '.join(map(str, given))}): {template}")
    assert wrong == []


def test_every_row_is_a_reason_of_somebody():
    used = {code for _, call in _calls() for code in _codes(call.args[0])}
    assert set(message.rows()) - used == set()


@pytest.mark.parametrize(
    ("template", "params", "text"),
    [
        ("{n:count start}", {"n": 1}, "1 start"),
        ("{n:count process/processes}", {"n": 1204}, "1,204 processes"),
        ("{p99:duration}, {share:percent}", {"p99": 0.024, "share": 0.3}, "24.0 ms, 30 %"),
        ("{size:bytes} at {rate:rate}", {"size": 2.0**20, "rate": 50.0}, "1.00 MiB at 50.0/s"),
        ("{names:and}", {"names": ["a", "b", "c"]}, "a, b and c"),
        ("{names:code}", {"names": ["a", "b"]}, "`a`, `b`"),
        ("{ratio:.2f} ×", {"ratio": 1.9}, "1.90 ×"),
        ("no: {why}", {"why": because("t.inner", n=2)}, "no: 2 of them"),
    ],
)
def test_a_row_is_filled_in(monkeypatch, template, params, text):
    rows = {"t.outer": template, "t.inner": "{n} of them"}
    monkeypatch.setattr(message, "rows_of", lambda _: rows)
    assert message.text(because("t.outer", **params)) == text


def test_what_another_version_stored_is_shown_by_its_code():
    gone = because("experiment.was_once", n=3)
    assert message.text(gone) == str(gone) == "experiment.was_once(n=3)"
    less = because("experiment.steal")
    assert message.text(less) == str(less)


def test_a_stored_code_names_no_file_but_a_room():
    assert (PRODUCT / "report/messages/../../advice/formula/formulas.toml").is_file()
    assert message.rows_of("../../advice/formula/formulas") == {}
    assert message.rows_of("../messages/experiment") == {}


def test_a_reason_is_read_back_from_json():
    reason = because("a.b", n=3, why=because("c.d"), names=["x", because("e.f", q=1.5)])
    assert msgspec.json.decode(msgspec.json.encode(reason), type=Reason) == reason
    assert len({reason, because("a.b", n=3)}) == 2


WORDY = ("report/", "cli/", "book/", "studies/", "reason.py")
"""All else leaves the sentences to these; a reason has a type that is text."""


def test_no_sentence_stands_where_things_are_decided():
    """Errors that are raised have theirs, hints too; what is declared has labels and texts."""
    found = []
    for file in sorted(PRODUCT.rglob("*.py")):
        name = str(file.relative_to(PRODUCT))
        if not name.startswith(WORDY):
            found += [f"{name}:{line}: {text}" for line, text in _sentences(file)]
    assert found == []


def _sentences(file: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    passed = {
        id(part) for node in ast.walk(tree) if _may_have_words(node) for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in passed or not isinstance(node, ast.Constant):
            continue
        if isinstance(node.value, str) and len(_WORD.findall(node.value)) >= _SENTENCE:
            yield node.lineno, node.value


_WORD = re.compile(r"(?<![^\s(`*])[A-Za-z']{2,}(?![^\s,.:;)`*])")
_SENTENCE = 3
"""Words in a row of text that nobody writes but for people."""


_DECLARED = {"doc", "description", "expected", "help", "hint", "label", "short", "summary"}
"""Arguments that hold what is declared, and what an error names as right."""
_OF_OTHERS = ("_CONFIGURATION", "_FORM", "_NO_NEWLINE", "PROGRAM", "_SERVICES")
"""Ends of names that hold what other programs run, and read."""
_OF_ERRORS = ("_HINT", "_EXPECTED")
"""… and what errors have in common."""


def _may_have_words(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        names = [getattr(each, "id", "") for each in node.targets]
        return any(each.endswith((*_OF_OTHERS, *_OF_ERRORS)) for each in names)
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        # A pattern is of what others say; a setting is declared with its help, and a field may have
        # the name that they have for it. An error may be raised as a part of another one.
        return name.endswith("Error") or name in {"compile", "field", "setting", "within"}
    return isinstance(node, ast.Raise) or (isinstance(node, ast.keyword) and node.arg in _DECLARED)
