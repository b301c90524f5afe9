"""Servers looked at from inside while they are warmed up: the same load, and nothing is measured.

What looks takes time of the cores, and so it never looks while a window is timed. An arm is looked
at once in a run: in the first start that has it, where arms are warmed up one after the other.
"""

from collections.abc import Mapping, Sequence
from threading import Event, Thread

from msgspec import structs

from httpdyno.model import Look, Measurement, Workload
from httpdyno.telemetry.look.onlooker import Onlooker

_SETTLED = 0.3
"""Of a warm-up: what comes before is the server's first requests, with cold caches."""
_SPARE_S = 0.02
"""The look ends by so much before the load does."""


class WarmUpLooks:
    """Looks in some windows that warm up; give `on_edge` to `start_load`."""

    def __init__(self, onlookers: Mapping[int, Onlooker], measured_s: Sequence[float]) -> None:
        """Look in some windows.

        Args:
            onlookers: By the window that each looks in.
            measured_s: How long each window's load lasts; (n_windows,).
        """
        self._onlookers = onlookers
        self._measured_s = measured_s
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
        onlooker.start()
        self._is_over.wait(load_s * (1 - _SETTLED) - _SPARE_S)
        self._looks[window] = onlooker.stop()


def with_client(look: Look, measurement: Measurement, workload: Workload) -> Look:
    """Return a look with what only the client knows. Pure."""
    offered_per_s = measurement.evidence.offered_per_s if workload.is_open_loop else 0.0
    return structs.replace(
        look,
        answers=measurement.throughput_per_s * look.seconds,
        offered=offered_per_s * look.seconds,
        clients=measurement.evidence.busy_connections,
        client_limit=measurement.limited_by,
    )
