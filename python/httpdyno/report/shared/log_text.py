"""What a server's own error log said while it was looked at, in words: the worst kinds of lines."""

from collections.abc import Sequence

from httpdyno.advice.bottleneck import remark_on
from httpdyno.model import LogKind, LogLines
from httpdyno.report.shared import message
from httpdyno.report.shared.phrase import plural
from httpdyno.telemetry.log import said, worst_first

TOLD_LEVELS = frozenset({"critical", "error", "warning"})
"""Without a level of their own many programs print what is no trouble."""
_MOST_CHARACTERS = 160


def shortened(text: str) -> str:
    """Return what of a line there is room for."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def told_kinds(log: LogLines) -> list[LogKind]:
    """Return the kinds of lines that are warnings or worse, the worst first."""
    return worst_first(kind for kind in log.kinds if kind.level in TOLD_LEVELS)


def log_texts(log: LogLines | None, most: int) -> list[str]:
    """Return the worst kinds, with how many lines there were and what should be known of them.

    Args:
        log: What it said; None where that is not known.
        most: Kinds; how many there are besides is said.
    """
    kinds = told_kinds(log) if log else []
    texts = [_text(kind, log.unread_bytes > 0 if log else False) for kind in kinds[:most]]
    return [*texts, *_more(kinds[most:])]


def log_json(log: LogLines | None) -> dict[str, object] | None:
    """Return all that is known of it as built-in types; null where nothing is."""
    if log is None:
        return None
    return {
        "n_lines": log.n_lines,
        "unread_bytes": log.unread_bytes,
        "kinds": [
            {
                "level": kind.level or None,
                "form": kind.form,
                "example": kind.example,
                "count": kind.count,
                "remark": _remark(kind) or None,
            }
            for kind in log.kinds
        ],
    }


def _text(kind: LogKind, is_least: bool) -> str:
    remark = _remark(kind)
    lines = f"{'at least ' if is_least else ''}{plural(kind.count, 'line')}"
    words = shortened(said(kind.example))
    return f"{kind.level}, {lines}: {words}{f' ({remark})' if remark else ''}"


def _remark(kind: LogKind) -> str:
    found = remark_on(kind)
    return message.text(found) if found else ""


def _more(kinds: Sequence[LogKind]) -> list[str]:
    return [f"and {plural(len(kinds), 'kind')} of lines more"] if kinds else []
