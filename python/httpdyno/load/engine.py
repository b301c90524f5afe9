"""Run the compiled engine: from a workload and a plan of windows to measurements.

Everything native is turned into ours here, in both directions, and nowhere else.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from httpdyno import _native
from httpdyno.errors import EngineError
from httpdyno.load.access_log import Recording, read_access_log
from httpdyno.load.check import check_workload
from httpdyno.load.message import WindowPlan, spec_message
from httpdyno.model import LiveLoad, Measurement, Replay, Workload

_WAIT_SLICE_S = 0.1
"""Python sees Ctrl-C only between calls; no wait inside the engine is longer than this."""

Edge = Callable[[int, bool], None]

_MEASUREMENT = msgspec.msgpack.Decoder(Measurement)
_LIVE = msgspec.msgpack.Decoder(LiveLoad)


class RunningLoad(Protocol):
    """Load under way: one run of the engine, or several that follow each other."""

    def wait(self, timeout_s: float = math.inf) -> bool:
        """Wait until it is over; True when it is."""

    def stop(self) -> None:
        """Send nothing more and end soon."""

    def entrances(self) -> dict[int, Measurement]:
        """Return what the first steps came to, by arm."""

    def measurements(self) -> list[Measurement]:
        """Return the windows that ended so far, in order."""


class LoadHandle:
    """A run under way on the engine's own threads."""

    def __init__(self, run: _native.LoadRun) -> None:
        self._run = run
        self._measurements: list[Measurement] = []

    @property
    def schedule_hash(self) -> str:
        """Two runs with the same one are due to send the same at the same instants."""
        return f"{self._run.schedule_hash:016x}"

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
                raise EngineError(error.args[0]) from error
            if left_s <= 0:
                return False

    def stop(self) -> None:
        """Send nothing more and end soon; what is in flight counts as `unfinished`."""
        self._run.stop()

    def live(self) -> LiveLoad | None:
        """Return the window that is under way, so far; None when there is none."""
        seen = self._run.live()
        return None if seen is None else _LIVE.decode(seen)

    def entrances(self) -> dict[int, Measurement]:
        """Return what the first steps came to, of the arms that had their turn so far.

        By the arm's number; the requests are those of the workload, and then the first ones. An arm
        to which no user got through ends the run.
        """
        return {arm: _MEASUREMENT.decode(message) for arm, message in self._run.entrances()}

    def measurements(self) -> list[Measurement]:
        """Return the windows that ended so far, in order."""
        # Callers poll this while the run goes on: each window is read once.
        new = self._run.results(len(self._measurements))
        self._measurements += map(_MEASUREMENT.decode, new)
        return list(self._measurements)


def start_load(  # noqa: PLR0913 - the engine's settings, each of them optional
    workload: Workload,
    addresses: Sequence[str],
    windows: Sequence[WindowPlan],
    *,
    threads: int = 1,
    cpus: Sequence[int] = (),
    seed: int = 0,
    streams: Sequence[int] = (),
    networks: Sequence[str] = (),
    drain_s: float | None = None,
    spin_s: float = 0.0,
    n_traced: int = 0,
    on_edge: Edge | None = None,
    recording: Recording | None = None,
) -> LoadHandle:
    """Start to load some arms, window by window, on the same connections throughout.

    Args:
        workload: What is offered to each arm.
        addresses: `ip:port` of each arm; (n_arms,).
        windows: Which arm is loaded when; at least one.
        threads: The engine's threads.
        cpus: The cores they are pinned to; empty leaves them free.
        seed: Makes the run repeatable.
        streams: Numbers by which the arms draw; those of one number draw alike. Empty: all do.
            (n_arms,).
        networks: Paths of the network namespaces that the addresses are in, such as
            `/proc/4711/ns/net`; an empty one is this process's own. Empty: all are. (n_arms,).
        drain_s: The longest wait for answers at a window's end; None is the workload's timeout,
            which lets every request end by itself.
        spin_s: Polling before each due time, see `machine.SPIN_S`.
        n_traced: Of each window, the instants of the first so many measured requests are kept.
        on_edge: Called with (window index, whether it opens) when nothing is in flight.
        recording: What a replay's log holds, if it was read already.

    Raises:
        UsageError: The workload makes no sense.
        EngineError: The engine cannot run it.
    """
    check_workload(workload)
    if isinstance(workload.arrival, Replay) and recording is None:
        recording = read_access_log(workload.arrival, seed=seed)
    message = spec_message(
        workload,
        addresses,
        recording,
        streams,
        networks,
        windows=windows,
        threads=threads,
        cpus=cpus,
        seed=seed,
        drain_s=workload.timeout_s if drain_s is None else drain_s,
        spin_s=spin_s,
        n_traced=n_traced,
    )
    try:
        return LoadHandle(_native.start(message, on_edge))
    except _native.EngineError as error:
        raise EngineError(error.args[0]) from error


# Windows of different workloads, one load after the other, as if they were one.


class LoadsInTurn:
    """Loads of one window each; every one is begun when the one before it is over."""

    def __init__(self, starts: Sequence[Callable[[], LoadHandle]], arms: Sequence[int]) -> None:
        """Begin the first.

        Args:
            starts: Each starts a load of one window of one arm; (n_windows,).
            arms: The arm of each in the whole plan; (n_windows,).
        """
        self._starts = starts
        self._arms = arms
        self._begun: list[LoadHandle] = [starts[0]()]
        self._is_stopped = False

    def wait(self, timeout_s: float = math.inf) -> bool:
        """Wait until all are over; True when they are. Ctrl-C comes through.

        Raises:
            EngineError: The engine failed.
        """
        deadline_s = time.monotonic() + timeout_s
        while self._begun[-1].wait(max(0.0, deadline_s - time.monotonic())):
            if self._is_stopped or len(self._begun) == len(self._starts):
                return True
            self._begun.append(self._starts[len(self._begun)]())
        return False

    def stop(self) -> None:
        """Begin no other, and end the one under way soon."""
        self._is_stopped = True
        self._begun[-1].stop()

    def entrances(self) -> dict[int, Measurement]:
        """Return what the first steps came to, of the arms that had their turn so far; by arm."""
        found: dict[int, Measurement] = {}
        for arm, handle in zip(self._arms, self._begun, strict=False):
            for each in handle.entrances().values():
                found.setdefault(arm, each)
        return found

    def measurements(self) -> list[Measurement]:
        """Return the windows that ended so far, in order."""
        return [each for handle in self._begun for each in handle.measurements()]
