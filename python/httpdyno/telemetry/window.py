"""The server's counters over exactly the windows that the engine loads.

Readings are taken at a window's edges, when no request is in flight: what the server used in
between, it used for the window's requests, all of them and no others.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from httpdyno.model import Telemetry
from httpdyno.telemetry.host import steal_s
from httpdyno.telemetry.process_tree import ProcessTree


class WindowTelemetry:
    """Takes the engine's edges; give `on_edge` to `start_load`."""

    def __init__(
        self,
        trees: Sequence[ProcessTree],
        window_arms: Sequence[int],
        *,
        pss_windows: AbstractSet[int] = frozenset(),
    ) -> None:
        """Watch some servers.

        Args:
            trees: The server of each arm; (n_arms,).
            window_arms: The arm that each window loads; (n_windows,).
            pss_windows: Windows at whose end memory is read: slow, so not at every one.
        """
        self._trees = trees
        self._window_arms = window_arms
        self._pss_windows = pss_windows
        self._opened: dict[int, tuple[float, float]] = {}
        self._seen: dict[int, Telemetry] = {}

    def on_edge(self, window: int, is_opening: bool) -> None:
        """Read the counters of the window's server."""
        tree = self._trees[self._window_arms[window]]
        reading, stolen_s = tree.read(), steal_s()
        if is_opening:
            self._opened[window] = (reading.cpu_s, stolen_s)
            return
        cpu_before_s, stolen_before_s = self._opened.pop(window)
        self._seen[window] = Telemetry(
            cpu_s=max(0.0, reading.cpu_s - cpu_before_s),
            pss_bytes=tree.pss_bytes() if window in self._pss_windows else None,
            n_processes=reading.n_processes,
            steal_s=max(0.0, stolen_s - stolen_before_s),
        )

    def of(self, window: int) -> Telemetry:
        """Return what was seen over a window that has ended."""
        return self._seen[window]
