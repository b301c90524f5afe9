"""Which servers a figure of another one is without, in words and as JSON."""

from collections.abc import Sequence

from httpdyno.model import Behind, Record


class BehindJson(Record, frozen=True):
    """A server that requests go on to, whose CPU time is in no figure."""

    to: str
    """`127.0.0.1:8000` or `unix:/run/shop.sock`."""
    by: str | None
    """Who serves it here, `gunicorn 812`; None where nobody here does who can be seen."""


def behind_text(behind: Sequence[Behind]) -> str:
    """Return which servers behind it are no part of its processes; empty: none is known."""
    return ", ".join(
        f"{each.by} ({each.to})" if each.by else f"what answers at {each.to}" for each in behind
    )


def behind_json(behind: Sequence[Behind]) -> list[BehindJson]:
    """Return them as every JSON has them."""
    return [BehindJson(to=each.to, by=each.by or None) for each in behind]
