"""Small pieces of sentences that all reports share."""

from collections.abc import Sequence

NOTHING = "–"
"""Stands where there is no figure."""


def plural(n: int, noun: str) -> str:
    """Return `1 start`, `6 starts`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def oxford(words: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
