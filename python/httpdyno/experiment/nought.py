"""Figures that may be nought, of which there is then no ratio, and why, in words; pure.

A start in which an arm has none has no logarithm: an interval of the others would be of those that
came out otherwise.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_PAIR = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class NoughtWords:
    """How one kind of figure is spoken of where it is nought."""

    none: str
    """That no arm has any in any start."""
    some: str
    """That some have none, where they are not two."""
    figure: Callable[[str, float], str]
    """What an arm of this name has in the mean."""
    what: str
    """Follows the figures of two arms: what they are of."""
    one_none: str = "one of them none"
    """That in so many starts one of the two has none."""


def nought_words(
    figures: Sequence[Sequence[float | None]], names: Sequence[str], words: NoughtWords
) -> str:
    """Return why figures make no ratio; empty where they do.

    Args:
        figures: Those of each arm, None where it is not known; (n_arms, n_starts).
        names: Of the arms; (n_arms,), or empty where nobody is to be named.
        words: For them.
    """
    known = [[each for each in of_arm if each is not None] for of_arm in figures]
    every = [each for of_arm in known for each in of_arm]
    if all(every):
        return ""
    if not any(every):
        return f"{words.none}, so there is no ratio of them"
    named = [*zip(names, known, strict=True)] if names else []
    if len(named) != _PAIR:
        without = ", ".join(name for name, each in named if not all(each))
        those = f" (those with {without})" if without else ""
        return f"{words.some}{those}, so there is no ratio to them"
    means = [words.figure(name, math.fsum(each) / len(each)) for name, each in named if each]
    in_starts = [*zip(*figures, strict=True)]
    n_none = sum(any(each == 0 for each in start) for start in in_starts)
    return (
        f"{' and '.join(means)} {words.what}, and in {n_none} of {len(in_starts)} starts "
        f"{words.one_none}, so there is no ratio of them"
    )
