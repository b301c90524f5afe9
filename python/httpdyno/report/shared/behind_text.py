"""Which servers a figure of another one is without, in words."""

from collections.abc import Sequence

from httpdyno.model import Behind


def behind_text(behind: Sequence[Behind]) -> str:
    """Return which servers behind it are no part of its processes; empty: none is known."""
    return ", ".join(
        f"{each.by} ({each.to})" if each.by else f"what answers at {each.to}" for each in behind
    )
