"""Small pieces of sentences that all reports share."""

import math
from collections.abc import Sequence

from httpdyno.units import format_guess

NOTHING = "–"
"""Stands where there is no figure."""


def plural(n: int, noun: str) -> str:
    """Return `1 start`, `6 starts`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def confidence_percent(confidence: float) -> str:
    """Return `95 %`; what has more than two decimals is cut off, so that it is never said higher.

    Shares of a risk have such: a third of 5 % leaves 98.33 %.
    """
    # A float that stands for two decimals may lie a hair below them.
    return f"{math.floor(confidence * _HUNDREDTHS + _HAIR) / 100:g} %"


_HUNDREDTHS = 1e4
_HAIR = 1e-6


def oxford(words: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def capital(text: str) -> str:
    """Return the words with a capital first."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Return the words as a sentence; names such as p99 keep their small letter."""
    return f"{capital(text) if text[1:2].isalpha() else text}."


_DAY_S = 86_400.0


def age_text(seconds: float) -> str:
    """Return how long ago something began: `2 h`, from two days on in days."""
    if seconds >= 2 * _DAY_S:
        return plural(int(seconds / _DAY_S), "day")
    return format_guess(seconds)
