"""What of a server may not be seen, and by what its figures are bounded and counted, in words."""

from httpdyno.reason import Reason
from httpdyno.report.shared.message import text
from httpdyno.telemetry.observed import Counter
from httpdyno.telemetry.pool import Bound
from httpdyno.telemetry.profile.counters import Disk

BOUNDS: dict[Bound, str] = {
    "available": "MemAvailable and what it has",
    "control group": "the limit of its control group, less what others in it hold",
}
COUNTERS: dict[Counter, str] = {
    "status page": "the server's status page",
    "CPU time": "answers shared out by CPU time",
    "one worker": "answers, all of one worker",
}


def why_text(hidden: Reason) -> str:
    """Return why something may not be seen, without what it is."""
    why = hidden.params["why"]
    assert isinstance(why, Reason)  # noqa: S101 - as all that are hidden have it
    return text(why)


def unseen_disk(disk: Disk | None) -> str:
    """Return that reads and writes may not be seen, and why; empty where they may."""
    return f"reads and writes {why_text(disk.hidden)}" if disk and disk.hidden else ""
