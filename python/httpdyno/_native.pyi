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
    "Arrival",
    "Batches",
    "EngineError",
    "Histogram",
    "Live",
    "LoadRun",
    "LoadSpec",
    "Pages",
    "Part",
    "Request",
    "Slow",
    "Tls",
    "Trace",
    "Users",
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
    """One request, and what a right answer to it looks like.

    Target, header values and body may hold `{n}`, `{user}` and `{random}`.
    """

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
class Tls:
    """How to speak TLS. Certificates and keys are PEM."""

    def __new__(
        cls,
        *,
        server_name: str,
        roots_pem: bytes | None,
        identity_pem: tuple[bytes, bytes] | None,
        is_verified: bool,
        versions: str,
        resumes: bool,
    ) -> Tls:
        """`roots_pem` None trusts whom the system trusts; `identity_pem` is chain and key.

        `versions` is `any`, `1.2` or `1.3`.
        """
    def check(self) -> None:
        """Refuse what cannot work, such as a key of another certificate; connects to nothing.

        Raises EngineError with the sentence that says what.
        """

@final
class Arm:
    """A server to load: `address` is `ip:port`, `[ip]:port` or `unix:/path`."""

    def __new__(
        cls,
        *,
        address: str,
        tls: Tls | None,
        requests: list[Request],
        steps: list[tuple[float, int, list[int]]],
        connections_per_page: int,
    ) -> Arm:
        """`steps` are (weight, index of the request or document, indices of a page's objects).

        With equal weights steps are sent in turn, else drawn.
        """

@final
class Window:
    """A stretch of load on one arm.

    The arm is loaded for `lead_in_s`, then measured for `measure_s` or until `n_requests` steps
    were offered (0: no such limit), then nothing new is sent and what is in flight is waited for.
    With sessions `n_requests` counts visits. `credit` is (spread_s, tail_s): the users of a closed
    loop begin within `spread_s`, before the lead-in; the load goes on for at most `tail_s` after
    the measured part until every user has begun another step, and cycles are counted.
    """

    def __new__(
        cls,
        *,
        arm: int,
        lead_in_s: float,
        measure_s: float,
        n_requests: int,
        credit: tuple[float, float] | None,
    ) -> Window: ...

@final
class Arrival:
    """When requests are sent. A stage is (seconds, rate at its beginning, rate at its end)."""

    @staticmethod
    def closed() -> Arrival: ...
    @staticmethod
    def open(*, stages: list[tuple[float, float, float]], is_poisson: bool) -> Arrival: ...
    @staticmethod
    def sessions(*, stages: list[tuple[float, float, float]]) -> Arrival: ...
    @staticmethod
    def replay(*, offsets_ns: list[int], steps: list[int]) -> Arrival:
        """`offsets_ns` ascend from the opening of the window; `steps` are indices; (n,) both."""

@final
class Users:
    """The users behind the requests."""

    def __new__(
        cls,
        *,
        has_cookies: bool,
        new_ratio: float,
        n_returning: int,
        visit_steps: float,
        is_visit_geometric: bool,
        think_s: float,
        is_think_exponential: bool,
    ) -> Users:
        """`new_ratio` of the visits are by new users; `visit_steps` is a mean if geometric."""

@final
class Slow:
    """Users whose line is slow, both ways: a part of them, bytes per second, socket buffer."""

    def __new__(cls, *, ratio: float, bytes_per_s: float, receive_buffer_bytes: int) -> Slow: ...

@final
class LoadSpec:
    """All of a run."""

    def __new__(
        cls,
        *,
        arms: list[Arm],
        windows: list[Window],
        connections: int,
        arrival: Arrival,
        users: Users,
        requests_per_connection: int,
        connections_per_s: float,
        slow: Slow | None,
        timeout_s: float,
        drain_s: float,
        threads: int,
        cpus: list[int],
        seed: int,
        spin_s: float,
        n_traced: int,
    ) -> LoadSpec:
        """`connections` are the users of a closed loop, else the most connections at a time.

        `drain_s` bounds the wait for answers at a window's end; `cpus` pins threads, if any. Of
        each window the instants of the first `n_traced` measured requests are kept.
        """
    @property
    def schedule_hash(self) -> int:
        """For the provenance: the same for the same arrivals, seed and mix."""

@final
class Histogram:
    """Counts over log-linear buckets of nanoseconds.

    Latency, service time and lateness have three significant digits, all others two; count, sum
    and maximum are exact.
    """

    @property
    def count(self) -> int: ...
    @property
    def sum_ns(self) -> int: ...
    @property
    def sum_s(self) -> float: ...
    @property
    def max_s(self) -> float:
        """The largest value, exact; 0 when empty."""
    def buckets(self) -> tuple[list[int], list[int]]:
        """Upper bounds in nanoseconds of the buckets that are not empty, and their counts."""

@final
class Part:
    """The part that some of the measured requests have: those of an index, or of a population.

    `offered == completed + sum(errors.values())`. Here a request counts as completed when it
    belongs to the measured part and was answered right, however late that was.
    """

    @property
    def offered(self) -> int: ...
    @property
    def completed(self) -> int: ...
    @property
    def errors(self) -> dict[str, int]: ...
    @property
    def bytes_received(self) -> int:
        """Of the whole window; 0 in a part by request, where it is not counted."""
    @property
    def latency(self) -> Histogram | None:
        """As in `WindowResult.latency`; None for requests of index 64 and above."""

