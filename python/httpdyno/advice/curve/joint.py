"""How long workers live and how many there are, as one answer. Pure, and without arrays."""

import math

from httpdyno.model import Respawn

MOST_LOST_RATIO = 0.05
"""Of the rate: what respawning may cost."""


def shortest_life(cost: Respawn) -> int:
    """Return after how many requests respawning costs no more than it may, in two digits."""
    n = cost.spawn_s / cost.serve_s * (1 - MOST_LOST_RATIO) / MOST_LOST_RATIO
    unit: int = 10 ** max(0, math.floor(math.log10(max(1.0, n))) - 1)
    return max(1, math.ceil(n / unit) * unit)
