"""Servers looked at from inside under the load of their windows, when those are through.

What looks takes time of the cores, and so it never looks while a window is timed, and nothing that
comes before a window is other because of it. A configuration is looked at once in a run: in the
first start that has it, one server after the other.
"""

import math
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Protocol

from msgspec import structs

from httpdyno.load.engine import Edge, RunningLoad
from httpdyno.load.message import WindowPlan
from httpdyno.model import Look, Measurement, Workload
from httpdyno.model.look import LEAST_SAMPLES

LOOK_S = 1.0
"""Of load for each look."""
LONG_LOOK_S = 4.0
"""Of load for a look at a pool whose workers end and are replaced."""
STRETCHES_S = (LOOK_S, LONG_LOOK_S)
"""The one, and then the other where that was too short."""
MOST_RATIO = 0.1
"""Of what was measured of a server that runs: so much more nobody has to ask for."""
_SETTLED = 0.3
"""Of a window: users come in before."""
_POLL_S = 0.1
_SPARE_S = 0.02
"""The look ends by so much before the load does."""


class Looking(Protocol):
    """Who looks at a server once, as `Profiler` does."""

    def start(self) -> None:
        """Begin to look."""

    def stop(self) -> Look:
        """End it, and return what was seen."""


class WindowLooks:
    """Looks in some windows; give `on_edge` to `start_load`."""

    def __init__(self, onlookers: Sequence[Looking | None], plan: Sequence[WindowPlan]) -> None:
        """Look in some windows.

        Args:
            onlookers: Who looks in each window; None: nobody. (n_windows,)
            plan: The windows; (n_windows,).
        """
        self._onlookers = {n: each for n, each in enumerate(onlookers) if each is not None}
        self._measured_s = [window.measure_s for window in plan]
        self._is_over = Event()
        self._threads: dict[int, Thread] = {}
        self._looks: dict[int, Look] = {}

    def on_edge(self, window: int, is_opening: bool) -> None:
        """Begin to look, or see that it has ended."""
        if window not in self._onlookers:
            return
        if is_opening:
            self._threads[window] = Thread(target=self._look, args=(window,), daemon=True)
            self._threads[window].start()
        else:
            self.end(window)

    def end(self, window: int) -> None:
        """See that nobody looks any more."""
        if thread := self._threads.pop(window, None):
            self._is_over.set()
            thread.join()
            self._is_over.clear()

    def end_all(self) -> None:
        """See that nobody looks any more, whatever became of the load."""
        for window in [*self._threads]:
            self.end(window)

    def of(self, window: int, measurement: Measurement, workload: Workload) -> Look | None:
        """Return what was seen in a window that has ended; None where nobody looked."""
        look = self._looks.get(window)
        return None if look is None else with_client(look, measurement, workload)

    def _look(self, window: int) -> None:
        load_s = self._measured_s[window]
        if self._is_over.wait(load_s * _SETTLED):
            return
        onlooker = self._onlookers[window]
        try:
            onlooker.start()
            self._is_over.wait(load_s * (1 - _SETTLED) - _SPARE_S)
            self._looks[window] = onlooker.stop()
        except Exception as error:  # what was not seen ends no study, and is told
            words = f"nothing, because of a fault of httpdyno's: {error!r}"
            self._looks[window] = Look(seconds=0.0, n_samples=0, hidden=(words,))


def looks_in(
    onlookers: Sequence[Looking],
    plan: Sequence[WindowPlan],
    start: Callable[[Edge], RunningLoad],
    workloads: Sequence[Workload],
    is_over: Callable[[], bool] = lambda: False,
) -> dict[int, Look]:
    """Look at servers under a load that is there for that alone; by window, of those it reached.

    Args:
        onlookers: One for each window; (n_windows,).
        plan: The windows; (n_windows,).
        start: Starts the load, with what is to be called at its windows' edges.
        workloads: What is asked in each; (n_windows,).
        is_over: Whether an end is asked for, before that of the load.
    """
    watch = WindowLooks(onlookers, plan)
    handle = start(watch.on_edge)
    try:
        while not is_over() and not handle.wait(_POLL_S):
            pass
    finally:
        handle.stop()
        handle.wait(math.inf)
        watch.end_all()
    seen = zip(handle.measurements(), workloads, strict=False)
    found = {n: watch.of(n, each, workload) for n, (each, workload) in enumerate(seen)}
    return {n: look for n, look in found.items() if look is not None}


def stretches_within_s(measured_s: float, n_servers: int = 1) -> tuple[float, ...]:
    """Return the stretches that are short beside what was measured; (0 … 2,). Pure.

    Args:
        measured_s: How long all servers together were loaded.
        n_servers: That are looked at, one after the other.
    """
    each_s = MOST_RATIO * measured_s / n_servers
    return tuple(s for n, s in enumerate(STRETCHES_S, 1) if sum(STRETCHES_S[:n]) <= each_s)


def wants_longer(look: Look) -> bool:
    """Whether a look must be longer to tell of the server and not of a moment; pure.

    Who replaces workers does that by a clock: Apache's parent looks once a second, so a second
    holds a full pool, an empty one, or any part of either: those that ended and wait to be
    replaced are such a part. Where each answer takes a process of its own, it is the answers that
    begin them, and a second holds many. And a pool of hundreds is looked at so seldom, for what
    that takes, that a second says nothing.
    """
    n_changes = look.births + look.deaths
    if look.n_samples < LEAST_SAMPLES:
        return True
    n_ended = look.doing.get("zombie", 0.0)
    if look.workers < _HARDLY_ANY or (n_ended >= _HARDLY_ANY and n_changes < look.answers / 2):
        return True
    return 0 < n_changes < look.answers / 2


_HARDLY_ANY = 0.5


def with_client(look: Look, measurement: Measurement, workload: Workload) -> Look:
    """Return a look with what only the client knows. Pure."""
    evidence = measurement.evidence
    offered_per_s = evidence.offered_per_s if workload.is_open_loop else 0.0
    # These three overlap: what a quota or the machine's host takes shows as a stop, if it lasts.
    held_back = max(
        evidence.client_frozen_ratio, evidence.client_throttled_ratio, evidence.client_stolen_ratio
    )
    client_cores = measurement.client_cpu_s / measurement.total_s if measurement.total_s else 0.0
    return structs.replace(
        look,
        answers=measurement.throughput_per_s * look.seconds,
        offered=offered_per_s * look.seconds,
        clients=evidence.busy_connections,
        client_cpu_s=client_cores * look.seconds,
        client_lost_ratio=evidence.client_wait_ratio + held_back,
        client_limit=measurement.limited_by,
    )
