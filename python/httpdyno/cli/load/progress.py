"""Show a load test as it goes, and wait for its end or for somebody who asks for one.

On a terminal two lines stay in place; elsewhere one plain line comes every few seconds.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol, Self

from rich.console import Console, Group
from rich.text import Text

from httpdyno.cli.live_display import LiveDisplay, one_line, whole_seconds
from httpdyno.errors import EngineError, TargetError
from httpdyno.load.entrance import entrance_trouble
from httpdyno.model import LiveLoad, Measurement, Workload
from httpdyno.report.shared.message import text
from httpdyno.report.shared.phrase import plural
from httpdyno.stats.histogram import can_show, quantile_s
from httpdyno.units import format_duration, format_rate

_PLAIN_EVERY_S = 5.0
_RATE_OVER_S = 1.0
"""The rate is that of the last second: shorter jumps about, longer hides what happens."""
_LOOK_S = 0.05
_SNAPSHOT_S = 0.25
"""Each snapshot costs the engine's threads a merge of their histograms."""
_STOP_PATIENCE_S = 5.0


class LoadProgress(LiveDisplay):
    """Takes snapshots of a load test; use it as a context manager around the run."""

    def __init__(  # noqa: PLR0913 - all that is known of the test before it begins
        self,
        console: Console,
        what: str,
        duration_s: float | None = None,
        *,
        n_requests: int = 0,
        before: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show nothing yet.

        Args:
            console: Where to, usually standard error.
            what: What is done: `loading http://localhost/ over 50 connections`.
            duration_s: When it ends; None where only `n_requests` ends it.
            n_requests: The test ends after that many; 0 is no such limit.
            before: What is done before it, which takes none of its time; empty for nothing.
            clock: Monotonic seconds.
        """
        super().__init__(console)
        self._what = what
        self._duration_s = duration_s
        self._n_requests = n_requests
        self._before = before
        self._clock = clock
        self._began_s = clock()
        self._plain_at_s = self._began_s
        self._seen: deque[LiveLoad] = deque()

    def __enter__(self) -> Self:
        self._began_s = self._plain_at_s = self._clock()
        super().__enter__()
        if self._live is None:
            self._console.print(self._what, soft_wrap=True, markup=False)
        return self

    def show(self, snapshot: LiveLoad | None) -> None:
        """Take over how far the test is; None is nothing new."""
        if snapshot is None:
            return
        if self._before and not self._seen:
            self._began_s = self._clock() - snapshot.elapsed_s
        self._seen.append(snapshot)
        while len(self._seen) > 2 and snapshot.elapsed_s - self._seen[1].elapsed_s >= _RATE_OVER_S:  # noqa: PLR2004
            self._seen.popleft()
        if self._live is None and self._clock() - self._plain_at_s >= _PLAIN_EVERY_S:
            self._plain_at_s = self._clock()
            times = self._times(self._clock() - self._began_s)
            line = f"{times}: {', '.join(self._figures())}"
            self._console.print(line, soft_wrap=True, markup=False)

    def shown(self) -> Group:
        """Return what stands on a terminal now."""
        now_s, width = self._clock(), self._console.width
        first = one_line(Text(self._what), self._times(now_s - self._began_s), width, now_s=now_s)
        second = Text("  " + "  ".join(self._figures()))
        second.truncate(width, overflow="ellipsis")
        return Group(first, second)

    def _figures(self) -> list[str]:
        if not self._seen:
            return [self._before or "connecting"]
        now = self._seen[-1]
        figures = [format_rate(self._rate_per_s()), f"{now.completed:,} completed"]
        figures += [
            f"{name} {format_duration(quantile_s(now.latency, q))}"
            for name, q in (("p50", 0.5), ("p99", 0.99))
            if can_show(now.latency, q)
        ]
        return [*figures, plural(now.errors, "error"), f"{now.in_flight:,} in flight"]

    def _rate_per_s(self) -> float:
        first, last = self._seen[0], self._seen[-1]
        if first is last:
            return last.completed / last.elapsed_s if last.elapsed_s > 0 else 0.0
        return (last.completed - first.completed) / max(last.elapsed_s - first.elapsed_s, 1e-9)

    def _times(self, passed_s: float) -> str:
        left_s = self._left_s(passed_s)
        passed = whole_seconds(passed_s)
        if self._before and not self._seen:
            return passed
        if self._duration_s is not None and passed_s >= self._duration_s:
            return f"{passed}, waiting for the last answers"
        return passed if left_s is None else f"{passed}, {whole_seconds(left_s)} left"

    def _left_s(self, passed_s: float) -> float | None:
        """Return the time to the nearer of both ends; None while nobody knows."""
        ends_s = [math.inf if self._duration_s is None else self._duration_s - passed_s]
        rate_per_s = self._rate_per_s() if self._seen else 0.0
        if self._n_requests and rate_per_s > 0:
            now = self._seen[-1]
            ends_s.append(max(0, self._n_requests - now.completed - now.errors) / rate_per_s)
        nearest_s = min(ends_s)
        return nearest_s if math.isfinite(nearest_s) else None


class Watched(Protocol):
    """A run of which one window is measured, such as `LoadHandle`."""

    def wait(self, timeout_s: float) -> bool: ...  # noqa: D102
    def stop(self) -> None: ...  # noqa: D102
    def live(self) -> LiveLoad | None: ...  # noqa: D102
    def measurements(self) -> list[Measurement]: ...  # noqa: D102
    def entrances(self) -> Mapping[int, Measurement]: ...  # noqa: D102


def watch(  # noqa: PLR0913 - what is watched, and all that is known of it
    handle: Watched,
    progress: LoadProgress,
    asked_to_end: list[int],
    *,
    workload: Workload | None = None,
    n_before: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Measurement:
    """Wait until the load is over or an end is asked for; return what was seen.

    Args:
        handle: The run.
        progress: Told how far it is.
        asked_to_end: From `interruptions`.
        workload: What is sent, where users have first steps.
        n_before: Windows that come before the one that is measured.
        clock: Monotonic seconds.

    Raises:
        EngineError: The engine failed, or did not stop when it was asked to.
        TargetError: No user got through the first steps.
    """
    shown_at_s = -math.inf
    while not handle.wait(_LOOK_S):
        if asked_to_end:
            handle.stop()
            handle.wait(_STOP_PATIENCE_S)
            break
        now_s = clock()
        if now_s - shown_at_s >= _SNAPSHOT_S:
            shown_at_s = now_s
            if not n_before or len(handle.measurements()) >= n_before:
                progress.show(handle.live())
    measurements = handle.measurements()[n_before:]
    if not measurements and asked_to_end and handle.wait(0):
        raise KeyboardInterrupt
    if not measurements and workload is not None:
        for entrance in handle.entrances().values():
            trouble = entrance_trouble(entrance, workload)
            raise TargetError(
                text(trouble) if trouble else "no user began to send",
                hint="name the right status: `--first 'POST /login … -> 302'`",
            )
    if not measurements:
        raise EngineError(f"the engine did not stop within {_STOP_PATIENCE_S:g} s")
    return measurements[0]
