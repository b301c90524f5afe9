"""Telemetry over exactly the windows that the engine loads."""

from collections.abc import Sequence

from httpdyno.model import Telemetry
from httpdyno.telemetry.collector import Collector


class WindowTelemetry:
    """Takes the engine's edges; give `on_edge` to `start_load`."""

    def __init__(
        self, collectors: Sequence[Sequence[Collector]], window_arms: Sequence[int]
    ) -> None:
        """Watch some servers.

        Args:
            collectors: Of each arm's server; (n_arms, n_collectors).
            window_arms: The arm that each window loads; (n_windows,).
        """
        self._collectors = collectors
        self._window_arms = window_arms
        self._last = {arm: window for window, arm in enumerate(window_arms)}
        self._seen: dict[int, Telemetry] = {}

    def on_edge(self, window: int, is_opening: bool) -> None:
        """Read the counters of the window's server."""
        arm = self._window_arms[window]
        if is_opening:
            for collector in self._collectors[arm]:
                collector.open()
            return
        seen = Telemetry(cpu_s=0.0)
        for collector in self._collectors[arm]:
            seen = collector.close(seen, is_last=self._last[arm] == window)
        self._seen[window] = seen

    def of(self, window: int) -> Telemetry:
        """Return what was seen over a window that has ended."""
        return self._seen[window]
