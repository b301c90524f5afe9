"""Where and how to measure: cores, folders, sizes."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = REPOSITORY / "target" / "bench"
"""Competitors that no Debian package has are built here; git ignores it."""
PAIRS = 20
"""On a machine with neighbours the ratio of one pair scatters by an eighth: with eight of them the
interval of the mean is as wide as what is to be shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What all figures share."""

    server_cpu: int
    client_cpu: int
    pairs: int = PAIRS
    """Interleaved pairs of a ratio."""
    run_s: float = 3.0
    """Each run of a pair."""
    is_quick: bool = False
    """Everything small: to see that it works, not to believe the numbers."""
    has_competitors: bool = False
    """Measure competitors also where a figure does not need them."""
    scratch: Path = field(default_factory=Path)
    """For files that go again."""
    engine: Path = REPOSITORY
    """The checkout whose engine is loaded with."""

    @property
    def shares_core(self) -> bool:
        """Whether client and server have to share a core."""
        return self.client_cpu == self.server_cpu

    def sized(self, full: int, quick: int) -> int:
        """Return how many, by `--quick`."""
        return quick if self.is_quick else full

    def lasting(self, full_s: float, quick_s: float) -> float:
        """Return how long, by `--quick`."""
        return quick_s if self.is_quick else full_s


def cores() -> tuple[int, int]:
    """Return the server's and the client's core: the first and the last that we may use."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]


def machine() -> dict[str, Any]:
    """Return what the numbers depend on and do not say themselves."""
    cpuinfo = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2] for line in cpuinfo if line.startswith("model name")), "")
    return {
        "kernel": os.uname().release,
        "cpu": model.strip(),
        "n_cpus": os.cpu_count(),
        "load_average": os.getloadavg(),
    }
