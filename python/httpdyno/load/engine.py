"""Run the compiled engine: from a workload and a plan of windows to measurements.

Everything native is turned into ours here, in both directions, and nowhere else.
"""

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from httpdyno import __version__, _native
from httpdyno.errors import EngineError, UsageError
from httpdyno.load.access_log import Recording
from httpdyno.load.check import check_workload
from httpdyno.load.measured import Detail, live, measurement
from httpdyno.model import Closed, Constant, LiveLoad, Measurement, RequestSpec, Users, Workload

SPIN_S = 60e-6
"""How long an open-loop thread polls before a request is due, where it has a core of its own.

A timer alone wakes about 50 µs late; with this the median is below 1 µs at a tenth of a core and
1,000 requests per second. On a core shared with the server it would take the server's time."""

_WAIT_SLICE_S = 0.1
"""Python sees Ctrl-C only between calls; no wait inside the engine is longer than this."""

_CONNECTIONS_PER_THREAD = 64
_CPUS_PER_THREAD = 4

Edge = Callable[[int, bool], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowPlan:
    """A stretch of load on one arm."""

    arm: int
    lead_in_s: float
    """Loaded, but not measured."""
    measure_s: float
    n_requests: int = 0
    """The window ends after that many, if they come first; 0 is no such limit."""


class LoadHandle:
    """A run under way on the engine's own threads."""

    def __init__(self, run: _native.LoadRun, detail: Detail = Detail.WINDOW) -> None:
        self._run = run
        self._detail = detail
        self._measurements: list[Measurement] = []

    def wait(self, timeout_s: float = math.inf) -> bool:
        """Wait until the run is over; True when it is. Ctrl-C comes through.

        Raises:
            EngineError: The engine failed.
        """
        deadline_s = time.monotonic() + timeout_s
        while True:
            left_s = max(0.0, deadline_s - time.monotonic())
            try:
                if self._run.wait(min(_WAIT_SLICE_S, left_s)):
                    return True
            except _native.EngineError as error:
                raise EngineError(str(error)) from error
            if left_s <= 0:
                return False

    def stop(self) -> None:
        """Send nothing more and end soon; what is in flight counts as `unfinished`."""
        self._run.stop()

    def live(self) -> LiveLoad | None:
        """Return the window that is under way, so far; None when there is none."""
        return live(self._run)

    def measurements(self) -> list[Measurement]:
        """Return the windows that ended so far, in order."""
        # Callers poll this while the run goes on: each window is converted once.
        results = self._run.results()
        new = results[len(self._measurements) :]
        self._measurements += [measurement(each, self._detail) for each in new]
        return list(self._measurements)


def start_load(  # noqa: PLR0913 - the engine's settings, each of them optional
    workload: Workload,
    addresses: Sequence[str],
    windows: Sequence[WindowPlan],
    *,
    threads: int = 1,
    cpus: Sequence[int] = (),
    seed: int = 0,
    drain_s: float | None = None,
    spin_s: float = 0.0,
    on_edge: Edge | None = None,
    recording: Recording | None = None,
    detail: Detail = Detail.WINDOW,
) -> LoadHandle:
    """Start to load some arms, window by window, on the same connections throughout.

    Args:
        workload: What is offered to each arm.
        addresses: `ip:port` of each arm; (n_arms,).
        windows: Which arm is loaded when; at least one.
        threads: The engine's threads.
        cpus: The cores they are pinned to; empty leaves them free.
        seed: Makes the run repeatable.
        drain_s: The longest wait for answers at a window's end; None is the workload's timeout,
            which lets every request end by itself.
        spin_s: Polling before each due time, see `SPIN_S`.
        on_edge: Called with (window index, whether it opens) when nothing is in flight.
        recording: What a replay's log holds, if it was read already.
        detail: How much is converted of what each window saw.

    Raises:
        UsageError: The workload makes no sense.
        EngineError: The engine cannot run it.
    """
    check_workload(workload)
    _check_supported(workload, recording)
    arms = [
        _native.Arm(
            address=address,
            requests=[render_request(request, address) for request in workload.requests],
        )
        for address in addresses
    ]
    try:
        spec = _native.LoadSpec(
            arms=arms,
            windows=[
                _native.Window(
                    arm=window.arm,
                    lead_in_s=window.lead_in_s,
                    measure_s=window.measure_s,
                    n_requests=window.n_requests,
                )
                for window in windows
            ],
            connections=workload.connections,
            keep_alive=workload.keep_alive,
            rate_per_s=workload.rate_per_s or 0.0,
            timeout_s=workload.timeout_s,
            drain_s=workload.timeout_s if drain_s is None else drain_s,
            threads=threads,
            cpus=list(cpus),
            seed=seed,
            spin_s=spin_s,
        )
        return LoadHandle(_native.start(spec, on_edge), detail)
    except _native.EngineError as error:
        raise EngineError(str(error)) from error


def suited_threads(workload: Workload, n_cpus: int | None = None) -> int:
    """Return how many threads to load with: one, or more on a big machine with many connections.

    One thread offers far more than a server on the same few cores can answer; each further one
    takes a core from it.
    """
    cpus = n_cpus or os.cpu_count() or 1
    by_connections = workload.connections // _CONNECTIONS_PER_THREAD
    return max(1, min(cpus // _CPUS_PER_THREAD, by_connections))


def _check_supported(workload: Workload, recording: Recording | None) -> None:
    """Refuse what the compiled engine cannot do yet, rather than leave it out.

    Raises:
        UsageError: With what it is.
    """
    as_it_can = Workload(
        requests=workload.requests,
        steps=workload.steps,
        arrival=workload.arrival,
        connections=workload.connections,
        connections_per_page=workload.connections_per_page,
        users=Users(n_returning=workload.users.n_returning),
        requests_per_connection=workload.requests_per_connection,
        timeout_s=workload.timeout_s,
    )
    is_in_turn = workload.mix == Workload(requests=workload.requests).mix
    is_simple = isinstance(workload.arrival, Closed | Constant)
    if (
        recording
        or not (workload == as_it_can and is_in_turn and is_simple)
        or (
            workload.requests_per_connection > 1
            or any(each.body_file for each in workload.requests)
        )
    ):
        raise UsageError("the load engine of this version cannot send this workload")


def render_request(request: RequestSpec, authority: str) -> _native.Request:
    """Return a request rendered for the engine, with the headers that every client sends.

    Args:
        request: What to ask; its own headers win over the usual ones.
        authority: `host:port` for the `Host` header.
    """
    try:
        return _native.Request(
            method=request.method,
            target=request.path,
            headers=_headers(request, authority),
            body=request.body.encode(),
            expect_status=request.expect_status or 0,
            expect_length=request.expect_length,
        )
    except _native.EngineError as error:
        raise EngineError(str(error)) from error


def _headers(request: RequestSpec, authority: str) -> list[tuple[str, str]]:
    usual = (("Host", authority), ("User-Agent", f"httpdyno/{__version__}"), ("Accept", "*/*"))
    given = {name.lower() for name, _ in request.headers}
    return [*(each for each in usual if each[0].lower() not in given), *request.headers]
