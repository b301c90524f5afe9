"""What an arm's figures are read from, over some windows, a start or several. Pure.

Of bodies of code batches of calls have the empty body's beside them. The empty body is repeated in
the same block and the same process, so what the loop itself takes is taken off where it was taken:
of totals over a start, never of single batches.
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean

from httpdyno.model import (
    CallFigures,
    Count,
    HeaderWords,
    HistogramData,
    Measurement,
    Portion,
    StartRecord,
    SystemCalls,
    WindowRecord,
)
from httpdyno.model.count import counts_together
from httpdyno.model.header_words import words_together
from httpdyno.model.measurement import NO_VALUES, times_of_request
from httpdyno.model.system_calls import calls_together
from httpdyno.reason import Reason, because
from httpdyno.stats.histogram import count, merge, quantile_s
from httpdyno.stats.sequence import is_clear
from httpdyno.stats.spread import stdev

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


QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True, kw_only=True)
class ArmTotals:
    """What an arm's figures come from; that of several windows or starts adds up."""

    measured_s: float
    measured_right: float
    by_population: Counter[str]
    """Right answers to requests of the measured part; empty without slow users."""
    completed: int
    offered: int
    cpu_s: float
    bytes_received: int
    handshakes_full: int
    lookups: int
    looked_up: int
    """Right answers of the windows that tell the lookups."""
    pss_bytes: float
    """Does not add up: of several starts it is their mean; NaN where it was not read. So it is with
    the next two."""
    uss_bytes_per_process: float
    ready_s: float
    times: dict[str, HistogramData]
    """By what they are of: `latency`, and what an objective names besides."""
    n_times: dict[str, int]
    calls: CallTotals | None = None
    system_calls: SystemCalls | None = None
    header_words: HeaderWords | None = None
    counts: dict[str, Count] = field(default_factory=dict)
    """What was counted beside the windows, by the metric's name."""
    known: dict[str, float] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Figures that were read already, by the metric's name."""

    @classmethod
    def of(cls, windows: Sequence[WindowRecord]) -> "ArmTotals":
        """Return those of one arm's windows."""
        seen = [window.measurement for window in windows]
        times = {
            name: merge(map(times_of, seen))
            for name, times_of in _TIMES.items()
            if any(times_of(each).counts for each in seen)
        }
        for name in dict.fromkeys(name for each in seen for name in each.of_request):
            parts = [each.of_request.get(name, NO_VALUES) for each in seen]
            times[times_of_request(name)] = merge(parts)
        return cls(
            measured_s=math.fsum(each.measured_s for each in seen),
            measured_right=math.fsum(each.measured_right for each in seen),
            by_population=sum((_completed(each) for each in seen), Counter()),
            completed=sum(each.completed for each in seen),
            offered=sum(each.offered for each in seen),
            cpu_s=math.fsum(window.telemetry.cpu_s for window in windows),
            bytes_received=sum(each.bytes_received for each in seen),
            handshakes_full=sum(each.handshakes_full for each in seen),
            lookups=sum(window.telemetry.lookups or 0 for window in windows),
            looked_up=sum(
                window.measurement.completed
                for window in windows
                if window.telemetry.lookups is not None
            ),
            pss_bytes=_mean(float(pss) for w in windows if (pss := w.telemetry.pss_bytes)),
            uss_bytes_per_process=_mean(
                seen.uss_bytes / seen.n_processes
                for seen in (w.telemetry for w in windows)
                if seen.uss_bytes is not None and seen.n_processes
            ),
            ready_s=math.nan,
            times=times,
            n_times={name: count(data) for name, data in times.items()},
            calls=CallTotals.of(windows),
        )

    @classmethod
    def of_start(cls, start: StartRecord, arm: int) -> "ArmTotals":
        """Return those of an arm of a start, with how it came up and what was counted after."""
        came_up_s = start.came_up_s[arm] if start.came_up_s else None
        counts = {name: found for name, of_arms in start.counts.items() if (found := of_arms[arm])}
        return replace(
            cls.of(arm_windows(start, arm)),
            ready_s=math.nan if came_up_s is None else came_up_s,
            system_calls=calls_in(start, arm),
            header_words=start.header_words[arm] if start.header_words else None,
            counts=counts,
        )

    @classmethod
    def sum(cls, parts: Sequence["ArmTotals"]) -> "ArmTotals":
        """Return those of all parts together."""
        return cls(
            measured_s=math.fsum(each.measured_s for each in parts),
            measured_right=math.fsum(each.measured_right for each in parts),
            by_population=sum((each.by_population for each in parts), Counter()),
            completed=sum(each.completed for each in parts),
            offered=sum(each.offered for each in parts),
            cpu_s=math.fsum(each.cpu_s for each in parts),
            bytes_received=sum(each.bytes_received for each in parts),
            handshakes_full=sum(each.handshakes_full for each in parts),
            lookups=sum(each.lookups for each in parts),
            looked_up=sum(each.looked_up for each in parts),
            pss_bytes=_mean(each.pss_bytes for each in parts),
            uss_bytes_per_process=_mean(each.uss_bytes_per_process for each in parts),
            ready_s=_mean(each.ready_s for each in parts),
            times={
                name: merge(each.times[name] for each in parts if name in each.times)
                for name in dict.fromkeys(name for each in parts for name in each.times)
            },
            n_times=dict(sum((Counter(each.n_times) for each in parts), Counter())),
            calls=CallTotals.sum(each.calls for each in parts),
            system_calls=calls_together(each.system_calls for each in parts),
            header_words=words_together(each.header_words for each in parts),
            counts={
                name: found
                for name in dict.fromkeys(name for each in parts for name in each.counts)
                if (found := counts_together(each.counts.get(name) for each in parts))
            },
        )

    @property
    def rate_per_s(self) -> float:
        """Right answers of a second; NaN where nothing was measured."""
        return self.measured_right / self.measured_s if self.measured_s > 0 else math.nan

    def rate_of_per_s(self, users: str) -> float:
        """Return the right answers of the usual or the slow users; NaN where nobody is slow."""
        populations = self.by_population
        # Their part of what cycles credit: whole answers in a window would be too coarse alone.
        return self.rate_per_s * populations[users] / (populations.total() or math.nan)

    def each(self, total: float) -> float:
        """Return what a right answer has of a total; NaN where none came."""
        return total / self.completed if self.completed else math.nan

    def time_s(self, distribution: str, percentile: str) -> float:
        """Return a percentile of what times are of; NaN where nobody kept them."""
        data = self.times.get(distribution)
        return math.nan if data is None else quantile_s(data, QUANTILES[percentile])

    def count_of(self, metric: str) -> float:
        """Return what was counted beside the windows for a metric; NaN where nothing was."""
        found = self.counts.get(metric)
        ratio = None if found is None else found.per_request
        return math.nan if ratio is None else ratio

    @property
    def error_ratio(self) -> float:
        """Requests without the right answer, as a part of all."""
        return (self.offered - self.completed) / self.offered if self.offered else 0.0

    @cached_property
    def call_figures(self) -> CallFigures | None:
        """Of a body that a program repeats; it has no other figures. None of a server."""
        return self.calls.figures if self.calls else None


