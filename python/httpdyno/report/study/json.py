"""A study's outcome as JSON.

The types in `json_record.py` are the documentation: `outcome_json` can return nothing else.
"""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from httpdyno.model import (
    ArmSummary,
    Comparison,
    Configuration,
    Factorial,
    LadderStep,
    Level,
    Outcome,
    RatioInterval,
    SecondClaim,
    Step,
    Sweep,
    level_text,
)
from httpdyno.report.shared.caveat import caveats
from httpdyno.report.shared.message import joined, text
from httpdyno.report.study.factorial_words import interaction_sentences
from httpdyno.report.study.finding import headline
from httpdyno.report.study.json_record import (
    ArmJson,
    ChangeJson,
    EffectJson,
    FactorialJson,
    FactorJson,
    FinalJson,
    OutcomeJson,
    PlanJson,
    PointJson,
    RatioJson,
    SecondJson,
    SimpleEffectJson,
    StepJson,
    SweepJson,
)
from httpdyno.report.study.settling_text import settling_json
from httpdyno.report.study.verdict_text import (
    detail_text,
    has_run,
    p99_of,
    point_bounds,
    shown_ratios,
)

SCHEMA_VERSION = 2


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
        message=joined(outcome.ended_by),
        began_at=outcome.began_at,
        duration_s=outcome.duration_s,
        seed=outcome.plan.seed,
        plan=_plan(outcome),
        host=outcome.host,
        caveats=caveats(outcome.warnings),
        steps=tuple(_step(step) for step in outcome.steps),
        final=None if outcome.final is None else _final(outcome, outcome.final),
        sweep=None if outcome.sweep is None else _sweep(outcome, outcome.sweep),
        factorial=None if outcome.factorial is None else _factorial(outcome.factorial),
        settling=settling_json(outcome),
        calibration=_finite(outcome.calibration),
        configuration=outcome.configuration.values,
        overlay_diff=outcome.overlay_diff,
        not_tried=_labels(outcome.not_tried),
        needed_s=outcome.needed_s,
        withdrawn="" if outcome.withdrawn is None else text(outcome.withdrawn),
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
    study, start = outcome.plan.study, outcome.plan.study.start_configuration()
    return PlanJson(
        title=study.title,
        adapter=study.server.adapter,
        budget_s=None if study.is_until_decided else study.budget_s,
        workload=None if study.fragments else study.load_of(start),
        fragments=study.fragments,
        objective=study.objective,
        method=study.method,
        steps=_labels(outcome.plan.steps),
        start=start.values,
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
        detail=detail_text(arm),
        n_starts=arm.n_starts,
        throughput_per_s=arm.throughput_per_s,
        cpu_s_per_request=arm.cpu_s_per_request,
        bytes_per_request=arm.bytes_per_request,
        calls_per_request=None if arm.system_calls is None else arm.system_calls.per_request,
        calls_by_kind={} if arm.system_calls is None else arm.system_calls.by_kind,
        lookups_per_request=arm.lookups_per_request,
        handshakes_full_per_request=arm.connecting.handshakes_full_per_request,
        handshakes_resumed_per_request=arm.connecting.handshakes_resumed_per_request,
        listen_overflows=arm.connecting.listen_overflows,
        syn_retransmits=arm.connecting.syn_retransmits,
        error_ratio=arm.error_ratio,
        statuses=arm.statuses,
        errors=arm.errors,
        latency_s=_finite(arm.latency_s),
        times_s=_finite(arm.times_s),
        figures=_finite(arm.figures),
        phases=arm.phases,
        pss_bytes=arm.pss_bytes,
        usual_throughput_per_s=arm.usual_throughput_per_s,
        slow_throughput_per_s=arm.slow_throughput_per_s,
        uss_bytes_per_process=arm.uss_bytes_per_process,
        ready_s=arm.ready_s,
        n_processes=arm.n_processes,
        workers=arm.workers,
        zombies=arm.zombies,
        start_throughputs_per_s=arm.start_throughputs_per_s,
        effective=arm.effective.values,
        limited_by=arm.limited_by,
        bottleneck=arm.bottleneck,
        look=arm.look,
        log=arm.log,
        calls=arm.calls,
        header_words=arm.header_words,
    )


def _claim(comparison: Comparison) -> dict[str, Any]:
    """Return what steps and the final comparison have in common, as keyword arguments."""
    return {
        "ratios": {name: _ratio(each) for name, each in shown_ratios(comparison).items()},
        "verdict": comparison.verdict,
        "reason": joined(comparison.reasons),
        "metric": comparison.metric,
        "decided_by": comparison.decided_by,
        "second": comparison.second and _second(comparison.second),
        "also": tuple(map(_second, comparison.also)),
        "n_starts": comparison.n_starts,
        "per_start_ratio": comparison.per_start_ratio,
        "noise": _finite(comparison.noise),
        "needed_s": comparison.needed_s,
        "duration_s": comparison.duration_s,
        "caveats": caveats(comparison.warnings),
        "before_arm": _arm(comparison.a),
        "after_arm": _arm(comparison.b),
    }


def _second(claim: SecondClaim) -> SecondJson:
    return SecondJson(metric=claim.metric, verdict=claim.verdict, reason=joined(claim.reasons))


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


def _factorial(found: Factorial) -> FactorialJson:
    return FactorialJson(
        knobs=tuple(
            FactorJson(knob=knob, start=start, to=to) for knob, (start, to) in found.levels.items()
        ),
        metric=found.metric,
        n_starts=found.n_starts,
        effects=tuple(
            EffectJson(
                knobs=each.knobs,
                verdict=each.verdict,
                ratio=_ratio(each.ratio),
                reason=joined(each.reasons),
                decided_by=each.decided_by,
                tie_ratio=_ratio(each.tie),
            )
            for each in found.effects
        ),
        simple_effects=tuple(
            SimpleEffectJson(
                knob=each.knob,
                given=each.given,
                is_given_changed=each.is_given_changed,
                ratio=_ratio(each.ratio),
            )
            for each in found.simple
        ),
        sentences=tuple(interaction_sentences(found)),
        doubt=joined(found.unclaimed),
        tie_breaker=found.tie_breaker,
        not_run=tuple(found.arms[number].configuration.values for number in found.gone),
        arms=tuple(_arm(arm) for arm in found.arms),
    )


def _sweep(outcome: Outcome, sweep: Sweep) -> SweepJson:
    book = book_ratios(outcome)
    is_of_rate = sweep.metric == "throughput_per_s"
    return SweepJson(
        knob=sweep.knob,
        unit=sweep.unit,
        points=tuple(
            PointJson(
                level=point.level,
                throughput_per_s=point.arm.throughput_per_s,
                throughput_low_per_s=low if is_of_rate else None,
                throughput_high_per_s=high if is_of_rate else None,
                value=point.value if has_run(point) else None,
                low=low,
                high=high,
                ratio_to_best=_ratio(point.ratio_to_best),
                book_ratio=book.get(point.level),
                cpu_s_per_request=point.arm.cpu_s_per_request,
                latency_p50_s=point.arm.latency_s.get("p50"),
                latency_p99_s=p99_of(point),
                arm=_arm(point.arm),
            )
            for point in sweep.points
            for low, high in [point_bounds(point) or (None, None)]
        ),
        metric=sweep.metric,
        best=sweep.best,
        knee=sweep.knee,
        rule=sweep.rule,
        pool=sweep.pool,
    )
