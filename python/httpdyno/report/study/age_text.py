"""A pool's memory at several ages: a table for a terminal and for a page."""

from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.advice.phase import ROOM_BYTES, Age, ages
from httpdyno.model import Outcome
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.phase_arms import phase_arms
from httpdyno.units import format_bytes

_ROOM = f"{ROOM_BYTES / (1 << 30):.0f} GiB"
_HEAD = ("requests", "memory", "there once", "a worker", f"n in {_ROOM}")
_NOTE = (
    "memory after so many requests to the pool; n = (T − P)/u(r): workers that there is room for "
    f"in {_ROOM}, were all of that age; P there once, the parent and what workers share, u(r) the "
    "largest worker's own, both with what the kernel keeps for a process"
)
_SHORT_OF = 0.02
"""Of its requests: with no more missing a pool is as old as its phase is called."""
_NAME_WIDTH = 20
_INDENT = (0, 0, 0, 2)


def age_lines(outcome: Outcome) -> list[RenderableType]:
    """Return a row for each age and arm; none where phases do not end with requests."""
    rows = _rows(outcome)
    if not rows:
        return []
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("", max_width=_NAME_WIDTH)
    table.add_column("", max_width=_NAME_WIDTH, overflow="fold")
    for name in _HEAD:
        table.add_column(name, justify="right", no_wrap=True)
    last = ""
    for phase, name, *cells in rows:
        table.add_row("" if phase == last else phase, name, *cells)
        last = phase
    notes = [Text(_NOTE, "dim"), *map(Text, _cut_short(outcome))]
    return [Text(), Padding(table, _INDENT), *(Padding(Prose(note), _INDENT) for note in notes)]


def ages_page(outcome: Outcome) -> dict[str, Any] | None:
    """Return the same for a page, each age a group of rows; None where there are none."""
    parts: list[str | list[str]] = []
    last = ""
    for phase, name, *cells in _rows(outcome):
        parts += [phase] if phase != last else []
        parts.append([name, *cells])
        last = phase
    if not parts:
        return None
    return {
        "head": ["", *_HEAD],
        "rows": parts,
        "text_columns": 1,
        "cut_short": [_sentence(each) for each in _cut_short(outcome)],
        "caption": _sentence(_NOTE),
    }


def _rows(outcome: Outcome) -> list[list[str]]:
    return [[age.phase, name, *_cells(age)] for name, age in _ages(outcome)]


def _ages(outcome: Outcome) -> list[tuple[str, Age]]:
    """Return all ages of the first phase, then those of the next."""
    method = outcome.plan.study.method
    of_arms = [(name, ages(method, arm)) for name, arm in phase_arms(outcome)]
    return [
        (name, age)
        for phase in method.phases
        for name, found in of_arms
        for age in found
        if age.phase == phase.name
    ]


def _cut_short(outcome: Outcome) -> list[str]:
    """Return one sentence on phases that are called older than the pools were; none without."""
    fewest: dict[str, Age] = {}
    for _, age in _ages(outcome):
        known = fewest.setdefault(age.phase, age)
        if age.n_requests < known.n_requests:
            fewest[age.phase] = age
    short = ", ".join(
        f"“{age.phase}” ({age.n_requests:,.0f} of {age.n_asked:,})"
        for age in fewest.values()
        if age.n_requests < age.n_asked * (1 - _SHORT_OF)
    )
    return [f"not as old as they are called, for a window was over before: {short}"] * bool(short)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _cells(age: Age) -> list[str]:
    return [
        f"{age.n_requests:,.0f}",
        format_bytes(age.pss_bytes),
        NOTHING if age.once_bytes is None else format_bytes(age.once_bytes),
        NOTHING if age.each_bytes is None else format_bytes(age.each_bytes),
        NOTHING if age.n_fit is None else f"{age.n_fit:,.0f}",
    ]