def arm_windows(start: StartRecord, arm: int) -> list[WindowRecord]:
    """Return one arm's windows of a start."""
    return [window for window in start.windows if window.arm == arm]


def calls_in(start: StartRecord, arm: int) -> SystemCalls | None:
    """Return what was counted of an arm in a start; None where nothing was."""
    found = start.system_calls[arm] if start.system_calls else None
    return None if found is None or not found.n_answers else found


class _Known:
    """Totals of starts: a start does not change, and each look needs all of them."""

    def __init__(self, room: int) -> None:
        self._room = room
        # Not a dict: to find its oldest row, it goes past all that were deleted.
        self._of: OrderedDict[tuple[int, int], tuple[StartRecord, ArmTotals]] = OrderedDict()
        """By the start's identity, which is its own as long as it is kept here, and by arm."""

    def of(self, start: StartRecord, arm: int) -> ArmTotals:
        """Return those of an arm of a start, merged when first asked for."""
        key = (id(start), arm)
        if key not in self._of:
            if len(self._of) >= self._room:
                self._of.popitem(last=False)
            self._of[key] = (start, ArmTotals.of_start(start, arm))
        return self._of[key][1]


_known = _Known(room=2_048)


def arm_totals(start: StartRecord, arm: int) -> ArmTotals:
    """Return an arm's totals over a start."""
    return _known.of(start, arm)


_TIMES: dict[str, Callable[[Measurement], HistogramData]] = {
    "latency": lambda seen: seen.latency,
    "first_byte": lambda seen: seen.phases.first_byte,
    "page": lambda seen: seen.pages.time,
    "usual": lambda seen: _latency_of(seen.by_population.get("usual")),
    "slow": lambda seen: _latency_of(seen.by_population.get("slow")),
}


def _completed(seen: Measurement) -> Counter[str]:
    return Counter({name: part.completed for name, part in seen.by_population.items()})


def _latency_of(portion: Portion | None) -> HistogramData:
    return NO_VALUES if portion is None or portion.latency is None else portion.latency


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return fmean(known) if known else math.nan
