"""The second metric has a claim of its own, by the rules of any, and decides nothing."""

import math

import numpy as np
import pytest
from msgspec import structs
from scipy.stats import binom
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.experiment.test_littles_law import steady_starts
from tests.rows import each_row

from httpdyno.cli.plan_text import plan_lines
from httpdyno.experiment.decide.claim import Terms, claim, comparison
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event, StartDone
from httpdyno.model import (
    Configuration,
    HistogramData,
    Measurement,
    Objective,
    StartRecord,
    Telemetry,
    WindowRecord,
)
from httpdyno.report.shared.message import joined
from httpdyno.stats.sequence import half_width_factor

RATE, CPU, P99 = "throughput_per_s", "cpu_s_per_request", "latency_p99_s"
ARMS = Configuration(values={"k": 1}), Configuration(values={"k": 2})
SPREAD = (-0.02, 0.01, 0.0, 0.02, -0.01, 0.0)
"""Of the log ratios of six starts, around their mean of nought."""

N_SEQUENCES, LONGEST = 20_000, 400
"""As many starts as a comparison may have at the most."""


def start_of(number, rate_ratio, cpu_ratio):
    """Return a start whose second arm has these ratios to the first."""
    n = 1000
    windows = tuple(
        WindowRecord(
            comparison=1,
            start=number,
            block=0,
            arm=arm,
            measurement=Measurement(
                opened_s=0.0,
                measured_s=1 / rate,
                total_s=1.0,
                offered=n,
                completed=n,
                measured_completed=n,
                latency=HistogramData(
                    bounds_ns=(9_000_000,), counts=(n,), sum_s=n * 0.009, max_s=0.009
                ),
            ),
            telemetry=Telemetry(cpu_s=cpu),
        )
        for arm, rate, cpu in ((0, 1.0, 1.0), (1, rate_ratio, cpu_ratio))
    )
    return StartRecord(
        comparison=1,
        start=number,
        began_at="2026-01-01T00:00:00+00:00",
        duration_s=1.0,
        statuses=("complete", "complete"),
        details=((), ()),
        windows=windows,
    )


def starts_of(rate_ratio, cpu_ratio, spread=SPREAD):
    return [
        start_of(number, rate_ratio * math.exp(noise), cpu_ratio * math.exp(noise / 10))
        for number, noise in enumerate(spread)
    ]


def compared(starts, objective=None):
    objective = objective or Objective(second_metric=CPU)
    return comparison(1, starts, ARMS, Terms(objective=objective, min_starts=6))


def ever_wrong(draws, alpha):
    """Tell of each sequence whether any interval on its way leaves its truth, 0, out."""
    n = np.arange(2, draws.shape[1] + 1)
    sums, squares = (np.cumsum(each, axis=1)[:, 1:] for each in (draws, draws * draws))
    factors = np.array([half_width_factor(int(each), alpha=alpha) for each in n])
    scatter = np.maximum(squares - sums * sums / n, 0) / (n - 1)
    return (np.abs(sums / n) > factors * np.sqrt(scatter)).any(axis=1)


