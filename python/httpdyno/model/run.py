"""A stored run in one line, as lists have it, and one that somebody is at."""

from typing import Literal

from httpdyno.model.base import Record
from httpdyno.model.knob import Configuration
from httpdyno.model.result import Verdict

RunStatus = Literal["running", "complete", "interrupted", "failed"]


class RunSummary(Record, frozen=True):
    """One run, without its evidence."""

    id: str
    study: str
    """Its name; of a run without a study, what was loaded."""
    command: str
    """`tune`, `compare` …; `load` for a load test, `turns` for running servers."""
    status: RunStatus
    """`interrupted` also when its process died without saying so."""
    began_at: str
    """UTC, ISO 8601."""
    duration_s: float
    """Until it ended; for a run without an end, until the last window that it stored."""
    n_starts: int = 0
    n_windows: int = 0
    metric: str = ""
    verdict: Verdict | None = None
    """Of the final comparison: the best configuration against the one at the start."""
    ratio: float | None = None
    """Of the deciding metric, final over start; None where there is no final comparison."""
    ratio_low: float | None = None
    ratio_high: float | None = None
    headline: str = ""
    """What was found, of what is stored whole: a load test, a comparison of running servers."""


class RootProcess(Record, frozen=True):
    """A process that a server began as, named so that no later one is mistaken for it."""

    pid: int
    start_ticks: int
    """Field 22 of `/proc/PID/stat`: clock ticks from boot to the start of the process."""


class StartServers(Record, frozen=True):
    """The servers of a start that is measured, while they are up."""

    roots: tuple[tuple[RootProcess, ...], ...]
    """What each arm's server began as; (n_arms,), none of an arm that was not spawned."""


class LatencySoFar(Record, frozen=True):
    """Latencies of all windows of an arm in one start together; of a few they prove nothing."""

    n_requests: int
    """That it rests on: those answered, and those given up at the age at which they were."""
    p50_s: float | None = None
    p99_s: float | None = None
    """Either is None where too few requests lie beyond it: see `stats.histogram.can_show`."""
    is_p50_lower_bound: bool = False
    """Whether it would be more had requests that never ended gone on; so is the next one."""
    is_p99_lower_bound: bool = False


class PoolMemory(Record, frozen=True):
    """What the processes of a server took at the end of its last window in a start."""

    start: int
    """Which start of the comparison that was."""
    pss_bytes: int
    """Of all, shared pages counted once."""
    uss_bytes: int | None = None
    """Of all what only one process has."""


class ArmUnderWay(Record, frozen=True):
    """One arm of a start that is measured, with what is stored of it so far."""

    configuration: Configuration
    n_windows: int = 0
    throughput_per_s: float | None = None
    """The mean of its windows, as the next one; None before the first of them."""
    cpu_s_per_request: float | None = None
    """None also where the server's processes may not be looked at."""
    n_errors: int = 0
    """In all of them."""
    latency: LatencySoFar | None = None
    """None as long as none is known."""
    memory: PoolMemory | None = None
    """Of this start where its last window has ended, or else of the last complete start of the same
    comparison; None where neither has it. It is read once in a start: see `telemetry.followed`."""
    roots: tuple[RootProcess, ...] = ()
    """What its server began as, on the run's host; none before it is spawned."""


class StartUnderWay(Record, frozen=True):
    """One start that is measured now; several may be, side by side."""

    comparison: int
    start: int
    stage: str
    """What it is measured for: `calibration`, `step 2 of 5`, `final`."""
    began_at: str
    """UTC, ISO 8601."""
    arms: tuple[ArmUnderWay, ...] = ()


class RunUnderWay(Record, frozen=True):
    """A run of a study that a process is at, and what is known of it so far."""

    id: str
    study: str
    command: str
    began_at: str
    """UTC, ISO 8601."""
    pid: int
    """Of the process that is at it."""
    host: str
    """Where that runs: not on this machine where several share a database."""
    n_starts: int = 0
    """Those that are complete."""
    n_windows: int = 0
    last_saved_at: str = ""
    """When the last window was stored; empty before the first."""
    starts: tuple[StartUnderWay, ...] = ()
    """Those that are measured now; none between two of them."""
