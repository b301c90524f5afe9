"""The full design of two levels: effects, two-way interactions and simple effects, as contrasts.

Every combination of k knobs, each at its start or at its other level, runs in every start, so each
start gives one value of every contrast, and what all combinations of a start share falls out of it.
Combination number c has knob j at its other level where bit j of c is 1.

Source:
    Yates, The design and analysis of factorial experiments (1937); Box, Hunter and Hunter,
    Statistics for Experimenters (2nd edition, 2005), chapter 5. On the logarithm, so an effect is a
    ratio, and knobs that do not interact multiply.
"""

from collections.abc import Sequence
from itertools import combinations

Weights = tuple[float, ...]
"""What a contrast takes of each combination; (2^k,)."""


def effect(n_knobs: int, knob: int, given: int | None = None, *, at: int = 0) -> Weights:
    """Return what a knob changes, on the mean over all combinations of the others.

    Where another knob is `given`, it is the simple effect: with that one at its start (0) or its
    other level (1).
    """
    cells = range(2**n_knobs)
    used = [given is None or _bit(cell, given) == at for cell in cells]
    weight = 2 / sum(used)
    return tuple((weight if _bit(cell, knob) else -weight) if used[cell] else 0.0 for cell in cells)


def interaction(n_knobs: int, one: int, other: int) -> Weights:
    """Return by what a knob's effect is larger with the other knob than without it.

    It is the same the other way round.
    """
    weight = 4 / 2**n_knobs
    return tuple(
        weight if _bit(cell, one) == _bit(cell, other) else -weight for cell in range(2**n_knobs)
    )


def pairs(n_knobs: int) -> list[tuple[int, int]]:
    """Return all pairs of knobs."""
    return list(combinations(range(n_knobs), 2))


def contrast(weights: Weights, logs: Sequence[float]) -> float:
    """Return one start's value of a contrast.

    Args:
        weights: Of the contrast.
        logs: The logarithm of each combination's figure; (2^k,).
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
