"""A look at a server in one line, for a log."""

from httpdyno.host.foreign_text import visible
from httpdyno.report.shared.log_text import log_texts
from httpdyno.report.shared.phrase import plural
from httpdyno.report.watch.phrase import (
    cpu_text,
    disk_text,
    fork_text,
    memory_text,
    queue_texts,
    state_text,
    status_texts,
    turnover_text,
    zombie_text,
)
from httpdyno.telemetry.watched import Watched
from httpdyno.units import format_number


def watch_line(watched: Watched, every_s: float) -> str:
    """Return the line, its parts two spaces apart."""
    parts = (
        f"{format_number(watched.since_s, 0 if every_s >= 1 else 1)} s",
        plural(watched.now.pool.n_workers, "worker"),
        memory_text(watched, every_s),
        cpu_text(watched),
        turnover_text(watched),
        fork_text(watched),
        _disk_text(watched, every_s),
        ", ".join(queue_texts(watched, every_s)),
        state_text(watched),
        _zombie_text(watched),
        "; ".join(status_texts(watched)),
        "; ".join(log_texts(watched.now.log, 1)),
    )
    return "  ".join(" ".join(part.split()) for part in parts if part)


def _disk_text(watched: Watched, every_s: float) -> str:
    """Return what is known of it: that it may not be seen is told once, and not in each line."""
    disk = watched.now.disk
    return f"disk {disk_text(watched, every_s)}" if disk and disk.moved else ""


def _zombie_text(watched: Watched) -> str:
    named = visible(zombie_text(watched))
    return f"zombies {named}" if named else ""
