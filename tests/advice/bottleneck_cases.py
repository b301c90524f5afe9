"""Looks at servers whose limit is known, of real runs: `python -m benches.bottlenecks --dump`.

They are in `looks.jsonl`: one of each built bottleneck, and healthy ones. Two more are made up, for
tests to change.
"""

from benches.bottlenecks.kept import Kept, kept_looks

from httpdyno.model import Look

KEPT: tuple[Kept, ...] = kept_looks()
BUILT = tuple(each for each in KEPT if not each.is_healthy)
HEALTHY = tuple(each for each in KEPT if each.is_healthy)
LOOKED_AT = tuple(each for each in KEPT if each.look is not None)

STARVED = Look(
    seconds=1.0,
    n_samples=20,
    workers=4.0,
    doing={"sleep": 4.0},
    cpu_s=0.1,
    cpus=2.0,
    host_cpus=2,
    host_busy=0.3,
    answers=400.0,
    clients=16.0,
    client_limit="server",
)
"""Four workers that sleep, for whom requests wait while cores are left."""
BEHIND = Look(
    seconds=1.0,
    n_samples=20,
    workers=8.0,
    doing={"client_read": 6.7, "idle": 1.3},
    cpu_s=0.1,
    cpus=1.0,
    host_cpus=2,
    host_busy=1.1,
    answers=350.0,
    clients=7.8,
    client_cpu_s=1.0,
    client_lost_ratio=0.0,
    client_limit="client_cpu",
)
"""Most of eight workers wait for a load client that has no CPU left."""
