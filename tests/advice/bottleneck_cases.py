"""Looks at servers whose limit is known, of real runs: `python -m benches.bottlenecks --dump`.

They are in `looks.jsonl`: one of each built bottleneck, and healthy ones.
"""

from benches.bottlenecks.kept import Kept, kept_looks

KEPT: tuple[Kept, ...] = kept_looks()
BUILT = tuple(each for each in KEPT if not each.is_healthy)
HEALTHY = tuple(each for each in KEPT if each.is_healthy)
