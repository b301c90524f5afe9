"""The reference of formulas in Markdown, made of their declarations (`make docs`)."""

from collections.abc import Iterable, Iterator

from httpdyno.advice.formula import formulas
from httpdyno.advice.formula.evaluate import AsPrinted, Formula, Input, domain, work_out
from httpdyno.advice.formula.expression import METAVARS, with_signs

_HEAD = """\
# Formulas

What the founding documents of tuning mod_perl reckon with, worked out again and put right:
*Practical mod_perl* by Bekman and Cholet (2004, chapter 11), the mod_perl tutorial handout by
Bekman (4 March 2000), Chamas's article on tuning Apache::ASP (1999) and a memo on mod_cache (March
2006). `httpdyno formula` lists the formulas, `httpdyno formula NAME …` works one out: the answer,
the working, what the documents printed and whether that agrees, and warnings. `--json
FILE|-` writes all of it.

Sizes are typed as `500MB` (10⁶) or `500MiB` (2²⁰), times as `250ms`, rates as `30/s`, lines as
`28.8kbit` or `3.6kB/s`. An expression is worked out with its dimensions: what adds bytes to
processes is refused by a test, which is how one of the printed misprints shows.

Arithmetic predicts; it proves nothing. `httpdyno tune` and `httpdyno compare` measure.

This page is made by `make docs` of `python/httpdyno/advice/formula/formulas.toml`.
"""


def formula_reference() -> str:
    """Return the page in Markdown."""
    index = [f"- [`{each.name}`](#{each.name}): {each.question}" for each in formulas().values()]
    parts = [_HEAD, "\n".join(index)]
    for each in formulas().values():
        parts += _formula_section(each)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _formula_section(formula: Formula) -> Iterator[str]:
    yield f"## {formula.name}"
    yield f"{formula.title}. {formula.question}"
    yield f"```\n{formula.expression}\n```"
    yield _table(("option", "is", "default", "meaning"), map(_input_cells, formula.inputs))
    # What a fit or a search gives is found as words say, not as an expression does.
    found = [(each, each.expression) for each in formula.fitted]
    found += [(each, _code(each.expression)) for each in formula.steps]
    yield _table(
        ("figure", "is", "what it means"),
        ((f"`{each.name}`", how, f"{each.meaning}.") for each, how in found),
    )
    yield "\n".join(f"- {_printed(each)}" for each in formula.printed)
    yield "\n".join(f"- Warning: {each}." for each in formula.warnings)
    yield f"```console\n$ {formula.example}\n{_answer(formula)}\n```"


def _input_cells(each: Input) -> tuple[str, ...]:
    kind = METAVARS[each.kind] + (f", {domain(each)}" if not each.is_series else "")
    default = f"`{each.default or with_signs(each.otherwise)}`"
    return (
        f"`{each.option}`",
        kind,
        "*required*" if each.is_required else default,
        (f"{each.meaning}."),
    )


def _printed(each: AsPrinted) -> str:
    line = f"{each.source}: `{each.text}`; {each.printed}. **{each.verdict}**"
    return f"{line}. {each.remark}." if each.remark else f"{line}."


def _code(expression: str) -> str:
    return f"`{with_signs(expression)}`"


def _answer(formula: Formula) -> str:
    typed = {each.name: each.example or None for each in formula.inputs}
    return work_out(formula, typed).answer


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
