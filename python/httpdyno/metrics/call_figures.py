"""What a call of a body takes, from batches of calls with the empty body's beside them; pure.

The empty body is repeated in the same block and the same process, so what the loop itself takes is
taken off where it was taken: of totals over a start, never of single batches.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from httpdyno.model import CallFigures, StartRecord, WindowRecord
from httpdyno.reason import Reason, because
from httpdyno.stats.floor import is_clear

SAID_APART = 0.1
"""The program's own account of its CPU time may differ by this from the kernel's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTotals:
    """What the figures of calls come from; that of several batches or starts adds up."""

    n: int
    cpu_s: float
    wall_s: float
    n_empty: int
    empty_cpu_s: float
    empty_wall_s: float

    @classmethod
    def of(cls, windows: Sequence[WindowRecord]) -> "CallTotals | None":
        """Return those of one body's batches; None where they are windows of a server."""
        parts = [
            cls(
                n=window.measurement.completed,
                cpu_s=window.telemetry.cpu_s,
                wall_s=window.measurement.measured_s,
                n_empty=calls.n_empty,
                empty_cpu_s=calls.empty_cpu_s,
                empty_wall_s=calls.empty_wall_s,
            )
            for window in windows
            if (calls := window.telemetry.calls) is not None
        ]
        return cls.sum(parts)

    @classmethod
    def sum(cls, parts: Iterable["CallTotals | None"]) -> "CallTotals | None":
        """Return those of all parts together; None where there are none."""
        known = [each for each in parts if each is not None]
        if not known:
            return None
        return cls(
            n=sum(each.n for each in known),
            cpu_s=math.fsum(each.cpu_s for each in known),
            wall_s=math.fsum(each.wall_s for each in known),
            n_empty=sum(each.n_empty for each in known),
            empty_cpu_s=math.fsum(each.empty_cpu_s for each in known),
            empty_wall_s=math.fsum(each.empty_wall_s for each in known),
        )

    @property
    def figures(self) -> CallFigures | None:
        """The figures that they make; None where nothing was called."""
        if not (self.n and self.n_empty):
            return None
        empty_cpu_s, empty_wall_s = (
            total_s / self.n_empty for total_s in (self.empty_cpu_s, self.empty_wall_s)
        )
        return CallFigures(
            n_calls=self.n,
            cpu_s=self.cpu_s / self.n - empty_cpu_s,
            wall_s=self.wall_s / self.n - empty_wall_s,
            empty_cpu_s=empty_cpu_s,
            empty_wall_s=empty_wall_s,
        )


def call_value(calls: CallFigures | None, ratio_name: str) -> float:
    """Return the figure behind the name of a ratio of calls; NaN where there is none."""
    if calls is None:
        return math.nan
    return calls.cpu_s if ratio_name == "cpu_per_call" else calls.wall_s


def batch_cpu_s(window: WindowRecord) -> float:
    """Return the CPU time of a call in one batch; NaN where it is a server's window."""
    totals = CallTotals.of([window])
    return call_value(totals.figures if totals else None, "cpu_per_call")


def are_calls(starts: Sequence[StartRecord]) -> bool:
    """Tell whether these are starts of a program that repeats bodies."""
    return any(window.telemetry.calls for start in starts for window in start.windows)


def is_above_floor(
    starts: Sequence[StartRecord],
    figures_of: Callable[[StartRecord, int], CallFigures | None],
    ratio_name: str,
) -> bool:
    """Tell whether a ratio of two bodies may be made of all starts that called them.

    A start in which one is not above the empty body has no logarithm: an interval of the others
    would be of those that came out well.

    Args:
        starts: Of both.
        figures_of: The figures of an arm of a start.
        ratio_name: Of CPU or wall time.
    """
    for arm in range(2):
        seen = [each for start in starts if (each := figures_of(start, arm)) is not None]
        is_cpu = ratio_name == "cpu_per_call"
        floors = [each.empty_cpu_s if is_cpu else each.empty_wall_s for each in seen]
        if seen and not is_clear([call_value(each, ratio_name) for each in seen], floors):
            return False
    return True


def not_above_floor(
    starts: Sequence[StartRecord], figures_of: Callable[[StartRecord, int], CallFigures | None]
) -> Reason | None:
    """Return why no ratio may be made of one of two bodies; None where it may.

    Args:
        starts: Of both.
        figures_of: The figures of an arm of a start.
    """
    for arm, name in enumerate("ab"):
        seen = [each for start in starts if (each := figures_of(start, arm)) is not None]
        values = [each.cpu_s for each in seen]
        if not values or is_clear(values, [each.empty_cpu_s for each in seen]):
            continue
        return because(
            "metrics.not_above_floor" if len(values) > 1 else "metrics.not_above_floor_once",
            name=name,
            cpu_s=fmean(values),
            empty_cpu_s=fmean(each.empty_cpu_s for each in seen),
            spread_s=stdev(values) if len(values) > 1 else 0.0,
        )
    return None


def said_apart(windows: Sequence[WindowRecord]) -> float | None:
    """Return the program's own account of its CPU time over the kernel's; None: not to be told."""
    pairs = [
        (calls.said_cpu_s, window.telemetry.cpu_s)
        for window in windows
        if (calls := window.telemetry.calls) is not None and calls.said_cpu_s > 0
    ]
    used_s = math.fsum(used for _, used in pairs)
    return math.fsum(said for said, _ in pairs) / used_s if used_s > 0 else None
