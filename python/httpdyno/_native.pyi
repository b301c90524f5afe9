"""The compiled load engine. Only `httpdyno.load` may import it.

Every field is required: defaults live in `httpdyno.model` and `httpdyno.load`. Times given are
seconds; times returned in `*_ns` are CLOCK_MONOTONIC nanoseconds, comparable with
`time.monotonic_ns()`.
"""

from collections.abc import Callable
from typing import final

__all__ = [
    "ERROR_KINDS",
    "Arm",
    "EngineError",
    "Histogram",
    "LoadRun",
    "LoadSpec",
    "Request",
    "Window",
    "WindowResult",
    "__version__",
    "start",
]

__version__: str

ERROR_KINDS: tuple[str, ...]
"""The names of the kinds of error, the keys that `WindowResult.errors` may have."""

class EngineError(Exception):
    """The engine cannot run: a wrong argument or a failing system call, said in one sentence."""

@final
class Request:
    """One request, rendered once to bytes, and what a right answer to it looks like."""

    def __new__(
        cls,
        *,
        method: str,
        target: str,
        headers: list[tuple[str, str]],
        body: bytes,
        expect_status: int,
        expect_length: int | None,
    ) -> Request:
        """`headers` must hold Host; Content-Length is added for a body, Connection as needed.

        `expect_status` 0 accepts any 2xx or 3xx; `expect_length` is the body's bytes, decoded.
        """

@final
class Arm:
    """A server to load: `address` is `ip:port`; requests are sent in turn."""

    def __new__(cls, *, address: str, requests: list[Request]) -> Arm: ...

@final
class Window:
    """A stretch of load on one arm.

    The arm is loaded for `lead_in_s`, then measured for `measure_s` or until `n_requests` were
    offered (0: no such limit), then nothing new is sent and what is in flight is waited for.
    """

    def __new__(
        cls, *, arm: int, lead_in_s: float, measure_s: float, n_requests: int
    ) -> Window: ...

@final
class LoadSpec:
    """All of a run. `rate_per_s` 0 is closed loop; else open loop at that constant rate."""

    def __new__(
        cls,
        *,
        arms: list[Arm],
        windows: list[Window],
        connections: int,
        keep_alive: bool,
        rate_per_s: float,
        timeout_s: float,
        drain_s: float,
        threads: int,
        cpus: list[int],
        seed: int,
        spin_s: float,
    ) -> LoadSpec:
        """`drain_s` bounds the wait for answers at a window's end; `cpus` pins threads, if any."""

@final
class Histogram:
    """Counts over log-linear buckets of nanoseconds (three significant digits)."""

    @property
    def count(self) -> int: ...
    @property
    def sum_s(self) -> float: ...
    @property
    def max_s(self) -> float:
        """The largest value, exact; 0 when empty."""
    def buckets(self) -> tuple[list[int], list[int]]:
        """Upper bounds in nanoseconds of the buckets that are not empty, and their counts."""

@final
class WindowResult:
    """What one window saw. `offered == completed + sum(errors.values())`, always."""

    @property
    def index(self) -> int: ...
    @property
    def arm(self) -> int: ...
    @property
    def opened_ns(self) -> int: ...
    @property
    def measure_start_ns(self) -> int: ...
    @property
    def measure_end_ns(self) -> int: ...
    @property
    def closed_ns(self) -> int: ...
    @property
    def offered(self) -> int:
        """Requests of the whole window, lead-in and drain included."""
    @property
    def completed(self) -> int: ...
    @property
    def errors(self) -> dict[str, int]: ...
    @property
    def statuses(self) -> dict[int, int]: ...
    @property
    def measured_offered(self) -> int:
        """Requests due (open loop) or sent (closed loop) in the measured part."""
    @property
    def measured_completed(self) -> int:
        """Right answers that arrived in the measured part, whenever they were sent."""
    @property
    def measured_errors(self) -> int:
        """Requests of `measured_offered` that failed, whenever that was."""
    @property
    def connects(self) -> int: ...
    @property
    def bytes_sent(self) -> int: ...
    @property
    def bytes_received(self) -> int: ...
    @property
    def latency(self) -> Histogram:
        """Of requests due in the measured part: completed ones, and timeouts at their age."""
    @property
    def service_time(self) -> Histogram: ...
    @property
    def lateness(self) -> Histogram:
        """Sent - due of the same requests, unsent ones at their age; empty in a closed loop."""
    @property
    def series_interval_s(self) -> float: ...
    @property
    def series_completed(self) -> list[int]:
        """Right answers in each interval from `opened_ns` on; (n_intervals,)."""
    @property
    def series_errors(self) -> list[int]: ...
    @property
    def series_latency_max_s(self) -> list[float]: ...
    @property
    def client_cpu_s(self) -> float: ...
    @property
    def busy_connection_s(self) -> float:
        """Time integral of requests in flight over the measured part, for Little's law."""
    @property
    def limited_by(self) -> str:
        """server, rate, client_cpu, client_schedule, connections, descriptors or ports."""
    @property
    def evidence(self) -> dict[str, float]:
        """The figures that `limited_by` rests on."""

@final
class LoadRun:
    """A run under way on its own threads."""

    def wait(self, timeout_s: float) -> bool:
        """Wait with the interpreter released; True when the run is over.

        Raises what `on_edge` raised, or EngineError when the engine failed.
        """
    def stop(self) -> None:
        """Send nothing more, count what is in flight as `unfinished`, end soon. Idempotent."""
    def results(self) -> list[WindowResult]:
        """The windows that ended so far, in order."""

def start(spec: LoadSpec, on_edge: Callable[[int, bool], None] | None) -> LoadRun:
    """Check the spec and start the run.

    `on_edge(window_index, is_opening)` is called before a window's first request and after its
    last answer, when nothing is in flight and every thread waits.
    """
