"""Outcomes in which a second metric has a claim of its own, as `sample` makes those without one."""

from msgspec import structs
from tests.report import sample, sample_figures

from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Objective,
    Outcome,
    Phase,
    PhaseFigures,
    RatioInterval,
    SecondClaim,
    Verdict,
)
from httpdyno.stats.verdict import verdict

OBJECTIVE = Objective(second_metric="cpu_s_per_request")


def second_of(interval: RatioInterval) -> SecondClaim:
    """Return the claim that an interval of the CPU time per request makes."""
    word = verdict(interval, margin_ratio=OBJECTIVE.margin_ratio, more_is_better=False)
    return SecondClaim(
        metric="cpu_s_per_request", verdict=word, reasons=said("so its interval lies")
    )


def heard(comparison: Comparison, cpu: RatioInterval | None = None) -> Comparison:
    """Return the comparison with what its CPU time per request proves, or another one's."""
    ratios = {**comparison.ratios}
    ratios["throughput"] = structs.replace(ratios["throughput"], confidence=0.96)
    cpu = structs.replace(cpu or ratios["cpu_per_request"], confidence=0.99)
    ratios["cpu_per_request"] = cpu
    return structs.replace(comparison, ratios=ratios, second=second_of(cpu))


def asked(outcome: Outcome, new_id: str) -> Outcome:
    """Return the outcome as that of a study with a second metric."""
    study = structs.replace(outcome.plan.study, objective=OBJECTIVE)
    return structs.replace(outcome, id=new_id, plan=structs.replace(outcome.plan, study=study))


def compare_of(word: Verdict, cpu: RatioInterval) -> Outcome:
    """Return two configurations of which that is known of the CPU time per request."""
    whole = asked(sample.a_against_a(), "20250611-book-5ec0")
    assert whole.final is not None
    rate = whole.final.a.throughput_per_s
    final = sample_figures.comparison(
        0,
        whole.final.a,
        sample_figures.arm(dict(whole.configuration.values), rate * 1.01, cores=1.9 * 0.92),
        word,
        "the interval still holds 1, no difference, after 6 starts",
        half_width=0.078,
        needed_s=190.0,
    )
    return structs.replace(whole, final=heard(final, cpu))


def second_compare() -> Outcome:
    """Return two configurations of which one is cheaper, and nobody knows whether faster."""
    return compare_of("inconclusive", sample_figures.interval(0.911, 0.031))


def second_ladder() -> Outcome:
    """Return a ladder whose steps say the same of CPU and throughput, or not, or nothing."""
    whole = asked(sample.ladder(), "20250611-asp-5ec0")
    assert whole.final is not None
    cheaper, dearer, same, unknown = (
        sample_figures.interval(ratio, width)
        for ratio, width in ((0.912, 0.03), (1.14, 0.05), (1.001, 0.004), (0.99, 0.07))
    )
    of_steps = (None, unknown, same, dearer, cheaper, None)
    steps = tuple(
        structs.replace(step, comparison=heard(step.comparison, cpu))
        for step, cpu in zip(whole.steps, of_steps, strict=True)
    )
    return structs.replace(whole, steps=steps, final=heard(whole.final))


def second_alone() -> Outcome:
    """Return two configurations whose metric has no figure, while the second one proves a lot."""
    whole = second_compare()
    assert whole.final is not None
    reason = (
        "a start holds 240 requests, too few requests for its p99.9 latency; a longer "
        "`method.window` or more `blocks_per_start` has more"
    )
    final = structs.replace(
        whole.final,
        metric="latency_p999_s",
        verdict="not_measured",
        reasons=said(reason),
        needed_s=None,
    )
    return structs.replace(whole, id="20250611-book-5ec1", final=final)


def phased() -> Outcome:
    """Return a comparison of what an expired cache does, with a cold and a full one beside it."""
    whole = second_compare()
    assert whole.final is not None
    phases = tuple(Phase(name=name) for name in ("cold", "warm", "expired"))
    method = structs.replace(whole.plan.study.method, phases=phases, decides="expired")
    study = structs.replace(whole.plan.study, method=method)

    def with_phases(arm: ArmSummary, share: float) -> ArmSummary:
        cold, warm = (
            PhaseFigures(
                throughput_per_s=arm.throughput_per_s * of,
                cpu_s_per_request=arm.cpu_s_per_request / of,
                error_ratio=0.0,
                latency_s={"p50": 0.004 / of, "p90": 0.009 / of, "max": 0.02},
            )
            for of in (share, 2 * share)
        )
        return structs.replace(arm, phases={"cold": cold, "warm": warm})

    final = structs.replace(
        whole.final, a=with_phases(whole.final.a, 1.0), b=with_phases(whole.final.b, 1.2)
    )
    return structs.replace(
        whole,
        id="20250611-book-9ha5",
        plan=structs.replace(whole.plan, study=study),
        final=final,
    )


def all_outcomes() -> dict[str, Outcome]:
    """Return every sample by name."""
    return {
        "second_compare": second_compare(),
        "second_ladder": second_ladder(),
        "second_alone": second_alone(),
        "phased": phased(),
    }
