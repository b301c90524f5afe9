"""The studies that are stored, as a table."""

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.model import Outcome, Record
from httpdyno.report.shared.phrase import plural
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.finding import headline
from httpdyno.units import format_duration

_STYLES = {"complete": "green", "interrupted": "yellow", "failed": "red", "running": "cyan"}
_INDENT = (0, 0, 0, 4)


class HistoryRow(Record, frozen=True):
    """One stored study."""

    id: str
    study: str
    command: str
    status: str
    began_at: str
    duration_s: float
    headline: str


def history_row(outcome: Outcome) -> HistoryRow:
    """Return the outcome as one row."""
    return HistoryRow(
        id=outcome.id,
        study=outcome.plan.study.name,
        command=outcome.plan.command,
        status=outcome.status,
        began_at=outcome.began_at,
        duration_s=outcome.duration_s,
        headline=headline(outcome),
    )


def history_json(rows: Sequence[HistoryRow]) -> list[dict[str, Any]]:
    """Return the rows in built-in types."""
    plain: list[dict[str, Any]] = msgspec.to_builtins(list(rows))
    return plain


def history_text(rows: Sequence[HistoryRow], n_others: int = 0) -> RenderableType:
    """Return two lines for each row, as they come; a sentence when there are none.

    Args:
        rows: The newest runs.
        n_others: How many are stored besides.
    """
    if not rows:
        return Text("nothing is stored yet; `httpdyno demo` makes a first study")
    width = max(len(row.id) for row in rows)
    lines: list[RenderableType] = []
    for row in rows:
        lines.append(
            Text.assemble(
                (row.id.ljust(width), "cyan"),
                f"  {row.began_at[:16].replace('T', ' ')} UTC",
                f"  {format_duration(row.duration_s):>10}  ",
                (row.status, _STYLES.get(row.status, "")),
            )
        )
        lines.append(
            Padding(Prose(Text.assemble((row.study, "bold"), f": {row.headline}")), _INDENT)
        )
    if n_others:
        lines.append(
            Prose(
                Text(
                    f"and {plural(n_others, 'other run')}: "
                    f"`httpdyno history -n {len(rows) + n_others}` lists them all"
                )
            )
        )
    return Group(*lines)
