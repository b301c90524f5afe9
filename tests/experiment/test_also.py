"""Further metrics that somebody asks for have claims of their own, and share the risk."""

import numpy as np
import pytest
from msgspec import structs
from scipy.stats import binom
from tests.experiment.test_second_metric import (
    CPU,
    LONGEST,
    N_SEQUENCES,
    P99,
    RATE,
    compared,
    ever_wrong,
    start_of,
    starts_of,
)
from tests.rows import each_row

from httpdyno.cli.plan_text import plan_lines
from httpdyno.experiment.decide.claim import Terms, claim
from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.method.comparison import is_long_needed
from httpdyno.model import HistogramData, Objective
from httpdyno.report.shared.message import joined

P50 = "latency_p50_s"


@each_row(
    ("objective", "confidences"),
    [
        (Objective(), {RATE: 0.95, P99: 0.95}),
        (Objective(second_metric=CPU), {RATE: 0.96, CPU: 0.99, P99: 0.95}),
        (Objective(also=(P99,)), {RATE: 0.96, P99: 0.99, CPU: 0.95}),
        (Objective(second_metric=CPU, also=(P99,)), {RATE: 0.96, CPU: 0.995, P99: 0.995}),
        (Objective(tie_breaker=CPU, second_metric=CPU), {RATE: 0.975, CPU: 0.975}),
        (
            Objective(tie_breaker=CPU, second_metric=CPU, also=(P99, P50)),
            {RATE: 0.98, CPU: 0.98, P99: 0.995, P50: 0.995},
        ),
    ],
)
def test_what_may_speak_shares_the_risk_and_no_more_of_it_is_given_than_there_is(
    objective, confidences
):
    for metric, confidence in confidences.items():
        assert objective.confidence_of(metric) == pytest.approx(confidence), metric
    speaking = {objective.metric, objective.tie_breaker, *objective.beside} - {""}
    risk = sum(1 - objective.confidence_of(metric) for metric in speaking)
    assert risk == pytest.approx(1 - objective.confidence)


def test_the_chance_of_any_wrong_word_of_four_metrics_stays_within_the_risk():
    rng = np.random.default_rng()
    shared = Objective(second_metric=CPU, also=(P99, P50))
    metrics = (RATE, CPU, P99, P50)
    n_shared, n_alone = 0, 0
    for _ in range(10):
        draws = rng.standard_normal((len(metrics), N_SEQUENCES // 10, LONGEST // 4))
        own, whole = [], []
        for metric, each in zip(metrics, draws, strict=True):
            own.append(ever_wrong(each, 1 - shared.confidence_of(metric)))
            whole.append(ever_wrong(each, 1 - shared.confidence))
        n_shared += int(np.any(own, axis=0).sum())
        n_alone += int(np.any(whole, axis=0).sum())
    # As many as a true 5 % shows once in ten thousand times.
    most = binom.isf(1e-4, N_SEQUENCES, 1 - shared.confidence)
    assert n_shared <= most
    # Without sharing the same sequences are wrong too often: the check above can fail.
    assert n_alone > most


def slower(start, factor):
    """Return a start whose second arm's answers take so many times as long."""
    windows = []
    for window in start.windows:
        seen = window.measurement.latency
        bound_ns = round(seen.bounds_ns[0] * (factor if window.arm else 1))
        own = HistogramData(
            bounds_ns=(bound_ns,), counts=seen.counts, sum_s=bound_ns / 1e6, max_s=bound_ns / 1e9
        )
        measured = structs.replace(window.measurement, latency=own)
        windows.append(structs.replace(window, measurement=measured))
    return structs.replace(start, windows=tuple(windows))


@each_row(("factor", "verdict"), [(1.5, "worse"), (0.7, "better"), (1, "equivalent")])
def test_each_has_a_verdict_of_its_own_beside_that_of_the_metric(factor, verdict):
    starts = [slower(each, factor) for each in starts_of(1.3, 0.9)]
    told = compared(starts, Objective(second_metric=CPU, also=(P99,)))
    [also] = told.also
    assert (told.verdict, also.metric, also.verdict) == ("better", P99, verdict)
    assert told.second is not None
    assert told.second.verdict == "better"
    assert told.ratios["latency_p99"].confidence == pytest.approx(0.995)
    # It changes nothing of the rest.
    alone = compared(starts, Objective(second_metric=CPU))
    assert (alone.verdict, alone.decided_by, alone.also) == (told.verdict, told.decided_by, ())


def test_nothing_is_claimed_of_them_below_the_fewest_starts_or_of_a_failure():
    objective = Objective(also=(P99, P50))
    [p99, p50] = compared(starts_of(1.01, 0.5)[:5], objective).also
    assert (p99.verdict, p50.verdict) == ("not_measured", "not_measured")
    state = claim(starts_of(1.01, 0.5)[:5], Terms(objective=objective, min_starts=6))
    assert [each.verdict for each in state.also] == ["inconclusive"] * 2
    broken = structs.replace(start_of(6, 1.0, 1.0), statuses=("complete", "crashed"))
    assert compared([*starts_of(1.0, 1.0), broken], objective).also == ()


def test_too_few_requests_are_told_with_the_way_out():
    [far] = compared(starts_of(1.0, 1.0), Objective(also=("latency_p999_s",))).also
    assert far.verdict == "not_measured"
    assert "too few requests for its p99.9 latency" in joined(far.reasons)


def test_a_percentile_that_is_asked_for_keeps_all_blocks():
    assert is_long_needed(Objective(also=(P99,)))
    assert not is_long_needed(Objective(also=(CPU,)))


def test_a_plan_names_them(study):
    asked = structs.replace(study, objective=Objective(second_metric=CPU, also=(P99,)))
    lines = "\n".join(plan_lines(make_plan(asked, seed=1)))
    assert f"{RATE} (reported beside it: {CPU}, {P99})" in lines
    assert "of all together" in lines
