"""What reasons are shown as, for tests that look at the words."""

from collections.abc import Sequence

from httpdyno.reason import Reason
from httpdyno.report.shared import message


def words(reason: Reason | None) -> str:
    """Return a reason's sentence; empty where there is none."""
    return message.text(reason) if reason else ""


def joined(reasons: Sequence[Reason | str]) -> str:
    """Return several as one."""
    return message.joined(reasons)
