"""The words and figures that all reports share, so that none says it another way."""

import math
from collections.abc import Sequence

from msgspec import structs

from httpdyno.model import (
    Caveat,
    Comparison,
    LadderStep,
    Outcome,
    RatioInterval,
    Sweep,
    SweepPoint,
    level_text,
)
from httpdyno.units import format_duration, format_rate

RATIO_KEYS = {"throughput_per_s": "throughput", "cpu_s_per_request": "cpu_per_request"}
NAMES = {
    "throughput": "throughput",
    "cpu_per_request": "CPU per request",
    "latency_p50": "p50 latency",
    "latency_p90": "p90 latency",
    "latency_p99": "p99 latency",
    "latency_p999": "p99.9 latency",
}
MORE_IS_BETTER = frozenset({"throughput"})
NOTHING = "–"
UNBOUNDED_PER_S = 1e9
"""A throughput that no server has: an interval that reaches it has no upper end yet."""
_FINE = 0.05
"""Intervals narrower than this need a third decimal to show their width."""


def ratio_key(metric: str) -> str:
    """Return the key in `Comparison.ratios` of an objective's metric."""
    return RATIO_KEYS.get(metric, metric.removesuffix("_s"))


def decider(comparison: Comparison) -> str:
    """Return the metric that the verdict rests on: the tie breaker, where that decided."""
    return comparison.decided_by or comparison.metric


def deciding(comparison: Comparison) -> RatioInterval | None:
    """Return the interval that the verdict rests on; None when nothing was measured."""
    return comparison.ratios.get(ratio_key(decider(comparison)))


def of_objective(comparison: Comparison) -> RatioInterval | None:
    """Return the interval of the objective's metric, which ladders multiply; None as above."""
    return comparison.ratios.get(ratio_key(comparison.metric))


def metric_name(metric: str) -> str:
    """Return an objective's metric in words: `CPU per request`."""
    key = ratio_key(metric)
    return NAMES.get(key, key.replace("_", " "))


def short_name(metric: str) -> str:
    """Return a metric as narrow places have it: `CPU`, `rate`, `p99`."""
    key = ratio_key(metric)
    return {"cpu_per_request": "CPU", "throughput": "rate"}.get(key, key.removeprefix("latency_"))


def verdict_words(comparison: Comparison) -> str:
    """Return `better`, or `better by CPU` where the tie breaker decided."""
    if not comparison.decided_by:
        return comparison.verdict
    return f"{comparison.verdict} by {short_name(comparison.decided_by)}"


def ratio_text(ratio: float | None, *, decimals: int | None = None) -> str:
    """Return a ratio with the digits that matter at its size, without `×`."""
    if ratio is None or not math.isfinite(ratio):
        return NOTHING
    if decimals is None:
        decimals = 0 if ratio >= 100 else 1 if ratio >= 10 else 2  # noqa: PLR2004 - three digits
    return f"{ratio:.{decimals}f}"


def _decimals(interval: RatioInterval) -> int | None:
    return 3 if interval.high - interval.low < _FINE and interval.ratio < 10 else None  # noqa: PLR2004


def interval_ratio_text(interval: RatioInterval | None) -> str:
    """Return an interval's middle, as precise as its width asks for."""
    if interval is None:
        return NOTHING
    return ratio_text(interval.ratio, decimals=_decimals(interval))


def bounds_text(interval: RatioInterval | None) -> str:
    """Return `4.61 … 5.24`; `unbounded` where the data bound nothing yet."""
    if interval is None:
        return NOTHING
    if interval.low <= 0 and not math.isfinite(interval.high):
        return "unbounded"
    decimals = _decimals(interval)
    low = ratio_text(interval.low, decimals=decimals)
    high = ratio_text(interval.high, decimals=decimals) if math.isfinite(interval.high) else "∞"
    return f"{low} … {high}"


def confidence_text(interval: RatioInterval, n_starts: int) -> str:
    """Return `95 % anytime-valid over 6 starts`."""
    return f"{interval.confidence * 100:g} % anytime-valid over {plural(n_starts, 'start')}"


def interval_text(interval: RatioInterval | None, n_starts: int) -> str:
    """Return `4.92 × (4.61 … 5.24; 95 % anytime-valid over 6 starts)`."""
    if interval is None:
        return "not measured"
    middle, bounds = interval_ratio_text(interval), bounds_text(interval)
    return f"{middle} × ({bounds}; {confidence_text(interval, n_starts)})"


