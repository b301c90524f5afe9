"""Each formula is declared once, and all that is made of it must be there and fit."""

import math
import re

from tests.rows import each_row

from httpdyno.advice.formula import formulas
from httpdyno.advice.formula.evaluate import work_out
from httpdyno.advice.formula.expression import DIMENSIONS, Quantity, evaluate
from httpdyno.advice.formula.fit import FITS, SEARCHES
from httpdyno.report.shared.formula_reference import formula_reference

ALL = list(formulas().values())


def _id(formula):
    return formula.name


def names(text):
    return set(re.findall(r"[a-z_]\w*", text)) - {"floor", "ceil", "max", "min", "exp"}


def dimension_of(text, formula):
    # Roots, so that no difference of theirs is nothing, which would have every dimension.
    declared = (*formula.inputs, *formula.fitted, *formula.steps)
    some = {
        each.name: Quantity(value=math.sqrt(2 + number), dimension=DIMENSIONS[each.kind])
        for number, each in enumerate(declared)
        if each.kind in DIMENSIONS
    }
    return evaluate(text, some).dimension


def _typed(formula):
    return {each.name: each.example or None for each in formula.inputs}


def test_no_two_formulas_have_one_name():
    declared = sum(1 for _ in formulas())
    assert declared == len({each.title for each in ALL}) == len({each.question for each in ALL})
    assert all(name == formula.name for name, formula in formulas().items())


@each_row("formula", ALL, ids=_id)
def test_every_expression_has_the_dimension_of_what_it_gives(formula):
    for step in formula.steps:
        assert dimension_of(step.expression, formula) == DIMENSIONS[step.kind], step.name
    for each in formula.printed:
        if each.expression:
            assert dimension_of(each.expression, formula) == DIMENSIONS[each.kind], each.source
    for each in formula.inputs:
        if each.otherwise:
            assert dimension_of(each.otherwise, formula) == DIMENSIONS[each.kind], each.name


@each_row("formula", ALL, ids=_id)
def test_an_expression_uses_what_is_known_before_it(formula):
    known: set[str] = set()
    for each in formula.inputs:
        assert names(each.otherwise) <= known
        known.add(each.name)
    for requirement in formula.requires:
        assert names(requirement.expression) <= known
        assert requirement.blames in known
    known |= {each.name for each in formula.fitted}
    for step in formula.steps:
        assert names(step.expression) <= known, step.name
        assert step.name not in known
        known.add(step.name)
    assert set(re.findall(r"{(\w+)}", formula.answer)) <= known
    assert all(names(each.expression) <= known for each in formula.printed)


@each_row("formula", ALL, ids=_id)
def test_every_input_and_figure_is_used_and_explained(formula):
    used = set(re.findall(r"{(\w+)}", formula.answer))
    expressions = [each.expression for each in (*formula.steps, *formula.requires)]
    expressions += [each.otherwise for each in formula.inputs]
    used |= {name for text in expressions for name in names(text)}
    for each in formula.inputs:
        assert each.name in used or each.is_series, each.name
        assert each.example or not each.is_required, each.name
    for each in (*formula.inputs, *formula.steps, *formula.fitted):
        assert each.meaning[0].isupper(), each.name
        assert not each.meaning.endswith("."), each.name
    assert formula.question.endswith("?")
    assert formula.warnings
    assert formula.printed


@each_row("formula", ALL, ids=_id)
def test_what_was_wrong_with_a_document_is_said(formula):
    for each in formula.printed:
        assert each.remark or each.verdict == "agrees", each.text
        assert not each.remark.endswith("."), each.text


@each_row("formula", ALL, ids=_id)
def test_the_example_comes_to_an_answer(formula):
    worked = work_out(formula, _typed(formula))
    assert "{" not in worked.answer
    assert len(worked.book) == len(formula.printed)
    for step in formula.steps:
        [line] = [each for each in worked.working if each.startswith(f"{step.name} = ")]
        [figure] = [each for each in worked.figures if each.name == step.name]
        assert line.endswith(f" = {figure.text}")


def test_what_no_expression_gives_has_its_function():
    assert {each.name for each in ALL if each.fitted} == {*FITS, *SEARCHES}
    assert {each.name for each in ALL if any(one.is_series for one in each.inputs)} == set(FITS)


def test_the_page_has_every_formula_option_and_figure():
    text = formula_reference()
    for formula in ALL:
        section = text.partition(f"\n## {formula.name}\n")[2].partition("\n## ")[0]
        assert all(f"`{each.option}`" in section for each in formula.inputs)
        figures = (*formula.fitted, *formula.steps)
        assert all(f"| `{each.name}` |" in section for each in figures)
        assert f"$ {formula.example}" in section
