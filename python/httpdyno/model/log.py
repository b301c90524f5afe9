"""What a server said in its error log while it was loaded."""

from typing import Literal

from httpdyno.model.base import Record

LogLevel = Literal["critical", "error", "warning", "note", ""]
"""How bad a line is by its own word; empty where it has none."""


class LogKind(Record, frozen=True, omit_defaults=True):
    """Lines that say the same, but for numbers and what stands in quotes."""

    form: str
    """What they have in common: without time, level and process, `#` for numbers; shortened."""
    example: str
    """The first of them, shortened; what would steer a terminal is written out."""
    count: int
    n_starts: int = 1
    """How many starts had one."""
    level: LogLevel = ""


class LogLines(Record, frozen=True, omit_defaults=True):
    """What came into the error logs of a server from when it was ready to the end of its load."""

    n_lines: int
    """Of all kinds, without those that are indented, since they go on with one before."""
    n_starts: int = 1
    """Whose logs these are."""
    kinds: tuple[LogKind, ...] = ()
    """The worst first, then the most frequent; a few."""
    unread_bytes: int = 0
    """Of logs that grew too much: their middle, and what differs too much to be told apart. Where
    it is not 0, of a kind there are at least so many."""
