"""From the windows of several starts to a claim; pure.

The unit is the start: each start of two arms gives one log ratio, of totals over its windows.
Totals, not means of window ratios: a window may hold few requests, and the logarithm of a small
count is biased. Windows of a block lie side by side in time, so drift cancels in the totals too.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from httpdyno.advice.bottleneck import bottleneck, with_own_words
from httpdyno.experiment.doubt import doubt_about, with_slack
from httpdyno.experiment.phase_figures import phase_figures, start_latencies
from httpdyno.experiment.workers_of_starts import mean_counts, workers_of_starts
from httpdyno.metrics import METRICS, Metric, named, of_ratio
from httpdyno.metrics.metric import lost_between_looks
from httpdyno.metrics.table import of_request
from httpdyno.metrics.totals import QUANTILES, ArmTotals, arm_totals, arm_windows, is_above_floor
from httpdyno.model import (
    ArmSummary,
    Configuration,
    Connecting,
    Effective,
    LogLines,
    Look,
    Measurement,
    Objective,
    RatioInterval,
    StartRecord,
    TrialStatus,
)
from httpdyno.model.measurement import NO_VALUES, request_of_times
from httpdyno.reason import Reason
from httpdyno.stats.histogram import can_show, mean_s
from httpdyno.stats.sequence import ratio_interval
from httpdyno.telemetry.log import together


def figure(start: StartRecord, arm: int, metric: Metric) -> float:
    """Return an arm's figure over a start; NaN where there is none."""
    return metric.of_totals(arm_totals(start, arm))


def has_figure(start: StartRecord, arm: int, metric: Metric) -> bool:
    """Tell whether an arm has a figure in a start that a ratio can be made of."""
    # Latencies of requests that timed out are there too, but no figure is made of them alone.
    return has_answers(start, arm) and 0 < figure(start, arm, metric) < math.inf


def log_ratios(
    starts: Sequence[StartRecord], ratio_name: str, *, a: int = 0, b: int = 1
) -> list[float]:
    """Return log(b / a) of each start for which both arms have the figure; (≤ n_starts,)."""
    metric = of_ratio(ratio_name)
    return [
        math.log(figure(start, b, metric) / figure(start, a, metric))
        for start in starts
        if has_figure(start, a, metric) and has_figure(start, b, metric)
    ]


def has_figures(start: StartRecord, arms: Iterable[int], ratio_name: str) -> bool:
    """Tell whether all these arms have the figure behind a ratio's name in a start."""
    return all(has_figure(start, arm, of_ratio(ratio_name)) for arm in arms)


def has_answers(start: StartRecord, arm: int) -> bool:
    """Tell whether an arm gave any right answer in the windows of a start."""
    return arm_totals(start, arm).completed > 0


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
    starts: Sequence[StartRecord], objective: Objective
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
        seen = ratio_interval(log_ratios(starts, name), confidence=confidence)
        interval = seen and lost_between_looks(starts, metric).in_interval(seen)
        slack = doubt_about(starts, name).slack(0, 1)
        interval = interval and with_slack(interval, slack)
        # An interval without an end says nothing that its absence does not.
        if interval is not None and math.isfinite(interval.high):
            result[name] = interval
    return result
