"""An arm's figures over some windows, and what they add up from; pure."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from httpdyno.experiment.call_figures import CallTotals, call_value
from httpdyno.experiment.call_ratios import calls_value, pooled
from httpdyno.experiment.word_ratios import words_value
from httpdyno.model import (
    CallFigures,
    HeaderWords,
    HistogramData,
    Measurement,
    Portion,
    ProcessExits,
    SystemCalls,
    WindowRecord,
)
from httpdyno.model.answers import word_of_answers
from httpdyno.model.header_words import words_together
from httpdyno.model.measurement import NO_VALUES
from httpdyno.model.metric import (
    CALL_RATIOS,
    EXITS,
    FULL_HANDSHAKES,
    LOOKUPS,
    QUANTILES,
    is_of_system_calls,
    percentile_of,
    times_of_request,
)
from httpdyno.model.process_exits import exits_together
from httpdyno.stats.histogram import count, merge, quantile_s


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmFigures:
    """One arm's figures over some windows; NaN where there is nothing to divide by."""

    throughput_per_s: float
    usual_throughput_per_s: float
    """Of the users who are not slow."""
    slow_throughput_per_s: float
    """Of those who are."""
    cpu_s_per_request: float
    pss_bytes: float
    """Of the server's processes, shared pages counted once."""
    uss_bytes_per_process: float
    """What each has for itself alone."""
    bytes_per_request: float
    """Received for each right answer: heads, codings and all."""
    handshakes_full_per_request: float
    """TLS handshakes for which the server signed; 0 also without TLS."""
    lookups_per_request: float
    """Questions to its resolver of names, of the windows that tell them."""
    ready_s: float
    """From its spawning on."""
    times_s: dict[str, float]
    """Percentiles by the keys of their ratios."""
    error_ratio: float
    calls: CallFigures | None = None
    """Of a body that a program repeats; it has no other figures."""
    system_calls: SystemCalls | None = None
    """Of an answer; None where none were counted."""
    header_words: HeaderWords | None = None
    """What answers said in the header that is counted; None where none is."""
    exits_per_request: float = math.nan
    """Processes that ended over answers; NaN where they were not counted."""

    def value(self, ratio_name: str) -> float:
        """Return the figure behind a ratio's name."""
        if is_of_system_calls(ratio_name):
            return calls_value(self.system_calls, ratio_name)
        if word_of_answers(ratio_name):
            return words_value(self.header_words, ratio_name)
        if self.calls is not None or ratio_name in CALL_RATIOS:
            return call_value(self.calls, ratio_name) if ratio_name in CALL_RATIOS else math.nan
        own = {
            "throughput": self.throughput_per_s,
            "usual_throughput": self.usual_throughput_per_s,
            "slow_throughput": self.slow_throughput_per_s,
            "cpu_per_request": self.cpu_s_per_request,
            "memory": self.pss_bytes,
            "uss_per_process": self.uss_bytes_per_process,
            "bytes_per_request": self.bytes_per_request,
            FULL_HANDSHAKES: self.handshakes_full_per_request,
            LOOKUPS: self.lookups_per_request,
            EXITS: self.exits_per_request,
            "ready": self.ready_s,
        }
        return {**self.times_s, **own}.get(ratio_name, math.nan)


@dataclass(frozen=True, kw_only=True, slots=True)
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
    exits: ProcessExits | None = None

    @classmethod
    def of(
        cls,
        windows: Sequence[WindowRecord],
        system_calls: SystemCalls | None = None,
        came_up_s: float | None = None,
        header_words: HeaderWords | None = None,
        exits: ProcessExits | None = None,
    ) -> "ArmTotals":
        """Return those of one arm's windows, how it came up before and what was counted after."""
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
            ready_s=math.nan if came_up_s is None else came_up_s,
            times=times,
            n_times={name: count(data) for name, data in times.items()},
            calls=CallTotals.of(windows),
            system_calls=system_calls,
            header_words=header_words,
            exits=exits,
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
            system_calls=pooled(each.system_calls for each in parts),
            header_words=words_together(each.header_words for each in parts),
            exits=exits_together(each.exits for each in parts),
        )

    @property
    def figures(self) -> ArmFigures:
        """The figures that they make."""
        n = self.completed
        rate_per_s = self.measured_right / self.measured_s if self.measured_s > 0 else math.nan
        populations = self.by_population
        # Their part of what cycles credit: whole answers in a window would be too coarse alone.
        n_told = populations.total() or math.nan
        return ArmFigures(
            throughput_per_s=rate_per_s,
            usual_throughput_per_s=rate_per_s * populations["usual"] / n_told,
            slow_throughput_per_s=rate_per_s * populations["slow"] / n_told,
            cpu_s_per_request=self.cpu_s / n if n else math.nan,
            pss_bytes=self.pss_bytes,
            uss_bytes_per_process=self.uss_bytes_per_process,
            bytes_per_request=self.bytes_received / n if n else math.nan,
            handshakes_full_per_request=self.handshakes_full / n if n else math.nan,
            lookups_per_request=self.lookups / self.looked_up if self.looked_up else math.nan,
            ready_s=self.ready_s,
            times_s={
                percentile_of(of, name): quantile_s(data, q)
                for of, data in self.times.items()
                for name, q in QUANTILES.items()
            },
            error_ratio=(self.offered - n) / self.offered if self.offered else 0.0,
            calls=self.calls.figures if self.calls else None,
            system_calls=self.system_calls,
            header_words=self.header_words,
            exits_per_request=_exits_ratio(self.exits),
        )


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


def _exits_ratio(exits: ProcessExits | None) -> float:
    ratio = None if exits is None else exits.per_request
    return math.nan if ratio is None else ratio


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return fmean(known) if known else math.nan
