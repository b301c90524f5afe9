"""What starts say: figures of their arms, ratios, and how far a ratio may be off. Pure.

The unit is the start: each start of two arms gives one log ratio, of totals over its windows.
Totals, not means of window ratios: a window may hold few requests, and the logarithm of a small
count is biased. Windows of a block lie side by side in time, so drift cancels in the totals too.

**What Little's law takes from a claim of throughput.** An interval over starts covers what chance
does from start to start, and no more: what is wrong in all of an arm's starts alike leaves no trace
in their spread, and more of them only make the interval narrower around a wrong ratio. Of that the
check by Little's law knows. Credited throughput and that of the users' cycles are counts of
different things; if one of them is right, the other is off by no more than what they differ by. So
an arm's throughput may be off by that, to either side, because nobody knows which of the two is
right; and by what cycles without an end might have added.

A ratio may be off by what both of its arms may be: in opposite directions, at worst. Its interval
is made wider by the sum, on the logarithm and to both sides, and what it then still says is
claimed. So it covers chance, with the interval's confidence, and beside that a systematic error of
at most what the two counts differ by. An error that both counts share is not seen. Differences that
chance or the check's tolerance may explain are no complaint, and widen nothing.

Some complaints tell nothing of a size: cycles that were not followed, or did not begin. Then
nothing is claimed, however large the ratio.

Simulated with eight starts that differ by 5 %, either arm's credit off by up to a tenth and its
cycles right, 300 comparisons: the widened interval misses the true ratio in 2, the plain one in 84
(`tests/experiment/test_doubt.py`).
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from msgspec import structs

from httpdyno.advice.bottleneck import bottleneck, with_own_words
from httpdyno.experiment.trial.cycles import little_check
from httpdyno.metrics import METRICS, Metric, named, of_ratio
from httpdyno.metrics.metric import lost_between_looks
from httpdyno.metrics.table import of_request
from httpdyno.metrics.totals import (
    QUANTILES,
    ArmTotals,
    are_calls,
    arm_totals,
    arm_windows,
    batch_cpu_s,
    is_above_floor,
    not_above_floor,
)
from httpdyno.model import (
    ArmSummary,
    Configuration,
    Connecting,
    Effective,
    HistogramData,
    LogLines,
    Look,
    Measurement,
    Objective,
    OfWorkers,
    PhaseFigures,
    PhaseSeen,
    RatioInterval,
    StartRecord,
    TrialStatus,
    WindowRecord,
    WorkersSeen,
)
from httpdyno.model.measurement import NO_VALUES, request_of_times
from httpdyno.reason import Reason, because
from httpdyno.stats.histogram import can_show, count, mean_s, merge, quantile_s
from httpdyno.stats.sequence import IntervalOf, ratio_interval
from httpdyno.stats.spread import stdev
from httpdyno.telemetry.log import together

_FIGURES = (
    *("pss_bytes", "rss_bytes", "shared_bytes", "anonymous_pss_bytes", "file_pss_bytes"),
    *("page_table_bytes", "user_s", "system_s", "voluntary_switches", "involuntary_switches"),
    *("major_faults", "n_descriptors", "n_threads"),
)


def workers_of_starts(starts: Sequence[Sequence[WorkersSeen]]) -> tuple[WorkersSeen, ...]:
    """Return by program what was seen at the last edges of some starts, the most first.

    Args:
        starts: What each was left with, by program; a start that has none of a program counts as
            none there, and its sizes are those of the others.
    """
    by_program: dict[str, list[WorkersSeen]] = defaultdict(list)
    for start in starts:
        for each in start:
            by_program[each.program].append(each)
    merged = [
        WorkersSeen(
            program=program,
            n=sum(each.n for each in seen) / len(starts),
            median_uss_bytes=round(statistics.median(each.median_uss_bytes for each in seen)),
            largest_uss_bytes=max(each.largest_uss_bytes for each in seen),
            youngest_s=min(each.youngest_s for each in seen),
            median_age_s=statistics.median(each.median_age_s for each in seen),
            oldest_s=max(each.oldest_s for each in seen),
            n_idle=sum(each.n_idle for each in seen) / len(starts),
            once_bytes=max(
                (each.once_bytes for each in seen if each.once_bytes is not None), default=None
            ),
            kernel_bytes=max(each.kernel_bytes for each in seen),
            states=mean_counts([each.states for each in seen], len(starts)),
            **{name: _figure([getattr(each, name) for each in seen]) for name in _FIGURES},
        )
        for program, seen in by_program.items()
    ]
    return tuple(sorted(merged, key=lambda each: (-each.n, each.program)))


def mean_counts(counts: Sequence[Mapping[str, float]], n_starts: int) -> dict[str, float]:
    """Return counts by name as means over so many starts; a start that has none counts as 0."""
    total: dict[str, float] = defaultdict(float)
    for each in counts:
        for name, n in each.items():
            total[name] += n
    return {name: n / n_starts for name, n in total.items()}


def _figure(starts: Sequence[OfWorkers | None]) -> OfWorkers | None:
    known = [each for each in starts if each is not None]
    if not known:
        return None
    return OfWorkers(
        median=statistics.median(each.median for each in known),
        largest=max(each.largest for each in known),
    )


_LEAST_TAIL = 3
"""Requests beyond a percentile that a start must hold, as for ratios of it: below, it is about the
start's maximum."""

