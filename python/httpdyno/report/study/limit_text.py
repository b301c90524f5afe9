"""What limited the server, for the terminal."""

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.model import Outcome
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.brief_limit import brief_limits
from httpdyno.report.study.limit import LimitRow, limit_rows, looked_text

_INDENT = (0, 0, 0, 2)
_DEEPER = (0, 0, 0, 4)


def limit_lines(outcome: Outcome, *, is_whole: bool = True) -> list[RenderableType]:
    """Return what limited each configuration that counts, and the others in a line each.

    Empty where nobody looked.

    Args:
        outcome: Of the run.
        is_whole: Whether all is told; else of the first and the last row what limited them.
    """
    rows, others = limit_rows(outcome), brief_limits(outcome)
    if not (rows or others):
        return []
    title = Text.assemble(("what limited it", "bold"), f" ({looked_text(outcome)})")
    if rows and not is_whole:
        told = (rows[0], *rows[-1:]) if len(rows) > 1 else rows
        return [Text(), Prose(title), *map(_line, told)]
    lines: list[RenderableType] = [Text(), Prose(title)]
    for row in rows:
        lines.append(_line(row))
        for text in (row.time, row.run_queue, row.worker, *row.own, "; ".join(row.moved)):
            if text:
                lines.append(Padding(Prose(Text(text)), _DEEPER))
    for other in others:
        lines.append(Padding(Prose(Text.assemble((other.name, "cyan"), other.text)), _INDENT))
    return lines


def _line(row: LimitRow) -> RenderableType:
    line = Text.assemble((row.name, "cyan"), f": {row.limit}; {row.reason}")
    return Padding(Prose(line), _INDENT)
