"""A factorial for a terminal and for a page: its effects as rows, each combination in units."""

from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.metrics import named
from httpdyno.model import Effect, Factorial, Verdict
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.arms import (
    arms_table,
    cells_head,
    header_notes,
    more_columns,
    unit_cells,
)
from httpdyno.report.study.finding import (
    effect_name,
    effect_word,
    effects_note,
    factorial_arms,
    interaction_sentences,
    partial_lines,
    unfit_lines,
)
from httpdyno.report.study.verdict import bounds_text, interval_ratio_text

_STYLES: dict[Verdict, str] = {"better": "green", "worse": "red", "inconclusive": "yellow"}
_NAME_WIDTH = 40


def factorial_lines(found: Factorial) -> list[RenderableType]:
    """Return the effects and interactions, what interactions mean, and each combination."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="")
    table.add_column("effect", max_width=_NAME_WIDTH, overflow="fold")
    table.add_column("ratio", justify="right")
    table.add_column("interval")
    table.add_column("verdict")
    tie = _tie_head(found)
    for name in tie:
        table.add_column(name, justify="right")
    for each in found.effects:
        verdict = Text(effect_word(each), _STYLES.get(each.verdict, ""))
        cells = interval_ratio_text(each.ratio), bounds_text(each.ratio), verdict
        table.add_row(effect_name(found, each), *cells, *_tie_cells(found, each))
    lines: list[RenderableType] = [Text(), table, Text(effects_note(found), "dim")]
    lines += [Text(line, "yellow") for line in partial_lines(found)]
    if sentences := interaction_sentences(found):
        lines += [Text(), *map(Text, sentences)]
    lines += [Text(), arms_table(factorial_arms(found), more=_more(found))]
    notes = header_notes(arm for _, arm in factorial_arms(found))
    lines += [Prose(Text(note, "dim")) for note in notes]
    return [*lines, *(Text(line, "red") for line in unfit_lines(found))]


def factorial_page(found: Factorial) -> dict[str, Any]:
    """Return the same for a page."""
    rows = [
        [
            effect_name(found, each),
            effect_word(each),
            interval_ratio_text(each.ratio),
            bounds_text(each.ratio),
            *_tie_cells(found, each),
        ]
        for each in found.effects
    ]
    more = _more(found)
    arms = [[name, *unit_cells(arm, more)] for name, arm in factorial_arms(found)]
    note = effects_note(found)
    return {
        "effects": {
            "head": ["effect", "verdict", "ratio", "interval", *_tie_head(found)],
            "rows": rows,
            "text_columns": 2,
        },
        "note": f"{note[:1].upper()}{note[1:]}.",
        "partial": partial_lines(found),
        "sentences": interaction_sentences(found),
        "unfit": unfit_lines(found),
        "arms": {"head": ["", *cells_head(more)], "rows": arms, "text_columns": 1},
    }


def _tie_head(found: Factorial) -> list[str]:
    return [named(found.tie_breaker).short] if found.tie_breaker else []


def _tie_cells(found: Factorial, effect: Effect) -> list[str]:
    """Return the tie breaker's ratio, where there is one."""
    return [interval_ratio_text(effect.tie)] if found.tie_breaker else []


def _more(found: Factorial) -> tuple[str, ...]:
    """Return the metric, where it has no column otherwise."""
    shown = {found.metric, found.tie_breaker}
    return more_columns(shown, (arm for _, arm in factorial_arms(found)))
