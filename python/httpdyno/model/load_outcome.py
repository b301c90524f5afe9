"""One load test with all that its reports need, and how it stands while it runs."""

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.behind import Behind
from httpdyno.model.host import HostFacts
from httpdyno.model.look import Bottleneck, Look
from httpdyno.model.measurement import NO_VALUES, HistogramData, Measurement
from httpdyno.model.workload import RequestSpec, Workload
from httpdyno.reason import Reason


class ReplayedLog(Record, frozen=True):
    """What an access log held, and how much of it could be sent again."""

    n_lines: int
    """Blank ones left out."""
    n_malformed: int = 0
    first_malformed: int = 0
    """Its number, from 1; 0 is none."""
    left_out: dict[str, int] = msgspec.field(default_factory=dict)
    """Requests by methods that were not asked for."""
    is_whole_seconds: bool = True
    """Whether the log knows the second only."""


class LoadOutcome(Record, frozen=True):
    """What was asked of a server, where and when, and what came of it."""

    measurement: Measurement
    workload: Workload
    host: HostFacts
    entrance: Measurement | None = None
    """What the users' first steps came to, which are not in the measurement."""
    requests: tuple[RequestSpec, ...] = ()
    """What was sent, where the workload does not say it: of a replay, what its log holds."""
    url: str = ""
    address: str = ""
    """Where it was connected to: `ip:port` or `unix:/path`."""
    addresses: tuple[str, ...] = ()
    """Of a name that has several: all of them, in the order in which they were tried."""
    began_at: str = ""
    """UTC, ISO 8601."""
    seed: int = 0
    threads: int = 1
    warm_up_s: float = 0.0
    """How long the same load was sent before it was measured."""
    schedule_hash: str = ""
    """Two runs with the same one were offered the same requests at the same instants."""
    log: ReplayedLog | None = None
    """Of a replay."""
    fail_if: tuple[str, ...] = ()
    """Thresholds as they were typed: `p99 > 200ms`."""
    is_interrupted: bool = False
    look: Look | None = None
    """Of the server, under more of the same load when all was measured; None: nobody looked."""
    bottleneck: Bottleneck | None = None
    """What that says of its limit."""
    not_looked: Reason | None = None
    """Why nobody looked, where that should be known."""
    behind: tuple[Behind, ...] = ()
    """Of a server that was looked at, those that its requests go on to: their CPU time is in no
    figure."""


class LiveLoad(Record, frozen=True):
    """A window so far, while it runs."""

    elapsed_s: float
    offered: int
    completed: int
    errors: int
    in_flight: int
    latency: HistogramData = NO_VALUES
    """Since the window began, two significant digits."""
