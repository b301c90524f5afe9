"""What may be said of two configurations after some starts; pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from httpdyno.experiment.evidence import (
    RATIO_OF_METRIC,
    arm_status,
    arm_summary,
    carries,
    log_ratios,
    noise,
    ratio_intervals,
    window_caveats,
)
from httpdyno.experiment.little import little_doubt
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Configuration,
    Objective,
    RatioInterval,
    StartRecord,
    Verdict,
)
from httpdyno.stats.histogram import quantile_s
from httpdyno.stats.sequence import ratio_interval, starts_needed
from httpdyno.stats.verdict import distance_to_decision, verdict
from httpdyno.units import format_duration

METRIC_NAMES = {
    "throughput_per_s": "throughput",
    "cpu_s_per_request": "CPU per request",
    "latency_p50_s": "p50 latency",
    "latency_p90_s": "p90 latency",
    "latency_p99_s": "p99 latency",
    "latency_p999_s": "p99.9 latency",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Where a comparison stands after some starts."""

    verdict: Verdict
    reason: str
    n_starts: int
    interval: RatioInterval | None = None
    starts_needed: int | None = None
    """Starts that a decision is expected to take in all; None: out of sight."""
    decided_by: str = ""
    """The tie breaker, where it decided."""
    may_change: bool = False
    """The metric has spoken, but its tie breaker may still."""

    @property
    def is_decided(self) -> bool:
        """Whether more starts are not needed for a verdict."""
        return self.verdict != "inconclusive" and not self.may_change


def claim(starts: Sequence[StartRecord], objective: Objective, *, min_starts: int) -> Claim:
    """Return what may be said of arm 1 against arm 0 after these starts.

    The objective's metric decides. Where it shows no difference, or none yet, its tie breaker may;
    each of the two then has half of the risk, so that both together keep the confidence.
    """
    status, detail = arm_status(starts, 1)
    if status != "complete":
        words = f"the candidate {_STATUS_WORDS[status]}: {detail}".rstrip(": ")
        return Claim(verdict="worse", reason=words, n_starts=len(starts))
    first = _claim(starts, objective, objective.metric, min_starts)
    if first.verdict in {"better", "worse"} or not objective.tie_breaker:
        return first
    second = _claim(starts, objective, objective.tie_breaker, min_starts)
    if second.verdict not in {"better", "worse"} or not _loses_little(first.interval, objective):
        needed = _needed(first, second, starts, objective)
        return replace(first, starts_needed=needed, may_change=not second.is_decided)
    names = METRIC_NAMES[objective.metric], METRIC_NAMES[objective.tie_breaker]
    state = (
        "is equivalent"
        if first.verdict == "equivalent"
        else f"is proven to lose less than {MAY_LOSE:.0%}"
    )
    return replace(
        second,
        interval=first.interval,
        decided_by=objective.tie_breaker,
        reason=f"{names[0]} {state}; {names[1]} decides: {second.reason}",
    )


MAY_LOSE = 0.1
"""The tie breaker may decide when the metric is proven to lose less than this.

Not when it is merely undecided: where little is known, much may be lost. And not only when it is
equivalent: a hundredth takes many times the starts, for a change whose worth is proven already.
"""


def _loses_little(interval: RatioInterval | None, objective: Objective) -> bool:
    if interval is None:
        return False
    if objective.metric == "throughput_per_s":
        return interval.low >= 1 - MAY_LOSE
    return interval.high <= 1 / (1 - MAY_LOSE)


def _needed(
    first: Claim, second: Claim, starts: Sequence[StartRecord], objective: Objective
) -> int | None:
    """Return the starts after which the metric alone, or both together, are expected to decide."""
    alone = first.starts_needed
    ratios = log_ratios(starts, RATIO_OF_METRIC[objective.metric])
    if len(ratios) < 2 or second.interval is None:  # noqa: PLR2004 - a spread takes two
        return alone
    gain = fmean(ratios) if objective.metric == "throughput_per_s" else -fmean(ratios)
    room = gain - math.log(1 - MAY_LOSE)
    if room <= 0:
        return alone
    little = starts_needed(stdev(ratios), room, alpha=1 - objective.deciding_confidence)
    other = len(starts) if second.is_decided else second.starts_needed
    together = None if little is None or other is None else max(little, other)
    return min((n for n in (alone, together) if n is not None), default=None)


