"""What the servers' own error logs said of each configuration while it was loaded."""

from collections.abc import Iterator
from dataclasses import dataclass

from httpdyno.advice.bottleneck import remark_on
from httpdyno.model import ArmSummary, LogKind, LogLines, Outcome
from httpdyno.report.shared import message
from httpdyno.report.shared.log_text import TOLD_LEVELS, shortened
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.limit import comparisons, told_configurations
from httpdyno.telemetry.log import said, together, worst_first

LOG_TITLE = "what their error logs said"
LOG_NOTE = "warnings and worse, from when a server was ready to the end of its load"
_MOST_ROWS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class LogRow:
    """A kind of line, and which configurations' servers wrote it."""

    level: str
    text: str
    """The first such line, without time, level and process; shortened."""
    where: str
    """`start: 12 lines in 6 of 6 starts; final: none`."""
    remark: str
    """What should be known of it; empty for most."""


def log_rows(outcome: Outcome) -> list[LogRow]:
    """Return the worst kinds of lines, once each, with the number of each configuration.

    Those without a level of their own are not among them: many programs print what is no trouble.
    """
    logs = dict(_logs(outcome))
    kinds: dict[tuple[str, str], dict[str, LogKind]] = {}
    for name, log in logs.items():
        for kind in log.kinds:
            if kind.level in TOLD_LEVELS:
                kinds.setdefault((kind.level, kind.form), {})[name] = kind
    first = worst_first(next(iter(found.values())) for found in kinds.values())
    return [
        LogRow(
            level=kind.level,
            text=shortened(said(kind.example)),
            where=_where(kinds[kind.level, kind.form], logs),
            remark=message.text(remark) if (remark := remark_on(kind)) else "",
        )
        for kind in first
    ]


def shown_rows(rows: list[LogRow]) -> tuple[list[LogRow], str]:
    """Return the rows that fit, and in words how many there are besides."""
    more = len(rows) - _MOST_ROWS
    return rows[:_MOST_ROWS], f"and {plural(more, 'kind')} of lines more" if more > 0 else ""


def _logs(outcome: Outcome) -> Iterator[tuple[str, LogLines]]:
    """Yield the logs of each configuration that is told of, over all comparisons."""
    arms: dict[str, list[ArmSummary]] = {}
    for compared in comparisons(outcome):
        for arm in (compared.a, compared.b):
            arms.setdefault(arm.configuration.label(), []).append(arm)
    for name, _, configuration in told_configurations(outcome):
        parts = [arm.log for arm in arms.get(configuration.label(), ()) if arm.log is not None]
        if log := together(parts):
            yield name, log


def _where(of: dict[str, LogKind], logs: dict[str, LogLines]) -> str:
    texts = []
    for name, log in logs.items():
        kind = of.get(name)
        if kind is None:
            texts.append(f"{name}: none")
            continue
        starts = f"{kind.n_starts} of {plural(log.n_starts, 'start')}"
        lines = f"{'at least ' if log.unread_bytes else ''}{plural(kind.count, 'line')}"
        texts.append(f"{name}: {lines} in {starts}")
    return "; ".join(texts)
