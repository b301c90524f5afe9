"""Advice of the book without figures, for the terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.book.advice import AdviceHere
from httpdyno.model import Verdict
from httpdyno.report.shared.prose import Prose
from httpdyno.units import format_guess

TITLE = "Advice without figures"
_INDENT = (0, 0, 0, 2)
_STYLES: dict[Verdict, str] = {"better": "green", "worse": "red", "failed": "red"}


def listed_advice(here: AdviceHere) -> RenderableType:
    """Return an advice in two lines, or three where something was found of it here."""
    advice, now = here.advice, here.now
    lines: list[RenderableType] = [Prose(Text.assemble((here.name, "cyan"), f"  {advice.says}"))]
    can = f"cannot run: {here.reason}" if here.reason else f"can run, in at most {_budget(here)}"
    measured = ""
    if now is not None:
        line = Text.assemble("now: ", *_found(here))
        lines.append(Padding(Prose(line), _INDENT))
        measured = f"measured {now.measured_at[:10]}; "
    lines.append(Padding(Prose(Text(f"{advice.chapter}; {measured}{can}", "dim")), _INDENT))
    return Group(*lines)


def advice_summary(all_here: Sequence[AdviceHere]) -> list[str]:
    """Return what all of them come to, in a few sentences."""
    n_told = sum(here.now is not None for here in all_here)
    n_can = sum(not here.reason for here in all_here)
    return [
        f"of {len(all_here)} pieces of advice without figures {n_told} are measured; "
        f"{n_can} can run here",
        "`httpdyno book run NAME` runs the study of one, `httpdyno book run --all --advice` all",
    ]


def advice_sheet(here: AdviceHere) -> RenderableType:
    """Return all that is known of an advice."""
    advice, now = here.advice, here.now
    rows = [
        ("where", advice.chapter),
        ("says", advice.says),
        ("study", f"{advice.study}: {here.title}"),
        ("told", f"of its {here.claim}"),
        ("run by", advice.command),
        ("takes", f"at most {_budget(here)}"),
    ]
    if here.reason:
        rows.append(("not here", here.reason))
    lines: list[RenderableType] = [Prose(Text.assemble((here.name, "cyan"), ": no figures then"))]
    if now is not None:
        lines.append(Padding(Prose(Text.assemble(*_found(here))), _INDENT))
        rows += [
            ("measured", f"{now.measured_at}, {now.host}"),
            ("all of it", f"httpdyno report {now.run_id}"),
        ]
    lines += [
        Padding(Prose(Text.assemble((f"{name:<9} ", "dim"), text)), _INDENT) for name, text in rows
    ]
    return Group(*lines)


def _found(here: AdviceHere) -> tuple[str | tuple[str, str], ...]:
    """Return what was found, in parts with their styles; nothing where nothing was."""
    now = here.now
    if now is None:
        return ()
    return f"{now.claim}: ", (now.badge, _STYLES.get(now.verdict, "dim")), f"; {now.says}"


def _budget(here: AdviceHere) -> str:
    return format_guess(here.budget_s)