def _claim(
    starts: Sequence[StartRecord], objective: Objective, metric: str, min_starts: int
) -> Claim:
    ratios = log_ratios(starts, RATIO_OF_METRIC[metric])
    confidence = objective.deciding_confidence
    if len(starts) >= min_starts and not carries(starts, RATIO_OF_METRIC[metric]):
        words = f"a start holds too few requests for its {METRIC_NAMES[metric]}"
        return Claim(verdict="inconclusive", reason=words, n_starts=len(starts))
    interval = ratio_interval(ratios, confidence=confidence)
    n = len(ratios)
    if n < min_starts or interval is None:
        words = f"{n} starts of at least {min_starts}"
        return Claim(
            verdict="inconclusive",
            reason=words,
            interval=interval,
            n_starts=n,
            starts_needed=min_starts if len(starts) < min_starts else None,
        )
    doubt = little_doubt(starts) if metric == "throughput_per_s" else ""
    if doubt:
        return Claim(verdict="inconclusive", reason=doubt, interval=interval, n_starts=n)
    word = verdict(
        interval,
        margin_ratio=objective.margin_ratio,
        more_is_better=metric == "throughput_per_s",
    )
    wanted = distance_to_decision(interval, margin_ratio=objective.margin_ratio)
    needed = starts_needed(stdev(ratios), wanted, alpha=1 - confidence)
    return Claim(
        verdict=word,
        reason=_reason(word, interval, objective, (n, needed)),
        interval=interval,
        n_starts=n,
        starts_needed=needed,
    )


_STATUS_WORDS = {
    "refused": "was refused by the server",
    "crashed": "crashed",
    "hung": "stopped answering",
    "unstable": "was unstable",
    "infeasible": "broke a limit",
}


def _reason(
    word: Verdict, interval: RatioInterval, objective: Objective, starts: tuple[int, int | None]
) -> str:
    n, needed = starts
    if word == "equivalent":
        return f"the whole interval lies within ±{objective.margin_ratio:.1%}"
    if word == "inconclusive":
        more = f"about {needed} starts would decide" if needed else "no number of starts in reach"
        return f"the interval still holds 1 after {n} starts; {more}"
    side = "above" if interval.low > 1 else "below"
    return f"the whole interval lies {side} 1 after {n} starts"


def limit_broken(arm: ArmSummary, objective: Objective) -> str:
    """Return the objective's limit that the arm breaks, in words; empty when it keeps all."""
    if arm.error_ratio > objective.max_error_ratio:
        return (
            f"{arm.error_ratio:.2%} of requests failed; "
            f"the limit is {objective.max_error_ratio:.2%}"
        )
    # From however few requests: a limit that needs a large sample to bind would protect nobody.
    p99_s = quantile_s(arm.latency, 0.99)
    if objective.max_p99_s is not None and p99_s > objective.max_p99_s:
        return (
            f"p99 latency is {format_duration(p99_s)}; "
            f"the limit is {format_duration(objective.max_p99_s)}"
        )
    return ""


def comparison(
    index: int,
    starts: Sequence[StartRecord],
    configurations: tuple[Configuration, Configuration],
    objective: Objective,
    *,
    min_starts: int,
) -> Comparison:
    """Return the comparison that these starts make."""
    state = claim(starts, objective, min_starts=min_starts)
    ratios = log_ratios(starts, RATIO_OF_METRIC[objective.metric])
    duration_s = math.fsum(start.duration_s for start in starts)
    left = (state.starts_needed or 0) - len(starts)
    per_start_s = duration_s / len(starts) if starts else 0.0
    undecided = state.verdict == "inconclusive"
    return Comparison(
        index=index,
        a=arm_summary(starts, 0, configurations[0]),
        b=arm_summary(starts, 1, configurations[1]),
        verdict=state.verdict,
        reason=state.reason,
        metric=objective.metric,
        decided_by=state.decided_by,
        n_starts=len(starts),
        ratios=ratio_intervals(starts, confidence=objective.deciding_confidence),
        per_start_ratio=tuple(math.exp(value) for value in ratios),
        noise=noise(starts, ratios),
        needed_s=left * per_start_s if undecided and state.starts_needed and left > 0 else None,
        duration_s=duration_s,
        caveats=window_caveats(starts),
    )