def test_the_chance_of_any_wrong_word_of_two_metrics_stays_within_the_risk():
    """Looking after every start, from the second to the last that a comparison may have.

    Independent metrics are wrong together least often, so one of them most often. Whatever they
    have to do with each other, the chance of any is at most the sum.
    """
    rng = np.random.default_rng()
    shared = Objective(metric=RATE, second_metric=CPU)
    halves = Objective(metric=RATE, tie_breaker=CPU)
    alone = Objective(metric=RATE)
    n_any = dict.fromkeys(("shared", "halves", "alone"), 0)
    n_sum = 0
    for _ in range(10):
        rate, cpu = rng.standard_normal((2, N_SEQUENCES // 10, LONGEST))
        for name, objective in (("shared", shared), ("halves", halves), ("alone", alone)):
            by_rate = ever_wrong(rate, 1 - objective.confidence_of(RATE))
            by_cpu = ever_wrong(cpu, 1 - objective.confidence_of(CPU))
            n_any[name] += int((by_rate | by_cpu).sum())
            n_sum += int(by_rate.sum() + by_cpu.sum()) if name == "shared" else 0
    # As many as a true 5 % shows once in ten thousand times.
    most = binom.isf(1e-4, N_SEQUENCES, 1 - shared.confidence)
    assert n_any["shared"] <= n_sum <= most
    assert n_any["halves"] <= most
    # Without sharing the same sequences are wrong too often: the check above can fail.
    assert n_any["alone"] > most


def test_what_a_request_costs_is_proven_where_the_throughput_is_not():
    told = compared(starts_of(1.01, 0.9))
    assert (told.verdict, told.decided_by) == ("inconclusive", "")
    assert told.second is not None
    assert (told.second.metric, told.second.verdict) == (CPU, "better")
    assert joined(told.second.reasons) == "the whole interval lies below 1 after 6 starts"
    interval = told.ratios["cpu_per_request"]
    assert interval.confidence == pytest.approx(0.99)
    assert interval.low < 0.9 < interval.high < 1
    assert told.ratios["throughput"].confidence == pytest.approx(0.96)
    assert told.ratios["latency_p50"].confidence == 0.95


@each_row(
    ("rate_ratio", "cpu_ratio", "verdict", "second"),
    [
        (1.3, 0.9, "better", "better"),
        (1.3, 1.1, "better", "worse"),
        (0.7, 0.9, "worse", "better"),
        (1.3, 1.0, "better", "equivalent"),
        (1.01, 1.1, "inconclusive", "worse"),
    ],
)
def test_the_two_may_say_the_same_or_not(rate_ratio, cpu_ratio, verdict, second):
    told = compared(starts_of(rate_ratio, cpu_ratio))
    alone = compared(starts_of(rate_ratio, cpu_ratio), Objective())
    assert told.second is not None
    assert (told.verdict, told.second.verdict) == (verdict, second)
    assert (alone.verdict, alone.second) == (verdict, None)


def test_throughput_is_told_beside_what_a_request_costs():
    told = compared(starts_of(1.3, 1.0), Objective(metric=CPU, second_metric=RATE))
    assert told.second is not None
    assert (told.verdict, told.second.verdict) == ("equivalent", "better")
    assert told.ratios["throughput"].confidence == pytest.approx(0.99)


def test_a_second_interval_is_wider_so_that_little_proves_less():
    """A difference that 95 % proves and 99 % does not."""
    spread = tuple(10 * noise for noise in SPREAD)
    cost = math.exp(-2.4 * np.std(SPREAD, ddof=1))
    second = compared(starts_of(1.0, cost, spread)).second
    assert second is not None
    assert second.verdict == "inconclusive"
    alone = compared(starts_of(1.0, cost, spread), Objective(metric=CPU))
    assert alone.verdict == "better"


def test_nothing_is_claimed_of_it_below_the_fewest_starts():
    terms = Terms(objective=Objective(second_metric=CPU), min_starts=6)
    state = claim(starts_of(1.01, 0.5)[:5], terms)
    assert state.second is not None
    assert (state.second.verdict, joined(state.second.reasons)) == (
        "inconclusive",
        "5 starts of at least 6",
    )
    for n in (5, 0):
        told = compared(starts_of(1.01, 0.5)[:n])
        assert told.second is not None
        assert (told.verdict, told.second.verdict) == ("not_measured", "not_measured")


def test_too_few_requests_for_a_percentile_claim_nothing_of_it():
    many = compared(starts_of(1.0, 1.0), Objective(second_metric=P99))
    assert many.second is not None
    assert many.second.verdict == "equivalent"
    far = compared(starts_of(1.0, 1.0), Objective(second_metric="latency_p999_s"))
    assert far.second is not None
    assert far.second.verdict == "not_measured"
    assert "too few requests for its p99.9 latency" in joined(far.second.reasons)
    # And the other way round: what has no figure leaves the word to what has one.
    cheaper = Objective(metric="latency_p999_s", second_metric=CPU)
    told = compared(starts_of(1.0, 0.9), cheaper)
    assert told.second is not None
    assert (told.verdict, told.second.verdict) == ("not_measured", "better")


def test_a_throughput_that_contradicts_itself_is_not_told_either():
    def broken(cycles, _n_ended):
        return structs.replace(cycles, credit=cycles.credit * 1.1)

    objective = Objective(metric=CPU, second_metric=RATE)
    sound, doubted = (
        compared(starts, objective).second
        for starts in (steady_starts("constant", 1.2), steady_starts("constant", 1.2, broken))
    )
    assert sound is not None
    assert doubted is not None
    assert sound.verdict == "better"
    assert doubted.verdict == "inconclusive"
    assert "Little's law" in joined(doubted.reasons)


def test_nothing_is_told_of_a_candidate_that_failed():
    starts = starts_of(1.01, 0.9)
    starts[-1] = structs.replace(starts[-1], statuses=("complete", "crashed"))
    told = compared(starts)
    assert (told.verdict, told.second) == ("failed", None)


def test_a_tie_breaker_is_told_with_its_half_of_the_risk_whoever_decides():
    objective = Objective(tie_breaker=CPU, second_metric=CPU)
    decided = compared(starts_of(1.0, 0.9, tuple(n / 4 for n in SPREAD)), objective)
    assert decided.second is not None
    assert (decided.decided_by, decided.second.verdict) == (CPU, "better")
    other = compared(starts_of(1.3, 1.2), objective)
    assert other.second is not None
    assert (other.verdict, other.decided_by, other.second.verdict) == ("better", "", "worse")
    assert other.ratios["cpu_per_request"].confidence == pytest.approx(0.975)


def watched(plan, bench):
    """Return a run's outcome and its events."""
    events: list[Event] = []
    store = MemoryStore()
    outcome = run_plan(plan, bench=bench, store=store, run_id="1", watch=events.append)
    return outcome, events


@pytest.fixture
def cheaper_study(study):
    """One knob saves a tenth of the CPU time, which throughput is too noisy to show."""
    return structs.replace(
        study,
        knobs=study.knobs[:1],
        objective=Objective(second_metric=CPU),
        budget_s=120.0,
    )


def cheaper_bench():
    return FakeBench(
        throughput_per_s=lambda _values: 400.0,
        cpu_s_per_request=lambda values: 0.0009 if values["good"] else 0.001,
        start_sd=0.05,
    )


def test_a_comparison_goes_on_until_its_metric_decides_or_the_time_is_up(cheaper_study):
    start = cheaper_study.start_configuration()
    arms = start, start.replaced("good", 1)
    told, events = watched(compare_plan(cheaper_study, *arms, seed=7), cheaper_bench())
    alone = structs.replace(cheaper_study, objective=Objective(confidence=0.96))
    same, _ = watched(compare_plan(alone, *arms, seed=7), cheaper_bench())
    assert told.final is not None
    assert same.final is not None
    assert told.final.second is not None
    assert (told.final.verdict, told.final.second.verdict) == ("inconclusive", "better")
    looks = [event.second for event in events if isinstance(event, StartDone)]
    first = next(n for n, second in enumerate(looks, 1) if second and second.verdict == "better")
    assert first < told.final.n_starts, "it was proven long before"
    # What is claimed of the metric is as if it had been asked for it alone, with its part of risk.
    assert told.final.n_starts == same.final.n_starts
    assert told.final.ratios["throughput"].low == pytest.approx(same.final.ratios["throughput"].low)
    assert told.configuration == start


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (Objective(), "decides   throughput_per_s, margin"),
        (Objective(second_metric=CPU), f"decides   {RATE} (reported beside it: {CPU}), margin"),
        (Objective(tie_breaker=CPU, second_metric=CPU), f"decides   {RATE}, then {CPU}, margin"),
    ],
)
def test_a_plan_says_what_is_told_before_anything_is_measured(study, objective, words):
    plan = make_plan(structs.replace(study, objective=objective), seed=7)
    [line] = [line for line in plan_lines(plan) if line.startswith(words)]
    whose = " of both together" if objective.second else ""
    assert line.endswith(f"confidence 95%{whose} at every look")


def test_a_ladder_keeps_nothing_for_what_the_second_metric_says(cheaper_study):
    outcome, _ = watched(make_plan(cheaper_study, seed=7), cheaper_bench())
    assert outcome.steps
    for step in outcome.steps:
        assert step.comparison.second is not None
        assert step.comparison.second.verdict == "better"
        assert not step.kept
    assert outcome.configuration == cheaper_study.start_configuration()
    assert outcome.final is None


def test_a_final_without_its_tie_breaker_still_tells_of_it(study):
    """Which decided no step, so the metric alone is asked at last, with four fifths of the risk."""
    objective = Objective(tie_breaker=CPU, second_metric=CPU)
    faster = FakeBench(throughput_per_s=lambda values: 600.0 if values["good"] else 400.0)
    outcome, _ = watched(make_plan(structs.replace(study, objective=objective), seed=7), faster)
    assert outcome.final is not None
    assert outcome.final.second is not None
    assert (outcome.final.second.metric, outcome.final.second.verdict) == (CPU, "equivalent")
    assert outcome.final.ratios["throughput"].confidence == pytest.approx(0.96)
    assert outcome.steps[0].comparison.ratios["throughput"].confidence == pytest.approx(0.975)
