"""Who sends: virtual users with their visits, thoughts and cookies, and those on slow lines."""

from httpdyno.errors import UsageError
from httpdyno.model.base import Record
from httpdyno.units import bandwidth_bytes_per_s, share_ratio


class Visit(Record, frozen=True):
    """How many steps (requests or pages) a user takes before it leaves."""

    mean_steps: float = 1.0
    is_geometric: bool = False
    """Drawn anew for each visit, with that mean; else each visit has just so many."""


class Think(Record, frozen=True):
    """The pause between a user's steps, after the answer to the one and before the next."""

    mean_s: float = 0.0
    is_exponential: bool = False
    """Drawn anew for each pause, with that mean; else each pause is just so long."""


class Users(Record, frozen=True):
    """What the users are like."""

    has_cookies: bool = False
    """Each user keeps the cookies it gets, and sends them back."""
    new_ratio: float = 0.0
    """Of visits: by users that come for the first time, without cookies."""
    n_returning: int = 1
    """Open loop and sessions: how many users there are to come again."""
    visit: Visit = Visit()
    think: Think = Think()


class SlowUsers(Record, frozen=True):
    """Some of the connections, limited as by a slow line, both ways."""

    ratio: float
    """Of connections."""
    bytes_per_s: float
    receive_buffer_bytes: int = 4096
    """The socket's: what a server can send ahead of the reader."""


def slow_users(line: str) -> SlowUsers:
    """Return the users on a line such as `28.8kbit:20%`, which without a share are all of them.

    Raises:
        UsageError: It is no line with a share, or slows nobody.
    """
    bandwidth, colon, share = line.partition(":")
    slow = SlowUsers(
        ratio=share_ratio(share) if colon else 1.0,
        bytes_per_s=bandwidth_bytes_per_s(bandwidth),
    )
    if slow.bytes_per_s <= 0 or slow.ratio <= 0:  # for the engine: no limit, nobody
        raise UsageError(f"the line `{line}` slows nobody", hint="Such as `28.8kbit:20%`.")
    return slow
