"""One load test with all that its reports need."""

from httpdyno.model.base import Record
from httpdyno.model.measurement import HostFacts, Measurement
from httpdyno.model.result import Caveat
from httpdyno.model.workload import RequestSpec, Workload


class LoadOutcome(Record, frozen=True):
    """What was asked of a server, where and when, and what came of it."""

    measurement: Measurement
    workload: Workload
    host: HostFacts
    requests: tuple[RequestSpec, ...] = ()
    """What was sent, where the workload does not say it: of a replay, what its log holds."""
    url: str = ""
    address: str = ""
    """Where it was connected to: `ip:port` or `unix:/path`."""
    began_at: str = ""
    """UTC, ISO 8601."""
    seed: int = 0
    threads: int = 1
    schedule_hash: str = ""
    """Two runs with the same one were offered the same requests at the same instants."""
    caveats: tuple[Caveat, ...] = ()
    """What the command knew to doubt, such as cores shared with the server."""
    fail_if: tuple[str, ...] = ()
    """Thresholds as they were typed: `p99 > 200ms`."""
    is_interrupted: bool = False