Turns = Sequence[Mapping[str, PhaseSeen]]
"""Those of a start: by the names of the phases that do not decide."""


def phase_figures(starts: Sequence[Turns]) -> dict[str, PhaseFigures]:
    """Return what each phase made that does not decide, over all turns; (n_starts,)."""
    names = dict.fromkeys(name for turns in starts for turn in turns for name in turn)
    return {
        name: _figures_of([[turn[name] for turn in turns if name in turn] for turns in starts])
        for name in names
    }


def start_latencies(
    starts: Iterable[Iterable[HistogramData]],
) -> dict[str, tuple[float | None, ...]]:
    """Return percentiles of each start's windows; those that no start carries are left out."""
    merged = [merge(windows) for windows in starts]
    found = {
        name: tuple(
            quantile_s(data, q) if count(data) * (1 - q) >= _LEAST_TAIL else None for data in merged
        )
        for name, q in QUANTILES.items()
    }
    return {name: each for name, each in found.items() if any(one is not None for one in each)}


def _figures_of(starts: Sequence[Sequence[PhaseSeen]]) -> PhaseFigures:
    parts = [each for turns in starts for each in turns]
    measured_s = math.fsum(each.measured_s for each in parts)
    right = sum(each.completed for each in parts)
    # As of the phase that decides, or the two would be told by different measures.
    answered = math.fsum(
        each.measured_completed if each.credit is None else each.credit for each in parts
    )
    offered = sum(each.offered for each in parts)
    sizes = [each.pss_bytes for each in parts if each.pss_bytes is not None]
    private = [
        each.uss_bytes / each.n_processes
        for each in parts
        if each.uss_bytes is not None and each.n_processes
    ]
    latency = merge(each.latency for each in parts)
    shown = {n: quantile_s(latency, q) for n, q in QUANTILES.items() if can_show(latency, q)}
    return PhaseFigures(
        throughput_per_s=answered / measured_s if measured_s > 0 else 0.0,
        cpu_s_per_request=math.fsum(each.cpu_s for each in parts) / right if right else 0.0,
        error_ratio=(offered - right) / offered if offered else 0.0,
        latency_s={**shown, "max": latency.max_s},
        start_latency_s=start_latencies((each.latency for each in turns) for turns in starts),
        requests_per_turn=offered / len(parts),
        pss_bytes=fmean(sizes) if sizes else None,
        uss_bytes_per_process=fmean(private) if private else None,
        n_processes=fmean(each.n_processes for each in parts),
        workers=workers_of_starts([each.workers for each in parts if each.workers]),
    )


