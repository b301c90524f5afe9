"""What limited the server, for the terminal."""

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.model import Outcome
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.brief_limit import brief_limits
from httpdyno.report.study.limit import limit_rows, looked_text

_INDENT = (0, 0, 0, 2)
_DEEPER = (0, 0, 0, 4)


def limit_lines(outcome: Outcome) -> list[RenderableType]:
    """Return what limited each configuration that counts, and the others in a line each.

    Empty where nobody looked.
    """
    rows, others = limit_rows(outcome), brief_limits(outcome)
    if not (rows or others):
        return []
    title = Text.assemble(("what limited it", "bold"), f" ({looked_text(outcome)})")
    lines: list[RenderableType] = [Text(), Prose(title)]
    for row in rows:
        line = Text.assemble((row.name, "cyan"), f": {row.limit}; {row.reason}")
        lines.append(Padding(Prose(line), _INDENT))
        for text in (row.time, row.run_queue, row.worker, *row.own, "; ".join(row.moved)):
            if text:
                lines.append(Padding(Prose(Text(text)), _DEEPER))
    for other in others:
        lines.append(Padding(Prose(Text.assemble((other.name, "cyan"), other.text)), _INDENT))
    return lines