@final
class Pages:
    """Pages of the measured part: `offered == completed + failed`."""

    @property
    def offered(self) -> int: ...
    @property
    def completed(self) -> int: ...
    @property
    def failed(self) -> int:
        """One of the page's requests failed."""
    @property
    def time(self) -> Histogram:
        """From the page's due time to the end of its last object; of pages that were given up at
        least as long."""
    @property
    def censored(self) -> Histogram:
        """What is a lower bound in `time`."""

@final
class Batches:
    """The measured part in at most 256 equal intervals; the last one may be cut short.

    Intervals are 10 ms, doubled as often as the window's length asks for.
    """

    @property
    def interval_ns(self) -> int: ...
    @property
    def offered(self) -> list[int]:
        """Measured requests that were due (closed loop: sent) in the interval; (n_intervals,)."""
    @property
    def completed(self) -> list[int]:
        """Right answers that came in the interval, whenever their requests were sent."""
    @property
    def errors(self) -> list[int]:
        """Requests that failed in the interval, measured or not."""
    @property
    def latency(self) -> list[Histogram]:
        """Latencies of the requests that ended in the interval, as in `WindowResult.latency`."""

@final
class Trace:
    """The first measured requests by due time (closed loop: by taking up), ascending.

    Columns of native-endian integers for `numpy.frombuffer`. Instants are nanoseconds of
    CLOCK_MONOTONIC, uint64; 0 is never.
    """

    @property
    def count(self) -> int: ...
    @property
    def due_ns(self) -> bytes: ...
    @property
    def issued_ns(self) -> bytes:
        """When a connection took it up."""
    @property
    def written_ns(self) -> bytes:
        """When it began to be written."""
    @property
    def end_ns(self) -> bytes: ...
    @property
    def request(self) -> bytes:
        """The index in the arm's table of requests; uint32."""
    @property
    def outcome(self) -> bytes:
        """0 is completed, n is `ERROR_KINDS[n - 1]`; uint8."""

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
    def handshakes_full(self) -> int:
        """TLS handshakes that made a new session."""
    @property
    def handshakes_resumed(self) -> int: ...
    @property
    def bytes_sent(self) -> int: ...
    @property
    def bytes_received(self) -> int: ...
    @property
    def latency(self) -> Histogram:
        """Of the measured requests: completed ones, and given up ones (`censored`) at their age."""
    @property
    def service_time(self) -> Histogram:
        """End - written of the same requests, as far as they were written."""
    @property
    def lateness(self) -> Histogram:
        """Sent - due of the same requests, unsent ones at their age; empty in a closed loop."""
    @property
    def censored(self) -> Histogram:
        """Ages of the measured requests that never ended by themselves: lower bounds.

        They timed out, or were unfinished or unsent at the window's end. All are in `latency`.
        """
    @property
    def phases(self) -> dict[str, Histogram]:
        """What latency consists of, of the measured requests that completed.

        By name, in order: client_queue, connect, tls, first_byte, transfer. A request that opened
        no connection is not in connect, one that was not the first on a TLS connection not in tls.
        The five `sum_ns` add up to the sum of these requests' latencies, to the nanosecond.
        """
    @property
    def by_request(self) -> list[Part]:
        """By index in the arm's table of requests; (n_requests,)."""
    @property
    def by_population(self) -> dict[str, Part]:
        """usual and slow; empty where no user is slow."""
    @property
    def pages(self) -> Pages: ...
    @property
    def visits(self) -> dict[str, int]:
        """Of the whole window: started, finished, left, cut, new_users, returning_users.

        `left` had a request that timed out; `cut` were under way when the window ended.
        """
    @property
    def cycles(self) -> dict[str, float] | None:
        """What the users' cycles gave; None where the window is not credited, or was stopped.

        credit, begun, begun_right, begun_s, begun_s2, longest_s, open, starved, open_credit.
        """
    @property
    def batches(self) -> Batches: ...
    @property
    def trace(self) -> Trace | None:
        """None unless `n_traced` asked for it."""
    @property
    def series_interval_s(self) -> float:
        """0.1 s, doubled as often as needed for at most 1200 intervals."""
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
        """Time integral of requests on connections over the measured part."""
    @property
    def limited_by(self) -> str:
        """server, rate, client_cpu, client_schedule, connections, descriptors, ports or network."""
    @property
    def evidence(self) -> dict[str, float]:
        """The figures that `limited_by` rests on."""

@final
class Live:
    """A window that is under way, since it began; lead-in included."""

    @property
    def index(self) -> int:
        """Of the window."""
    @property
    def elapsed_s(self) -> float: ...
    @property
    def offered(self) -> int: ...
    @property
    def completed(self) -> int: ...
    @property
    def errors(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def latency(self) -> Histogram:
        """Of completed requests, and of given up ones at their age; two digits."""

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
    def live(self) -> Live | None:
        """The window that is under way, at most 0.1 s old; None between windows.

        The first call asks the threads to publish, so its figures may be 0.
        """

def start(spec: LoadSpec, on_edge: Callable[[int, bool], None] | None) -> LoadRun:
    """Check the spec and start the run.

    `on_edge(window_index, is_opening)` is called before a window's first request and after its
    last answer, when nothing is in flight and every thread waits.
    """