_PAIR = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubt:
    """What is wrong with the throughput of some arms, and by how much each may be off."""

    complaints: tuple[Reason, ...] = ()
    """What is wrong; empty where all is well."""
    off_logs: Mapping[int, float] = field(default_factory=dict)
    """By the arm, of its logarithm; infinite where nobody knows. None is well."""

    @property
    def is_unbounded(self) -> bool:
        """Whether nobody knows by how much some arm is off: then nothing may be claimed."""
        return any(math.isinf(each) for each in self.off_logs.values())

    @property
    def notes(self) -> tuple[Reason, ...]:
        """What a verdict is to add that rests on an interval which is so wide; empty for none."""
        if not self.complaints or self.is_unbounded:
            return ()
        return (because("experiment.interval_includes", complaints=self.complaints),)

    def warning(self, n_arms: int) -> Reason:
        """Return what it does to ratios of throughput, whatever is claimed by them.

        Args:
            n_arms: Of how many ratios are made; of more than two the most is told.
        """
        if self.is_unbounded:
            return because("experiment.little_unsized", complaints=self.complaints)
        most = math.fsum(sorted(self.off_logs.values())[-_PAIR:])
        return because(
            "experiment.little" if n_arms <= _PAIR else "experiment.little_of_many",
            complaints=self.complaints,
            wider_ratio=math.expm1(most),
        )

    def known(self, arm: int) -> float:
        """Return by how much the logarithm of an arm may be off; 0 where nobody knows."""
        off_log = self.off_logs.get(arm, 0.0)
        return off_log if math.isfinite(off_log) else 0.0

    def slack(self, *arms: int) -> float:
        """Return by how much the log ratio of two arms may be off; infinite if nobody knows."""
        return self.slack_of(dict.fromkeys(arms, 1.0))

    def slack_of(self, weights: Mapping[int, float]) -> float:
        """Return by how much a sum of the arms' logarithms may be off.

        Args:
            weights: Of each arm, of either sign.
        """
        off = (
            abs(weight) * self.off_logs.get(arm, 0.0) for arm, weight in weights.items() if weight
        )
        return math.fsum(off)


def little_doubt(starts: Sequence[StartRecord], arms: Sequence[int] = (0, 1)) -> Doubt:
    """Return what is wrong with the throughput of these arms, by Little's law."""
    checks = {arm: little_check(starts, arm) for arm in arms}
    wrong = {arm: each for arm, each in checks.items() if each is not None and each.complaints}
    return Doubt(
        complaints=tuple(reason for each in wrong.values() for reason in each.complaints),
        off_logs={arm: each.off_log for arm, each in wrong.items()},
    )


def doubt_about(
    starts: Sequence[StartRecord], ratio_name: str, arms: Sequence[int] = (0, 1)
) -> Doubt:
    """Return what is wrong with a figure of these arms: nothing, where it is no throughput."""
    return little_doubt(starts, arms) if of_ratio(ratio_name).is_rate else Doubt()


def with_slack(seen: RatioInterval, log: float) -> RatioInterval:
    """Return an interval that has in it that its log ratio may be off by so much to either side.

    Where nobody knows by how much it is returned as it is: it shows what chance leaves open, and
    nothing is claimed by it.
    """
    if math.isinf(log):
        return seen
    factor = math.exp(log)
    return structs.replace(seen, low=seen.low / factor, high=seen.high * factor)


def figure(start: StartRecord, arm: int, metric: Metric) -> float:
    """Return an arm's figure over a start; NaN where there is none."""
    return metric.of_totals(arm_totals(start, arm))


def _usable(start: StartRecord, arm: int, metric: Metric) -> float:
    """Return the figure that a ratio can be made of; NaN where there is none."""
    totals = arm_totals(start, arm)
    value = metric.of_totals(totals)
    # Latencies of requests that timed out are there too, but no figure is made of them alone.
    return value if totals.completed > 0 and 0 < value < math.inf else math.nan


def log_ratios(
    starts: Sequence[StartRecord], ratio_name: str, *, a: int = 0, b: int = 1
) -> list[float]:
    """Return log(b / a) of each start for which both arms have the figure; (≤ n_starts,)."""
    metric = of_ratio(ratio_name)
    ratios = (_usable(start, b, metric) / _usable(start, a, metric) for start in starts)
    return [math.log(ratio) for ratio in ratios if not math.isnan(ratio)]


