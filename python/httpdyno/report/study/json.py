"""A study's outcome as JSON.

The types below are the documentation: `outcome_json` can return nothing else.
"""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from httpdyno.model import (
    ArmSummary,
    Caveat,
    Comparison,
    Configuration,
    HostFacts,
    LadderStep,
    Level,
    Method,
    Objective,
    Outcome,
    RatioInterval,
    Record,
    SecondClaim,
    Step,
    Sweep,
    TrialStatus,
    Verdict,
    Workload,
    level_text,
)
from httpdyno.model.metric import RATIO_NAMES
from httpdyno.report.study.finding import headline
from httpdyno.report.study.verdict_text import (
    p99_of,
    shown_ratios,
    shown_verdict,
    throughput_bounds,
)

SCHEMA_VERSION = 1


class RatioJson(Record, frozen=True):
    """After over before, with an anytime-valid interval over starts; 1 is no difference."""

    ratio: float
    low: float
    high: float | None
    """None where the data bound nothing from above."""
    confidence: float


class ArmJson(Record, frozen=True):
    """What one configuration did over all its starts."""

    configuration: dict[str, Level]
    status: TrialStatus
    detail: str
    n_starts: int
    throughput_per_s: float
    cpu_s_per_request: float
    error_ratio: float
    statuses: dict[str, int]
    """Answers by their status, of all windows."""
    errors: dict[str, int]
    """Requests that did not get the right answer, by kind, of all windows."""
    latency_s: dict[str, float]
    pss_bytes: float | None
    n_processes: float
    start_throughputs_per_s: tuple[float, ...]
    effective: dict[str, str]
    """What the running server said of itself, in its own words."""
    limited_by: dict[str, int]
    """Windows by who was the limit in them."""


class ClaimJson(Record, frozen=True):
    """What a comparison proves, and how.

    Of the ratios, those of `metric` and of what is told beside it share the objective's risk. The
    others claim nothing: the confidence of each is for itself alone.
    """

    change: str
    verdict: Verdict
    reason: str
    metric: str
    decided_by: str
    """The tie breaker, where that decided; else empty."""
    second: SecondClaim | None
    """What is proven of the second metric, whose interval is among the ratios. None where the study
    has none, or the candidate failed. `also` is the same of further metrics."""
    also: tuple[SecondClaim, ...]
    throughput_ratio: RatioJson | None
    cpu_per_request_ratio: RatioJson | None
    latency_p50_ratio: RatioJson | None
    latency_p90_ratio: RatioJson | None
    latency_p99_ratio: RatioJson | None
    latency_p999_ratio: RatioJson | None
    book_ratio: float | None
    """The founding documents' figure."""
    n_starts: int
    per_start_ratio: tuple[float, ...]
    noise: dict[str, float]
    needed_s: float | None
    """Time that an inconclusive comparison would still take, estimated."""
    duration_s: float
    caveats: tuple[Caveat, ...]
    before_arm: ArmJson
    after_arm: ArmJson


class ChangeJson(Record, frozen=True):
    """A knob that a step changed."""

    knob: str
    before: Level
    after: Level


class StepJson(ClaimJson, frozen=True):
    """One change of a ladder against the best so far."""

    knob: str
    """Empty where it was a candidate."""
    title: str
    before: Level | None
    after: Level | None
    """None, both, where it was a candidate."""
    candidate: str
    """Its name; empty where one knob was changed."""
    changes: tuple[ChangeJson, ...]
    """What was changed: one knob, or those of the candidate."""
    kept: bool
    """Of several candidates that are compared with one: whether it is better, within limits."""
    attempt: int
    """2 where it was tried again after a later change was kept."""
    running_ratio: float
    """Product of the ratios of the changes kept so far."""


class FinalJson(ClaimJson, frozen=True):
    """Final (of a sweep: the knee) over start on fresh starts; for `compare`, b over a."""

    configuration: dict[str, Level]


