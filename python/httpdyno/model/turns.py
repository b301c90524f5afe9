"""Servers that run already, loaded in turns: what each did, and what is claimed of them."""

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.behind import Behind
from httpdyno.model.host import HostFacts
from httpdyno.model.ratio import RatioInterval
from httpdyno.model.result import ArmSummary, ResultWarning, Verdict
from httpdyno.model.workload import Workload
from httpdyno.reason import Reason


class Instance(Record, frozen=True):
    """One running server, and what it did in its turns."""

    url: str
    address: str
    """`ip:port`."""
    summary: ArmSummary
    """Its configuration is empty: nobody knows it. A "start" in it is a period."""
    process: str = ""
    """The process that listens there, such as `nginx 812`; empty where that is not known."""
    behind: tuple[Behind, ...] = ()
    """Servers that its requests go on to, whose CPU time is in no figure."""


class TurnsClaim(Record, frozen=True):
    """What the periods prove of one instance against the first."""

    candidate: int
    """Index into the instances; the reference is the first one."""
    verdict: Verdict
    reasons: tuple[Reason, ...]
    """Why this verdict; what else bears on it."""
    n_periods: int
    ratios: dict[str, RatioInterval] = msgspec.field(default_factory=dict)
    """throughput, cpu_per_request, latency_p50 …: candidate over reference. All but that of the
    metric claim nothing, each has its own confidence."""
    per_period_ratio: tuple[float, ...] = ()
    """The metric's; (≤ n_periods,)."""
    needed_s: float | None = None
    """Load that a decision is expected to take in all; None where it is decided or out of sight."""


class TurnsOutcome(Record, frozen=True):
    """Everything that came out of loading running servers in turns."""

    instances: tuple[Instance, ...]
    claims: tuple[TurnsClaim, ...]
    """One for each instance but the first; (n_instances - 1,)."""
    metric: str
    """What decides: `throughput_per_s` or a latency's percentile."""
    confidence: float
    """That no claim is a wrong `better` or `worse`: each alone has a share of the risk."""
    margin_ratio: float
    """Differences within ±this are `equivalent`."""
    workload: Workload
    host: HostFacts
    began_at: str
    """UTC, ISO 8601."""
    duration_s: float
    n_periods: int
    """Whole ones: in each, every instance had a turn."""
    turn_s: float
    """The measured part of a turn."""
    seed: int
    threads: int
    warnings: tuple[ResultWarning, ...] = ()
    is_interrupted: bool = False