def has_figures(start: StartRecord, arms: Iterable[int], ratio_name: str) -> bool:
    """Tell whether all these arms have the figure behind a ratio's name in a start."""
    metric = of_ratio(ratio_name)
    return not any(math.isnan(_usable(start, arm, metric)) for arm in arms)


def arm_summary(
    starts: Sequence[StartRecord],
    arm: int,
    configuration: Configuration,
    metrics: Iterable[str] = (),
) -> ArmSummary:
    """Return what one arm did over all these starts.

    Args:
        starts: That have it.
        arm: Its number in them.
        configuration: Of it.
        metrics: Whose figures are wanted besides.
    """
    of_starts = [arm_windows(start, arm) for start in starts]
    windows = [window for own in of_starts for window in own]
    phases = phase_figures([[w.measurement.beside for w in own] for own in of_starts])
    status, detail = arm_status(starts, arm)
    totals = ArmTotals.sum([arm_totals(start, arm) for start in starts])
    latency = totals.times.get("latency", NO_VALUES)
    look, log = _look(starts, arm), _log(starts, arm)
    sizes = [w.telemetry.pss_bytes for w in windows if w.telemetry.pss_bytes is not None]
    ends = [w.telemetry for w in windows if w.telemetry.workers]
    own = {
        name: totals.time_s("latency", name)
        for name, q in QUANTILES.items()
        if can_show(latency, q)
    }
    return ArmSummary(
        configuration=configuration,
        status=status,
        detail=detail,
        n_starts=len(starts),
        figures=_figures(totals, metrics),
        error_ratio=totals.error_ratio,
        latency_s={"mean": mean_s(latency), **own, "max": latency.max_s} if windows else {},
        latency=latency,
        largest_pss_bytes=max(sizes, default=None),
        phases=phases,
        start_latency_s=start_latencies((w.measurement.latency for w in own) for own in of_starts)
        if phases
        else {},
        requests_per_turn=fmean([w.measurement.offered for w in windows]) if windows else 0.0,
        n_processes=fmean([w.telemetry.n_processes for w in windows]) if windows else 0.0,
        workers=workers_of_starts([each.workers for each in ends]),
        zombies=mean_counts([each.zombies for each in ends], len(ends)),
        effective=_effective(starts, arm),
        limited_by=dict(Counter(w.measurement.limited_by for w in windows)),
        errors=_added(w.measurement.errors for w in windows),
        statuses=_added(w.measurement.statuses for w in windows),
        start_throughputs_per_s=tuple(
            _finite(figure(start, arm, named("throughput_per_s"))) for start in starts
        ),
        look=look,
        bottleneck=None if look is None else with_own_words(bottleneck(look), log),
        log=log,
        calls=totals.call_figures,
        system_calls=totals.system_calls,
        header_words=totals.header_words,
        connecting=_connecting([w.measurement for w in windows]),
    )


def _figures(totals: ArmTotals, wanted: Iterable[str]) -> dict[str, float]:
    """Return the figures that there are by their metrics, and those that were asked for."""
    requests = [name for each in totals.times if (name := request_of_times(each))]
    rows = [*METRICS, *(named(name) for each in requests for name in of_request(each))]
    shown = [row.name for row in rows if not row.percentile or _can_show(totals, row)]
    found = {name: named(name).of_totals(totals) for name in (*shown, *sorted(wanted))}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _can_show(totals: ArmTotals, row: Metric) -> bool:
    data = totals.times.get(row.distribution)
    return data is not None and can_show(data, QUANTILES[row.percentile])


def _connecting(seen: Sequence[Measurement]) -> Connecting:
    return Connecting(
        handshakes_full=sum(each.handshakes_full for each in seen),
        handshakes_resumed=sum(each.handshakes_resumed for each in seen),
        listen_overflows=round(sum(each.evidence.listen_overflows for each in seen)),
        syn_retransmits=round(sum(each.evidence.syn_retransmits for each in seen)),
        completed=sum(each.completed for each in seen),
    )