class PointJson(Record, frozen=True):
    """One level of a sweep."""

    level: Level
    throughput_per_s: float
    throughput_low_per_s: float | None
    throughput_high_per_s: float | None
    """None, both, where the data bound nothing."""
    ratio_to_best: RatioJson | None
    """None for the best level itself, and where there is none."""
    book_ratio: float | None
    cpu_s_per_request: float
    latency_p50_s: float | None
    latency_p99_s: float | None
    arm: ArmJson


class SweepJson(Record, frozen=True):
    """A knob over its levels."""

    knob: str
    unit: str
    points: tuple[PointJson, ...]
    best: Level
    knee: Level
    rule: str


class PlanJson(Record, frozen=True):
    """What the run set out to do."""

    title: str
    adapter: str
    budget_s: float | None
    """None where it went on until decided."""
    workload: Workload
    objective: Objective
    method: Method
    steps: tuple[str, ...]
    start: dict[str, Level]
    reference: dict[str, Level] | None
    """What each step is compared with, where several candidates are; None elsewhere."""
    confidence_of_each: float
    """Of each comparison, where several share the objective's risk."""
    book_figure: str
    book_ratio: float | None


class OutcomeJson(Record, frozen=True):
    """Everything a study found."""

    schema_version: int
    id: str
    study: str
    command: str
    status: str
    headline: str
    message: str
    began_at: str
    duration_s: float
    seed: int
    plan: PlanJson
    host: HostFacts
    caveats: tuple[Caveat, ...]
    steps: tuple[StepJson, ...]
    final: FinalJson | None
    sweep: SweepJson | None
    calibration: dict[str, float]
    configuration: dict[str, Level]
    overlay_diff: str
    """What to change in the server's files, environment and command line, start against final."""
    not_tried: tuple[str, ...]
    """Steps that were left out for want of time."""
    needed_s: float | None
    """Time that they would take, estimated."""
    withdrawn: str
    """Why what was kept was taken back at the end; empty where it was not."""


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome in built-in types, ready for any JSON writer."""
    study = outcome.plan.study
    record = OutcomeJson(
        schema_version=SCHEMA_VERSION,
        id=outcome.id,
        study=study.name,
        command=outcome.plan.command,
        status=outcome.status,
        headline=headline(outcome),
        message=outcome.message,
        began_at=outcome.began_at,
        duration_s=outcome.duration_s,
        seed=outcome.plan.seed,
        plan=_plan(outcome),
        host=outcome.host,
        caveats=outcome.caveats,
        steps=tuple(_step(step) for step in outcome.steps),
        final=None if outcome.final is None else _final(outcome, outcome.final),
        sweep=None if outcome.sweep is None else _sweep(outcome, outcome.sweep),
        calibration=_finite(outcome.calibration),
        configuration=outcome.configuration.values,
        overlay_diff=outcome.overlay_diff,
        not_tried=_labels(outcome.not_tried),
        needed_s=outcome.needed_s,
        withdrawn=outcome.withdrawn,
    )
    plain: dict[str, Any] = msgspec.to_builtins(record)
    return plain


def change_text(before: Configuration, after: Configuration) -> str:
    """Return `knob: before → after, …`; `no change` for two equal configurations."""
    changes = before.changes(after) if after.values else {}
    texts = [
        f"{name}: {level_text(old)} → {level_text(new)}" for name, (old, new) in changes.items()
    ]
    return ", ".join(texts) or "no change"


def _plan(outcome: Outcome) -> PlanJson:
    study = outcome.plan.study
    return PlanJson(
        title=study.title,
        adapter=study.server.adapter,
        budget_s=None if study.is_until_decided else study.budget_s,
        workload=study.workload,
        objective=study.objective,
        method=study.method,
        steps=_labels(outcome.plan.steps),
        start=study.start_configuration().values,
        reference=None if outcome.plan.reference is None else outcome.plan.reference.values,
        confidence_of_each=outcome.plan.objective.confidence,
        book_figure=study.book_figure,
        book_ratio=study.book_ratio,
    )


def _labels(steps: Sequence[Step]) -> tuple[str, ...]:
    return tuple(step.whole_label for step in steps)


def _ratio(interval: RatioInterval | None) -> RatioJson | None:
    if interval is None:
        return None
    return RatioJson(
        ratio=interval.ratio,
        low=interval.low,
        high=interval.high if math.isfinite(interval.high) else None,
        confidence=interval.confidence,
    )


def _finite(figures: dict[str, float]) -> dict[str, float]:
    """Return the figures without those that are not numbers: JSON has no word for them."""
    return {name: value for name, value in figures.items() if math.isfinite(value)}


def _arm(arm: ArmSummary) -> ArmJson:
    return ArmJson(
        configuration=arm.configuration.values,
        status=arm.status,
        detail=arm.detail,
        n_starts=arm.n_starts,
        throughput_per_s=arm.throughput_per_s,
        cpu_s_per_request=arm.cpu_s_per_request,
        error_ratio=arm.error_ratio,
        statuses=arm.statuses,
        errors=arm.errors,
        latency_s=_finite(arm.latency_s),
        pss_bytes=arm.pss_bytes,
        n_processes=arm.n_processes,
        start_throughputs_per_s=arm.start_throughputs_per_s,
        effective=arm.effective.values,
        limited_by=arm.limited_by,
    )


def _claim(comparison: Comparison) -> dict[str, Any]:
    """Return what steps and the final comparison have in common, as keyword arguments."""
    ratios = {f"{name}_ratio": _ratio(shown_ratios(comparison).get(name)) for name in RATIO_NAMES}
    return {
        **ratios,
        "verdict": shown_verdict(comparison),
        "reason": comparison.reason,
        "metric": comparison.metric,
        "decided_by": comparison.decided_by,
        "second": comparison.second,
        "also": comparison.also,
        "n_starts": comparison.n_starts,
        "per_start_ratio": comparison.per_start_ratio,
        "noise": _finite(comparison.noise),
        "needed_s": comparison.needed_s,
        "duration_s": comparison.duration_s,
        "caveats": comparison.caveats,
        "before_arm": _arm(comparison.a),
        "after_arm": _arm(comparison.b),
    }


def _step(step: LadderStep) -> StepJson:
    return StepJson(
        **_claim(step.comparison),
        change=step.change,
        attempt=step.attempt,
        knob=step.knob,
        title=step.title,
        before=None if step.candidate else step.before,
        after=None if step.candidate else step.after,
        candidate=step.candidate,
        changes=tuple(
            ChangeJson(knob=name, before=before, after=after)
            for name, (before, after) in step.changes.items()
        ),
        kept=step.kept,
        book_ratio=step.book_ratio,
        running_ratio=step.running_ratio,
    )


def _final(outcome: Outcome, final: Comparison) -> FinalJson:
    is_comparison = outcome.plan.command == "compare"
    return FinalJson(
        **_claim(final),
        change=change_text(final.a.configuration, final.b.configuration),
        configuration=final.b.configuration.values,
        book_ratio=None if is_comparison else outcome.plan.study.book_ratio,
    )


def book_ratios(outcome: Outcome) -> dict[Level, float]:
    """Return the founding documents' ratio of each level of a sweep that has one."""
    return {s.to: s.book_ratio for s in outcome.plan.steps if s.book_ratio is not None}


def _sweep(outcome: Outcome, sweep: Sweep) -> SweepJson:
    book = book_ratios(outcome)
    return SweepJson(
        knob=sweep.knob,
        unit=sweep.unit,
        points=tuple(
            PointJson(
                level=point.level,
                throughput_per_s=point.arm.throughput_per_s,
                throughput_low_per_s=(throughput_bounds(point) or (None, None))[0],
                throughput_high_per_s=(throughput_bounds(point) or (None, None))[1],
                ratio_to_best=_ratio(point.ratio_to_best),
                book_ratio=book.get(point.level),
                cpu_s_per_request=point.arm.cpu_s_per_request,
                latency_p50_s=point.arm.latency_s.get("p50"),
                latency_p99_s=p99_of(point),
                arm=_arm(point.arm),
            )
            for point in sweep.points
        ),
        best=sweep.best,
        knee=sweep.knee,
        rule=sweep.rule,
    )
