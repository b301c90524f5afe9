"""How long workers live and how many there are, as one answer. Pure, and without arrays.

A longer life is a larger worker, so fewer fit; a shorter one costs more births. Taken are the most
workers that fit of lives whose births cost no more than a stated share of the rate. Where a longer
life has nearly as many, it is taken: what it costs in memory is less than anybody could tell.
"""

import math
from collections.abc import Iterable

from httpdyno.advice.curve.finding import LifeRow
from httpdyno.model import Respawn

MOST_LOST_RATIO = 0.05
"""Of the rate: what respawning may cost."""
ALIKE_RATIO = 0.02
"""So many workers fewer are as many."""


def shortest_life(cost: Respawn) -> int:
    """Return after how many requests respawning costs no more than it may, in two digits."""
    n = cost.spawn_s / cost.serve_s * (1 - MOST_LOST_RATIO) / MOST_LOST_RATIO
    unit: int = 10 ** max(0, math.floor(math.log10(max(1.0, n))) - 1)
    return max(1, math.ceil(n / unit) * unit)


def joint_life(rows: Iterable[LifeRow]) -> LifeRow | None:
    """Return the row that answers both questions.

    None where what respawning costs is not known, where nothing bounds how many workers fit, or
    where none does.
    """
    able = [
        (row.n_workers, row)
        for row in rows
        if row.n_workers and row.kept_ratio is not None and row.kept_ratio >= 1 - MOST_LOST_RATIO
    ]
    most = max((n for n, _ in able), default=0)
    alike = [row for n, row in able if n >= (1 - ALIKE_RATIO) * most]
    return max(alike, key=_length, default=None)


def _length(row: LifeRow) -> float:
    return math.inf if row.n_requests is None else row.n_requests
