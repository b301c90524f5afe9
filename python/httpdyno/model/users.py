"""Who sends: virtual users with their visits, thoughts and cookies, and those on slow lines."""

from httpdyno.model.base import Record


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
