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
from httpdyno.experiment.arm_totals import ArmFigures, ArmTotals
from httpdyno.experiment.call_figures import is_above_floor
from httpdyno.experiment.call_ratios import calls_in
from httpdyno.experiment.count_ratios import lost_between_looks, no_ratio
from httpdyno.experiment.doubt import doubt_about, with_slack
from httpdyno.experiment.exit_ratios import exits_in
from httpdyno.experiment.phase_figures import phase_figures, start_latencies
from httpdyno.experiment.word_ratios import words_in
from httpdyno.experiment.workers_of_starts import mean_counts, workers_of_starts
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
    WindowRecord,
)
from httpdyno.model.measurement import NO_VALUES
from httpdyno.model.metric import (
    CALL_RATIOS,
    QUANTILES,
    RATIO_OF_METRIC,
    distribution_of,
    is_on_demand,
    percentile_of,
)
from httpdyno.stats.histogram import can_show, mean_s
from httpdyno.stats.sequence import ratio_interval
from httpdyno.telemetry.log_line import together


class _ArmOfStart:
    """What an arm did over a start, each figure made when first asked for."""

    def __init__(self, start: StartRecord, arm: int) -> None:
        windows = arm_windows(start, arm)
        came_up_s = start.came_up_s[arm] if start.came_up_s else None
        self.start = start
        self.totals = ArmTotals.of(
            windows, calls_in(start, arm), came_up_s, words_in(start, arm), exits_in(start, arm)
        )
        self.figures: ArmFigures = self.totals.figures
        self.has_answers = any(window.measurement.completed for window in windows)
        self._values: dict[str, float] = {}

    def value(self, ratio_name: str) -> float:
        """Return the figure behind a ratio's name."""
        if ratio_name not in self._values:
            self._values[ratio_name] = self.figures.value(ratio_name)
        return self._values[ratio_name]

    def has_figure(self, ratio_name: str) -> bool:
        """Tell whether there is one that a ratio can be made of."""
        # Latencies of requests that timed out are there too, but no figure is made of them alone.
        return self.has_answers and 0 < self.value(ratio_name) < math.inf


class _Known:
    """Totals and figures of starts: a start does not change, and each look needs all of them."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._of: dict[tuple[int, int], _ArmOfStart] = {}
        """By the start's identity, which is its own as long as it is kept here, and by arm."""

    def of(self, start: StartRecord, arm: int) -> _ArmOfStart:
        """Return those of an arm of a start, merged when first asked for."""
        key = (id(start), arm)
        if key not in self._of:
            if len(self._of) >= self._room:
                del self._of[next(iter(self._of))]
            self._of[key] = _ArmOfStart(start, arm)
        return self._of[key]


_known = _Known(room=2_048)


def arm_totals(start: StartRecord, arm: int) -> ArmTotals:
    """Return an arm's totals over a start."""
    return _known.of(start, arm).totals


def start_figures(start: StartRecord, arm: int) -> ArmFigures:
    """Return an arm's figures over a start."""
    return _known.of(start, arm).figures


def arm_windows(start: StartRecord, arm: int) -> list[WindowRecord]:
    """Return one arm's windows of a start."""
    return [window for window in start.windows if window.arm == arm]


def log_ratios(
    starts: Sequence[StartRecord], ratio_name: str, *, a: int = 0, b: int = 1
) -> list[float]:
    """Return log(b / a) of each start for which both arms have the figure; (≤ n_starts,)."""
    ratios = []
    for start in starts:
        low, high = _known.of(start, a), _known.of(start, b)
        if low.has_figure(ratio_name) and high.has_figure(ratio_name):
            ratios.append(math.log(high.value(ratio_name) / low.value(ratio_name)))
    return ratios


def has_figures(start: StartRecord, arms: Iterable[int], ratio_name: str) -> bool:
    """Tell whether all these arms have the figure behind a ratio's name in a start."""
    return all(_known.of(start, arm).has_figure(ratio_name) for arm in arms)


def has_answers(start: StartRecord, arm: int) -> bool:
    """Tell whether an arm gave any right answer in the windows of a start."""
    return _known.of(start, arm).has_answers


