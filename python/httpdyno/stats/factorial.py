"""The full design of two levels: effects, two-way interactions and simple effects, as contrasts.

Every combination of k knobs, each at its start or at its other level, runs in every start, so each
start gives one value of every contrast, and what all combinations of a start share falls out of it.
Combination number c has knob j at its other level where bit j of c is 1.

Where combinations are gone, a contrast is the mean over those of its smallest parts that are whole:
two combinations that differ in the knob alone, four that differ in both. Nothing is presumed of
what is gone; a contrast without any whole part is all zeros, and says nothing.

Source:
    Yates, The design and analysis of factorial experiments (1937); Box, Hunter and Hunter,
    Statistics for Experimenters (2nd edition, 2005), chapter 5. On the logarithm, so an effect is a
    ratio, and knobs that do not interact multiply.
"""

from collections.abc import Sequence, Set
from itertools import combinations

Weights = tuple[float, ...]
"""What a contrast takes of each combination; (2^k,)."""


NONE_GONE: frozenset[int] = frozenset()


def effect(
    n_knobs: int, knob: int, given: int | None = None, *, at: int = 0, gone: Set[int] = NONE_GONE
) -> Weights:
    """Return what a knob changes, on the mean over all combinations of the others.

    Where another knob is `given`, it is the simple effect: with that one at its start (0) or its
    other level (1).

    Args:
        n_knobs: Of the design.
        knob: Its number.
        given: Of another one.
        at: The other one's level.
        gone: Combinations without a figure.
    """
    flip = 1 << knob
    used = [
        (given is None or _bit(cell, given) == at) and not {cell, cell ^ flip} & gone
        for cell in range(2**n_knobs)
    ]
    return _mean(used, [1 if cell & flip else -1 for cell in range(2**n_knobs)], n_each=2)


def interaction(n_knobs: int, one: int, other: int, *, gone: Set[int] = NONE_GONE) -> Weights:
    """Return by what a knob's effect is larger with the other knob than without it.

    It is the same the other way round.
    """
    cells = range(2**n_knobs)
    used = [not square(cell, one, other) & gone for cell in cells]
    signs = [1 if _bit(cell, one) == _bit(cell, other) else -1 for cell in cells]
    return _mean(used, signs, n_each=4)


def square(cell: int, one: int, other: int) -> frozenset[int]:
    """Return the four combinations that differ from this one in no knob but these two."""
    flips = 1 << one, 1 << other
    return frozenset({cell, cell ^ flips[0], cell ^ flips[1], cell ^ flips[0] ^ flips[1]})


def squares_gone(n_knobs: int, one: int, other: int, gone: Set[int]) -> frozenset[int]:
    """Return the combinations that take no part in an interaction; those gone where none does.

    Simple effects without them are of the same combinations as the interaction, which is their
    quotient.
    """
    cells = range(2**n_knobs)
    broken = frozenset(cell for cell in cells if square(cell, one, other) & gone)
    return frozenset(gone) if len(broken) == len(cells) else broken


def n_parts(weights: Weights, n_knobs_of: int) -> int:
    """Return over how many smallest parts a contrast of one or two knobs is the mean."""
    return sum(weight != 0 for weight in weights) // (1 << n_knobs_of)


def _mean(used: Sequence[bool], signs: Sequence[int], *, n_each: int) -> Weights:
    weight = n_each / max(1, sum(used))
    return tuple(
        weight * sign if is_used else 0.0 for is_used, sign in zip(used, signs, strict=True)
    )


def pairs(n_knobs: int) -> list[tuple[int, int]]:
    """Return all pairs of knobs."""
    return list(combinations(range(n_knobs), 2))


def contrast(weights: Weights, logs: Sequence[float]) -> float:
    """Return one start's value of a contrast.

    Args:
        weights: Of the contrast.
        logs: The logarithm of each combination's figure, whatever where one is gone; (2^k,).
    """
    return sum(weight * value for weight, value in zip(weights, logs, strict=True))


def risk_of_each(n_knobs: int, risk: float) -> tuple[float, float]:
    """Return the risk of each effect or interaction, and of each simple effect.

    All intervals hold together with 1 − `risk`, whatever they have in common (Bonferroni): one half
    is for the k effects and the interactions of all pairs, the other for the four simple effects of
    each pair.
    """
    n_pairs = len(pairs(n_knobs))
    return risk / 2 / (n_knobs + n_pairs), risk / 2 / (4 * n_pairs)


def _bit(cell: int, knob: int) -> int:
    return cell >> knob & 1