def _look(starts: Sequence[StartRecord], arm: int) -> Look | None:
    looks = (start.looks[arm] for start in starts if start.looks)
    return next((look for look in looks if look is not None), None)


def _log(starts: Sequence[StartRecord], arm: int) -> LogLines | None:
    logs = (start.log_lines[arm] for start in starts if start.log_lines)
    return together([each for each in logs if each is not None])


def _added(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def _effective(starts: Sequence[StartRecord], arm: int) -> Effective:
    return next(
        (s.effective[arm] for s in starts if s.statuses[arm] == "complete" and s.effective),
        Effective(),
    )


def arm_status(starts: Sequence[StartRecord], arm: int) -> tuple[TrialStatus, tuple[Reason, ...]]:
    """Return how an arm came out over all starts: the first that was not complete decides."""
    for start in starts:
        if start.statuses[arm] != "complete":
            return start.statuses[arm], start.details[arm] if start.details else ()
    return "complete", ()


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


MIN_TAIL_PER_START = 3
"""Requests beyond a percentile that the median start must hold, in its arm with fewer, before
ratios of it are shown: below, a start's percentile is about its maximum, which says how many
requests there were."""

LEAST_TAIL = 2
"""What every start must hold. Fewer than the median, because of many starts one is always thin, and
that must not end a comparison which has had enough for long."""


def _counts(
    starts: Sequence[StartRecord], of: str = "latency", arms: Sequence[int] | None = None
) -> list[int]:
    """Return the fewest values of a distribution that any arm has, of each start; (n_starts,)."""
    return [
        min(
            (
                arm_totals(start, arm).n_times.get(of, 0)
                for arm in (range(len(start.statuses)) if arms is None else arms)
            ),
            default=0,
        )
        for start in starts
    ]


def smallest_count(starts: Sequence[StartRecord], ratio_name: str, arms: Sequence[int]) -> int:
    """Return the fewest values that these arms have in any start of what a percentile is of."""
    return min(_counts(starts, of_ratio(ratio_name).distribution, arms), default=0)


def carries(
    starts: Sequence[StartRecord], ratio_name: str, arms: Sequence[int] | None = None
) -> bool:
    """Tell whether the starts hold enough requests for that ratio of these arms, or of all."""
    metric = of_ratio(ratio_name)
    if not metric.distribution:
        return True
    beyond = 1 - QUANTILES[metric.percentile]
    tails = [n * beyond for n in _counts(starts, metric.distribution, arms)]
    return bool(tails) and median(tails) >= MIN_TAIL_PER_START and min(tails) >= LEAST_TAIL


def ratio_intervals(
    starts: Sequence[StartRecord], objective: Objective, interval_of: IntervalOf = ratio_interval
) -> dict[str, RatioInterval]:
    """Return every ratio of arm 1 over arm 0 that the starts bound.

    Those that something is claimed of share the objective's risk; the others are shown, each with
    the objective's confidence for itself alone. Those of throughput are as wide as Little's law
    asks, whether something is claimed of them or not.
    """
    result = {}
    metrics = dict.fromkeys((*(each.name for each in METRICS), *sorted(objective.named)))
    for metric in map(named, metrics):
        name = metric.ratio
        is_asked = not metric.is_on_demand or metric.name in objective.named
        if not is_asked or not carries(starts, name):
            continue
        if metric.is_of_code and not is_above_floor(
            starts, lambda start, arm: arm_totals(start, arm).call_figures, name
        ):
            continue
        if metric.no_ratio(starts):
            continue
        confidence = objective.confidence_of(metric.name)
        seen = interval_of(log_ratios(starts, name), confidence=confidence)
        interval = seen and lost_between_looks(starts, metric).in_interval(seen)
        slack = doubt_about(starts, name).slack(0, 1)
        interval = interval and with_slack(interval, slack)
        # An interval without an end says nothing that its absence does not.
        if interval is not None and math.isfinite(interval.high):
            result[name] = interval
    return result


_SILENT_STARTS = 2
"""Starts without any figure after which no further one is waited for."""


def no_figure(
    starts: Sequence[StartRecord],
    metric: str,
    fewest: int,
    arms: Sequence[int] = (0, 1),
    names: Sequence[str] = ("a", "b"),
) -> Reason | None:
    """Return why these starts give no ratio of a metric; None where they may.

    Args:
        starts: Of two arms, or of more.
        metric: As an objective has it.
        fewest: Starts from which something is claimed.
        arms: Those that are to have the figure.
        names: What people call these arms, in their order.
    """
    row = named(metric)
    name = row.ratio
    if len(starts) >= fewest and not carries(starts, name, arms):
        return because(
            "experiment.too_few_pages"
            if row.distribution == "page"
            else "experiment.too_few_requests",
            n=smallest_count(starts, name, arms),
            metric=metric,
        )
    is_told = any(has_figures(start, arms, name) for start in starts)
    is_silent = len(starts) >= _SILENT_STARTS and not is_told
    if is_silent or len(starts) >= fewest:
        figures = (
            (lambda start, arm: arm_totals(start, arm).call_figures) if row.is_of_code else None
        )
        reason = (figures and not_above_floor(starts, figures)) or row.no_ratio(starts, arms, names)
        if reason is not None:
            return reason
    return _silence(starts, row) if is_silent else None


def _silence(starts: Sequence[StartRecord], metric: Metric) -> Reason:
    windows = [window.measurement for start in starts for window in start.windows]
    if not windows:
        return because("experiment.no_window", n=len(starts))
    if metric.silence is not None:
        return metric.silence(len(starts))
    longest_s = max(window.latency.max_s for window in windows)
    return because(
        "experiment.too_slow_for_windows" if longest_s > 0 else "experiment.silent_in_windows",
        window_s=windows[0].measured_s,
        longest_s=longest_s,
    )


def block_log_ratios(
    starts: Sequence[StartRecord], ratio_name: str = "throughput"
) -> list[list[float]]:
    """Return log ratios of each start's blocks; (n_starts, ≤ n_blocks).

    Of throughput, CPU per call, CPU or bytes per request: a window holds too few requests for
    percentiles, and memory is read once in a start.
    """
    if ratio_name not in _WINDOW_FIGURES:
        return [[] for _ in starts]
    figure = _WINDOW_FIGURES[ratio_name]
    table = []
    for start in starts:
        row = []
        pairs = zip(arm_windows(start, 0), arm_windows(start, 1), strict=False)
        for first, second in pairs:
            a, b = figure(first), figure(second)
            if a > 0 and b > 0:
                row.append(math.log(b / a))
        table.append(row)
    return table


_WINDOW_FIGURES: dict[str, Callable[[WindowRecord], float]] = {
    "throughput": lambda window: window.measurement.throughput_per_s,
    "cpu_per_request": lambda window: window.telemetry.cpu_s / max(1, window.measurement.completed),
    "bytes_per_request": lambda window: (
        window.measurement.bytes_received / max(1, window.measurement.completed)
    ),
    "cpu_per_call": batch_cpu_s,
}


def noise(starts: Sequence[StartRecord], ratios: Sequence[float]) -> dict[str, float]:
    """Return the standard deviations between starts and between the blocks of a start."""
    name = "cpu_per_call" if are_calls(starts) else "throughput"
    result = {"between_starts": stdev(ratios)} if len(ratios) > 1 else {}
    between_windows = window_noise(starts, name)
    if between_windows is not None:
        result["between_windows"] = between_windows
    return result


def window_noise(starts: Sequence[StartRecord], ratio_name: str) -> float | None:
    """Return the standard deviation between the blocks of a start of a ratio's own logarithm.

    None where no start has two, or where single windows have no such figure.
    """
    rows = [row for row in block_log_ratios(starts, ratio_name) if len(row) > 1]
    return math.sqrt(fmean(stdev(row) ** 2 for row in rows)) if rows else None