def arm_summary(
    starts: Sequence[StartRecord], arm: int, configuration: Configuration
) -> ArmSummary:
    """Return what one arm did over all these starts."""
    of_starts = [arm_windows(start, arm) for start in starts]
    windows = [window for own in of_starts for window in own]
    phases = phase_figures([[w.measurement.beside for w in own] for own in of_starts])
    status, detail = arm_status(starts, arm)
    totals = ArmTotals.sum([arm_totals(start, arm) for start in starts])
    figures, latency = totals.figures, totals.times.get("latency", NO_VALUES)
    look, log = _look(starts, arm), _log(starts, arm)
    sizes = [w.telemetry.pss_bytes for w in windows if w.telemetry.pss_bytes is not None]
    ends = [w.telemetry for w in windows if w.telemetry.workers]
    shown = {
        key: figures.times_s[key]
        for of, data in totals.times.items()
        for name, q in QUANTILES.items()
        if can_show(data, q) and (key := percentile_of(of, name))
    }
    times_s = {n: s for n, s in shown.items() if distribution_of(n)[0] != "latency"}
    own = {n.removeprefix("latency_"): s for n, s in shown.items() if n not in times_s}
    return ArmSummary(
        configuration=configuration,
        status=status,
        detail=detail,
        n_starts=len(starts),
        throughput_per_s=_finite(figures.value("throughput")),
        cpu_s_per_request=_finite(figures.value("cpu_per_request")),
        bytes_per_request=_finite(figures.bytes_per_request),
        lookups_per_request=_known_or_none(figures.lookups_per_request),
        error_ratio=figures.error_ratio,
        latency_s={"mean": mean_s(latency), **own, "max": latency.max_s} if windows else {},
        latency=latency,
        times_s=times_s,
        pss_bytes=fmean(sizes) if sizes else None,
        usual_throughput_per_s=_known_or_none(figures.usual_throughput_per_s),
        slow_throughput_per_s=_known_or_none(figures.slow_throughput_per_s),
        uss_bytes_per_process=_known_or_none(figures.uss_bytes_per_process),
        ready_s=_known_or_none(figures.ready_s),
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
            _finite(start_figures(start, arm).value("throughput")) for start in starts
        ),
        look=look,
        bottleneck=None if look is None else with_own_words(bottleneck(look), log),
        log=log,
        calls=figures.calls,
        exits_per_request=_known_or_none(figures.exits_per_request),
        system_calls=figures.system_calls,
        header_words=figures.header_words,
        connecting=_connecting([w.measurement for w in windows]),
    )


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


def arm_status(starts: Sequence[StartRecord], arm: int) -> tuple[TrialStatus, str]:
    """Return how an arm came out over all starts: the first that was not complete decides."""
    for start in starts:
        if start.statuses[arm] != "complete":
            return start.statuses[arm], start.details[arm] if start.details else ""
    return "complete", ""


def _known_or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


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
    return min(_counts(starts, distribution_of(ratio_name)[0], arms), default=0)


def carries(
    starts: Sequence[StartRecord], ratio_name: str, arms: Sequence[int] | None = None
) -> bool:
    """Tell whether the starts hold enough requests for that ratio of these arms, or of all."""
    of, name = distribution_of(ratio_name)
    if not of:
        return True
    tails = [n * (1 - QUANTILES[name]) for n in _counts(starts, of, arms)]
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
    for metric in dict.fromkeys((*RATIO_OF_METRIC, *sorted(objective.named))):
        name = RATIO_OF_METRIC[metric]
        if (is_on_demand(metric) and metric not in objective.named) or not carries(starts, name):
            continue
        if name in CALL_RATIOS and not is_above_floor(
            starts, lambda start, arm: start_figures(start, arm).calls, name
        ):
            continue
        if no_ratio(starts, name):
            continue
        confidence = objective.confidence_of(metric)
        seen = ratio_interval(log_ratios(starts, name), confidence=confidence)
        interval = seen and lost_between_looks(starts, name).in_interval(seen)
        slack = doubt_about(starts, name).slack(0, 1)
        interval = interval and with_slack(interval, slack)
        # An interval without an end says nothing that its absence does not.
        if interval is not None and math.isfinite(interval.high):
            result[name] = interval
    return result
