"""A factorial for a terminal and for a page: its effects as rows, each combination in units."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from httpdyno.metrics import named
from httpdyno.model import Factorial, Verdict
from httpdyno.report.shared.interval import bounds_text, interval_ratio_text
from httpdyno.report.shared.phrase import sentence
from httpdyno.report.shared.prose import Prose
from httpdyno.report.shared.view import Grid, plain_table
from httpdyno.report.study.arms import arms_grid, arms_table, header_notes, more_columns
from httpdyno.report.study.finding import (
    effect_name,
    effect_word,
    effects_note,
    factorial_arms,
    interaction_sentences,
    partial_lines,
    unfit_lines,
)

_STYLES: dict[Verdict, str] = {"better": "green", "worse": "red", "inconclusive": "yellow"}
_NAME_WIDTH = 40


def factorial_lines(found: Factorial) -> list[RenderableType]:
    """Return the effects and interactions, what interactions mean, and each combination."""
    table = plain_table(gap=1, has_head=True)
    table.add_column("effect", max_width=_NAME_WIDTH, overflow="fold")
    table.add_column("ratio", justify="right")
    table.add_column("interval")
    table.add_column("verdict")
    for name in _tie_head(found):
        table.add_column(name, justify="right")
    for each, (name, word, ratio, bounds, *tie) in zip(found.effects, _effects(found), strict=True):
        table.add_row(name, ratio, bounds, Text(word, _STYLES.get(each.verdict, "")), *tie)
    lines: list[RenderableType] = [Text(), table, Text(effects_note(found), "dim")]
    lines += [Text(line, "yellow") for line in partial_lines(found)]
    if sentences := interaction_sentences(found):
        lines += [Text(), *map(Text, sentences)]
    lines += [Text(), arms_table(_arms_grid(found))]
    notes = header_notes(arm for _, arm in factorial_arms(found))
    lines += [Prose(Text(note, "dim")) for note in notes]
    return [*lines, *(Text(line, "red") for line in unfit_lines(found))]


def factorial_page(found: Factorial) -> dict[str, Any]:
    """Return the same for a page."""
    head = ("effect", "verdict", "ratio", "interval", *_tie_head(found))
    return {
        "effects": Grid(head=head, rows=_effects(found), text_columns=2),
        "note": sentence(effects_note(found)),
        "partial": partial_lines(found),
        "sentences": interaction_sentences(found),
        "unfit": unfit_lines(found),
        "arms": _arms_grid(found),
    }


def _effects(found: Factorial) -> list[tuple[str, ...]]:
    """Return of each effect its name, verdict, ratio, interval, and the tie breaker's ratio."""
    return [
        (
            effect_name(found, each),
            effect_word(each),
            interval_ratio_text(each.ratio),
            bounds_text(each.ratio),
            *([interval_ratio_text(each.tie)] if found.tie_breaker else []),
        )
        for each in found.effects
    ]


def _tie_head(found: Factorial) -> list[str]:
    return [named(found.tie_breaker).short] if found.tie_breaker else []


def _arms_grid(found: Factorial) -> Grid:
    """Return what each combination did; the metric too, where it has no column otherwise."""
    arms = factorial_arms(found)
    more = more_columns({found.metric, found.tie_breaker}, (arm for _, arm in arms))
    return arms_grid(arms, more=more)