def ratio_bounds_text(interval: RatioInterval | None) -> str:
    """Return `4.92 × (4.61 … 5.24)`."""
    if interval is None:
        return "not measured"
    return f"{interval_ratio_text(interval)} × ({bounds_text(interval)})"


def evidence_text(comparison: Comparison, *, is_brief: bool = False) -> str:
    """Return the ratio that decided.

    After a tie it is named, and the metric's own ratio stands beside it:
    `by CPU per request: 0.81 × (0.75 … 0.87), throughput 1.00 × (0.97 … 1.03)`.
    """
    interval = deciding(comparison)
    figure = (
        ratio_bounds_text(interval) if is_brief else interval_text(interval, comparison.n_starts)
    )
    if not comparison.decided_by:
        return figure
    name, tied = metric_name(comparison.decided_by), ratio_bounds_text(of_objective(comparison))
    return f"by {name}: {figure}, {metric_name(comparison.metric)} {tied}"


def plural(n: int, noun: str) -> str:
    """Return `1 start`, `6 starts`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def proven_bound(interval: RatioInterval, *, more_is_better: bool) -> float:
    """Return the end of the interval that a claim may be made of."""
    return interval.low if more_is_better else interval.high


def _claim(comparison: Comparison, *, is_given: bool) -> str:
    """Return the verdict first, then the number it rests on."""
    interval = deciding(comparison)
    subject = {"equivalent": "a and b are ", "inconclusive": ""}.get(comparison.verdict, "b is ")
    verdict = f"{subject if is_given else ''}{comparison.verdict}"
    if interval is None:
        return f"{verdict}: {comparison.reason}"
    if comparison.decided_by:
        return f"{verdict} {evidence_text(comparison, is_brief=True)}"
    so_far = " so far" if comparison.verdict == "inconclusive" else ""
    return (
        f"{verdict}: {interval_ratio_text(interval)} × the {metric_name(comparison.metric)}"
        f"{so_far} ({bounds_text(interval)})"
    )


def headline(outcome: Outcome) -> str:
    """Return what a study found, in one line."""
    if outcome.status == "failed":
        return f"failed: {outcome.message or 'no reason was recorded'}"
    if outcome.withdrawn:
        return outcome.withdrawn
    if outcome.sweep is not None:
        return _sweep_headline(outcome)
    if outcome.final is not None:
        return _claim(outcome.final, is_given=outcome.plan.command == "compare")
    done = sum(step.attempt == 1 for step in outcome.steps)
    planned = len(outcome.plan.steps)
    if outcome.status != "complete":
        return f"{outcome.status} after {done} of {plural(planned, 'step')}; {so_far(outcome)}"
    return "nothing was proven to help: no change was kept"


def step_name(step: LadderStep) -> str:
    """Return the knob's name, marked where the step was tried again."""
    return f"{step.knob}, again" if step.attempt > 1 else step.knob


def so_far(outcome: Outcome) -> str:
    """Return what the finished steps add up to; not a final claim, and it says so."""
    kept = [step for step in outcome.steps if step.kept]
    if not kept:
        return "no change was kept"
    total = ratio_text(kept[-1].running_ratio)
    return f"{plural(len(kept), 'change')} kept, {total} × by their product, not confirmed"


def has_run(point: SweepPoint) -> bool:
    """Tell whether a level was measured; the best one has no ratio to itself."""
    return point.arm.status == "complete" and point.arm.throughput_per_s > 0


def throughput_bounds(point: SweepPoint) -> tuple[float, float] | None:
    """Return a level's interval per second; None while the data bound nothing."""
    low, high = point.throughput_low_per_s, point.throughput_high_per_s
    return (low, high) if 0 < low <= high < UNBOUNDED_PER_S else None


def rate_bounds_text(point: SweepPoint) -> str:
    """Return `6,116/s … 6,265/s`; `unbounded` where the data bound nothing yet."""
    bounds = throughput_bounds(point)
    return "unbounded" if bounds is None else " … ".join(format_rate(end) for end in bounds)


def of_best_text(point: SweepPoint, sweep: Sweep) -> str:
    """Return a level's ratio to the best one, which has itself no ratio."""
    if point.level == sweep.best:
        return "1"
    return interval_ratio_text(point.ratio_to_best)


