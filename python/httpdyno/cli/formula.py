"""`httpdyno formula`: what the arithmetic of the founding documents says, put right.

A command for each formula, made of its declaration.
"""

import re
import textwrap
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text
from typer.core import TyperGroup

from httpdyno.advice.formula import formulas
from httpdyno.advice.formula.evaluate import Formula, Input, Recalculated, Worked, work_out
from httpdyno.advice.formula.expression import METAVARS, with_signs
from httpdyno.cli.console import results
from httpdyno.cli.option import ForceOption, JsonOption
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import say
from httpdyno.errors import UsageError
from httpdyno.report.shared.formula_reference import formula_reference
from httpdyno.report.shared.prose import Prose
from httpdyno.study.complaint import nearest

_INDENT = (0, 0, 0, 4)
_EXAMPLE_COLUMNS = 76
"""Of 80: the help indents it."""
_CONTINUED = " \\\n      "


class _Formulas(TyperGroup):
    """The formulas by name; a wrong one gets the nearest that there is."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - typer's own
        """Return a formula's command."""
        if cmd_name not in self.commands and not ctx.resilient_parsing:
            raise UsageError(
                f"no formula is called `{cmd_name}`",
                hint=nearest(cmd_name, self.commands) or "`httpdyno formula` lists them",
            )
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=_Formulas,
    rich_markup_mode=None,
    invoke_without_command=True,
    epilog="""Example:

\b
  httpdyno formula max-clients --ram 500MB --child 10MB --shared 4MB
""",
)


@app.callback()
def overview(
    context: typer.Context,
    *,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print all formulas as a Markdown page.")
    ] = False,
    json: JsonOption = None,
    force: ForceOption = False,
) -> None:
    """Calculate with the formulas of the tuning books, corrected.

    The result names the published figures and whether they agree. Without a formula it lists all.
    """
    if context.invoked_subcommand is not None:
        if markdown or json is not None:
            raise UsageError(
                "options before the formula's name are for the list of all",
                hint=f"`httpdyno formula {context.invoked_subcommand} --json -` is of that one",
            )
        return
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    if markdown:
        say(formula_reference().rstrip("\n"))
        return
    if outputs.json is not None:
        outputs.write_json({"formulas": [_declared(each) for each in formulas().values()]})
    if outputs.has_text:
        results().print(Group(*map(_listed, formulas().values())))


def _listed(formula: Formula) -> RenderableType:
    line = Text.assemble((formula.name, "cyan"), f"  {formula.expression}")
    return Group(Prose(line), Padding(Prose(Text(formula.question)), _INDENT))


def _declared(formula: Formula) -> dict[str, Any]:
    return {
        "name": formula.name,
        "title": formula.title,
        "question": formula.question,
        "expression": formula.expression,
        "inputs": [{**msgspec.to_builtins(each), "option": each.option} for each in formula.inputs],
        "steps": [msgspec.to_builtins(each) for each in (*formula.fitted, *formula.steps)],
        "printed": [msgspec.to_builtins(each) for each in formula.printed],
        "warnings": list(formula.warnings),
        "example": formula.example,
    }


def _command(formula: Formula) -> Callable[..., int]:
    """Return the command of a formula, with an option for each input."""

    def command(*, json: str | None, force: bool, **given: str | Sequence[str] | None) -> int:
        outputs = Outputs(json=json, is_forced=force)
        outputs.check()
        worked = work_out(formula, given)
        if outputs.json is not None:
            outputs.write_json(msgspec.to_builtins(worked))
        if outputs.has_text:
            results().print(_sheet(formula, worked))
        return 0

    options = [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(each))
        for each in formula.inputs
    ]
    shared = Parameter("json", Parameter.KEYWORD_ONLY, default=None, annotation=JsonOption)
    command.__doc__ = f"{formula.title}.\n\n{formula.question}\n\n{formula.expression}"
    forced = Parameter("force", Parameter.KEYWORD_ONLY, default=False, annotation=ForceOption)
    command.__signature__ = Signature([*options, shared, forced])  # type: ignore[attr-defined]
    return command


def _annotation(each: Input) -> Any:  # noqa: ANN401 - a type with what typer knows
    words = f"{each.meaning}."
    if each.default or each.otherwise:
        words += f"  [default: {each.default or with_signs(each.otherwise)}]"
    option = typer.Option(each.option, metavar=METAVARS[each.kind], help=words, show_default=False)
    return Annotated[list[str] | None if each.is_series else str | None, option]


def _sheet(formula: Formula, worked: Worked) -> RenderableType:
    parts: list[RenderableType] = [Prose(Text(worked.answer, "bold"))]
    for label, lines in (
        ("working", worked.working),
        ("the book", [*map(_recalculated, worked.book)]),
        ("warning", worked.warnings),
    ):
        if lines:
            parts.append(Text(f"{label}:", "dim"))
            parts += [Padding(Prose(Text(line)), _INDENT) for line in lines]
    return Group(*parts)


def _recalculated(each: Recalculated) -> str:
    of = each.printed
    remark = f". {of.remark.rstrip('.')}" if of.remark else ""
    line = f"{of.source}: {of.text}; {of.printed}: {of.verdict}{remark}"
    if each.text is None:
        return f"{line}. With these numbers it divides by zero"
    return f"{line}. With these numbers it gives {each.text}" if each.text else line


def _epilog(formula: Formula) -> str:
    """Return the example; a long one in lines that a shell joins, each option beside its value."""
    lines = [formula.example]
    if len(formula.example) > _EXAMPLE_COLUMNS:
        pairs = [each.replace(" ", "\0") for each in re.split(" (?=--)", formula.example)]
        width = _EXAMPLE_COLUMNS - len(_CONTINUED)
        lines = textwrap.wrap(
            " ".join(pairs), width, break_long_words=False, break_on_hyphens=False
        )
    example = _CONTINUED.join(lines).replace("\0", " ")
    return f"Example:\n\n\b\n  {example}\n"


for _formula in formulas().values():
    app.command(_formula.name, epilog=_epilog(_formula))(_command(_formula))
