"""Whether this process itself stood still: a signal, a frozen container, a laptop that slept.

While it does, servers go on, or do not, and nobody looks at them: what was being waited for is then
late by the clock and by nothing else, and a window holds time in which nothing was sent. No verdict
may come from that.

A thread that asks to be woken after `_BEAT_S` and is woken much later was not allowed to run. The
clock is one that goes on while the machine sleeps.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

_BEAT_S = 0.1

STILL_S = 1.0
"""Beats that are this late are no busy machine's: a thread that hardly ever wants to run gets its
turn within tens of milliseconds."""


def sleepless_s() -> float:
    """Return the time since boot, with that in which the machine slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Gaps:
    """Adds up what lies between two beats beyond the beat itself."""

    def __init__(self, now_s: float) -> None:
        self._last_s = now_s
        self._still_s = 0.0

    def beat(self, now_s: float) -> None:
        """Take a beat's time."""
        late_s = now_s - self._last_s - _BEAT_S
        if late_s > STILL_S:
            self._still_s += late_s
        self._last_s = now_s

    @property
    def are_any(self) -> bool:
        """Whether it stood still since that was taken last."""
        return self._still_s > 0

    def taken(self) -> float:
        """Return for how long it stood still since this was taken last."""
        still_s, self._still_s = self._still_s, 0.0
        return still_s


class Pulse:
    """Beats in a thread of its own while it is entered."""

    def __init__(self, clock: Callable[[], float] = sleepless_s) -> None:
        self._clock = clock
        self._gaps = Gaps(clock())
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def still_s(self) -> float:
        """Return for how long this process stood still since this was asked last, in seconds."""
        # Asked just after the process was let go on, the thread may not have had its turn yet.
        self._beat()
        with self._lock:
            return self._gaps.taken()

    def stood_still(self) -> bool:
        """Tell whether this process stood still since `still_s` was asked last."""
        self._beat()
        with self._lock:
            return self._gaps.are_any

    def _run(self) -> None:
        while not self._is_over.wait(_BEAT_S):
            self._beat()

    def _beat(self) -> None:
        with self._lock:
            self._gaps.beat(self._clock())