def p99_of(point: SweepPoint) -> float | None:
    """Return a level's p99 in seconds; None where the sample does not carry one."""
    return point.latency_p99_s if has_run(point) and point.latency_p99_s > 0 else None


def _sweep_headline(outcome: Outcome) -> str:
    sweep = outcome.sweep
    if sweep is None or not sweep.points:
        return f"{outcome.status}: no level was measured"
    rates = {level_text(p.level): p.arm.throughput_per_s for p in sweep.points}
    knee, best = level_text(sweep.knee), level_text(sweep.best)
    text = f"the knee of {sweep.knob} is {knee}, at {format_rate(rates.get(knee, 0.0))}"
    if best != knee:
        text += f"; the best is {best}, at {format_rate(rates.get(best, 0.0))}"
    return text if outcome.status == "complete" else f"{outcome.status}; so far {text}"


def next_command(outcome: Outcome) -> str:
    """Return the command that makes most sense now."""
    if outcome.status in {"interrupted", "running"}:
        return f"httpdyno study run --resume {outcome.id}"
    return f"httpdyno report {outcome.id} --html report.html"


def needed_text(comparison: Comparison) -> str:
    """Return how long an inconclusive comparison would still take; empty when it is decided."""
    if comparison.verdict != "inconclusive" or comparison.needed_s is None:
        return ""
    return f"about {format_duration(comparison.needed_s)} more would decide it"


def configuration_changes(outcome: Outcome) -> list[tuple[str, str, str]]:
    """Return the smallest difference between start and result: (knob, before, after)."""
    if outcome.plan.compare is not None:
        before, after = outcome.plan.compare
    else:
        before, after = outcome.plan.study.start_configuration(), outcome.configuration
    if not after.values:
        return []
    return [
        (name, level_text(old), level_text(new))
        for name, (old, new) in before.changes(after).items()
    ]


def arm_names(outcome: Outcome) -> tuple[str, str]:
    """Return what the two arms of the final comparison are called."""
    if outcome.plan.command == "compare":
        return "a", "b"
    return "start", "final" if outcome.sweep is None else "knee"


def final_label(outcome: Outcome) -> str:
    """Return `b over a`, `final over start` or `knee over start`."""
    before, after = arm_names(outcome)
    return f"{after} over {before}"


def changes_title(outcome: Outcome) -> str:
    """Return what the changes are, as far as it was proven."""
    if outcome.plan.command == "compare":
        return "from a to b"
    if outcome.final is None:
        return "changes kept so far"
    return "proven changes" if outcome.final.verdict == "better" else "changes kept, not confirmed"


def outcome_caveats(outcome: Outcome) -> list[Caveat]:
    """Return the caveats of the whole, then those of its parts, each once and saying of which."""
    parts = [(f"{step.knob} → {level_text(step.after)}", step.comparison) for step in outcome.steps]
    if outcome.final is not None:
        parts.append(("final", outcome.final))
    names: dict[Caveat, list[str]] = {}
    for name, comparison in parts:
        for caveat in comparison.caveats:
            if caveat not in outcome.caveats:
                names.setdefault(caveat, []).append(name)
    of_parts = [
        structs.replace(caveat, message=f"{', '.join(of)}: {caveat.message}")
        if len(parts) > 1
        else caveat
        for caveat, of in names.items()
    ]
    return [*dict.fromkeys(outcome.caveats), *of_parts]


def method_sentences(outcome: Outcome) -> tuple[str, str]:
    """Return how the figures were made, in two sentences."""
    method, objective = outcome.plan.study.method, outcome.plan.study.objective
    arms = "the levels" if outcome.sweep is not None else "both configurations"
    n_windows = int(outcome.calibration.get("n_blocks", method.blocks_per_start))
    first = (
        f"Private instances of {arms} stood side by side and were loaded in turn, in random "
        f"order, {plural(n_windows, 'window')} of "
        f"{format_duration(method.window_s)} each; then all were stopped and started afresh, "
        f"and nothing is claimed from fewer than {method.min_starts} such starts."
    )
    second = (
        f"Each start gives one ratio, and the interval around their geometric mean is "
        f"anytime-valid: with {objective.confidence * 100:g} % confidence it holds the truth "
        f"however often one looks; differences within ±{objective.margin_ratio * 100:g} % are "
        f"called equivalent."
    )
    return first, second


def oxford(words: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
