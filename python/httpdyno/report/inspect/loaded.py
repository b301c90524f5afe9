"""What was seen of a server while it was loaded, as it is shown. Pure, and without arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from httpdyno.advice.curve import ConfiguredLife, Growth, HighWater, LifeRow, joint_life
from httpdyno.advice.rules.facts import Measured
from httpdyno.model import Behind, Bottleneck, LogLines, Look, Respawn
from httpdyno.telemetry.observed import UnderLoad


@dataclass(frozen=True, kw_only=True, slots=True)
class Times:
    """What answers took the client; None of what so few answers do not tell."""

    p50_s: float | None
    p99_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """A load, the looks beside it, and what they come to."""

    urls: tuple[str, ...]
    seconds: float
    connections: int
    n_completed: int
    n_errors: int
    seen: UnderLoad
    growth: Growth
    latency: Times | None = None
    """From a request's turn to its whole answer."""
    service_time: Times | None = None
    """From when it was sent: connecting is not in it."""
    logs: tuple[str, ...] = ()
    """Files that it writes its errors to; empty where none is known."""
    log: LogLines | None = None
    """What came into them meanwhile; None where none can be read."""
    high_water: tuple[HighWater, ...] = ()
    """Of each URL, where several were named."""
    lives: tuple[LifeRow, ...] = ()
    """Empty where workers' curve, or memory, is not known."""
    respawn: Respawn | None = None
    """What a request and a birth take; None where no rates were given."""
    configured: tuple[ConfiguredLife, ...] = ()
    """How long its settings let a worker live; empty where that is not known."""
    served: Mapping[int, int] = field(default_factory=dict)
    """Requests by worker since it began, by its pid, at the end; empty where no page says so."""
    room_bytes: int = 0
    """For the pool, for `lives`, the reserve taken off."""
    reserve_bytes: int = 0
    look: Look | None = None
    """Of what its workers were at; None where the load was over too soon for any."""
    bottleneck: Bottleneck | None = None
    """What that says."""
    behind: tuple[Behind, ...] = ()
    """Servers that its requests go on to, whose CPU time is in no figure."""

    @property
    def cpu_s_per_request(self) -> float | None:
        """CPU time of the server's processes for a right answer; None where it is not known.

        What errors took is in it, as in studies.
        """
        used_s = self.seen.cpu_s
        return used_s / self.n_completed if used_s is not None and self.n_completed else None

    @property
    def measured(self) -> Measured:
        """What rules may know of it."""
        return Measured(growth=self.growth, lives=self.lives, respawn=self.respawn)

    @property
    def joint(self) -> LifeRow | None:
        """How long workers should live, and how many; None where that cannot be told."""
        return joint_life(self.lives)
