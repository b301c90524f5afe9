"""What the servers' own error logs said, for the terminal."""

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.model import Outcome
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.own_log import LOG_NOTE, LOG_TITLE, log_rows, shown_rows

_INDENT = (0, 0, 0, 2)
_DEEPER = (0, 0, 0, 4)
_STYLES = {"critical": "red", "error": "red", "warning": "yellow"}


def own_log_lines(outcome: Outcome) -> list[RenderableType]:
    """Return each kind of line with who wrote it; empty where none was bad."""
    rows, more = shown_rows(log_rows(outcome))
    if not rows:
        return []
    title = Text.assemble((LOG_TITLE, "bold"), f" ({LOG_NOTE})")
    lines: list[RenderableType] = [Text(), Prose(title)]
    for row in rows:
        line = Text.assemble((row.level, _STYLES[row.level]), f": {row.text}")
        lines.append(Padding(Prose(line), _INDENT))
        lines += [Padding(Prose(Text(text)), _DEEPER) for text in (row.where, row.remark) if text]
    return [*lines, *([Padding(Prose(Text(more)), _INDENT)] if more else [])]
