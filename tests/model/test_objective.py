"""What an objective says of the risk that its metrics share."""

import pytest
from tests.rows import each_row

from httpdyno.metrics import METRICS
from httpdyno.model import Objective
from httpdyno.model.workload import second_metric_of
from httpdyno.stats.sequence import half_width_factor

RATE, CPU, P99 = "throughput_per_s", "cpu_s_per_request", "latency_p99_s"
NAMES = [each.name for each in METRICS]


@each_row(
    ("metric", "tie_breaker", "is_open_loop", "second"),
    [
        (RATE, "", False, CPU),
        (P99, "", False, CPU),
        (P99, "", True, CPU),
        (CPU, "", False, RATE),
        (CPU, "", True, ""),
        (RATE, P99, False, P99),
        (CPU, P99, True, P99),
    ],
)
def test_what_a_request_costs_is_told_beside_other_metrics(
    metric, tie_breaker, is_open_loop, second
):
    assert second_metric_of(metric, tie_breaker, is_open_loop=is_open_loop) == second


@each_row(
    ("objective", "of_metric", "of_second", "of_others"),
    [
        (Objective(metric=RATE, second_metric=CPU), 0.96, 0.99, 0.95),
        (Objective(metric=CPU, second_metric=RATE, confidence=0.9), 0.92, 0.98, 0.9),
        (Objective(metric=RATE, tie_breaker=CPU), 0.975, 0.975, 0.95),
        (Objective(metric=RATE, tie_breaker=CPU, second_metric=CPU), 0.975, 0.975, 0.95),
    ],
)
def test_two_metrics_share_the_risk_of_an_objective(objective, of_metric, of_second, of_others):
    confidences = {metric: objective.confidence_of(metric) for metric in NAMES}
    risk = 1 - objective.confidence
    shared = (1 - confidences.pop(objective.metric)) + (1 - confidences.pop(objective.second))
    assert shared == pytest.approx(risk)
    assert objective.confidence_of(objective.metric) == pytest.approx(of_metric)
    assert objective.confidence_of(objective.second) == pytest.approx(of_second)
    assert set(confidences.values()) == {of_others}


def test_a_metric_alone_has_all_of_the_risk():
    objective = Objective(metric=P99)
    assert objective.second == ""
    assert {objective.confidence_of(metric) for metric in NAMES} == {0.95}


def test_a_tie_breaker_that_has_no_say_is_still_told():
    named = Objective(metric=RATE, tie_breaker=P99, second_metric=P99)
    metric_alone = Objective(metric=RATE, second_metric=P99)
    assert named.second == metric_alone.second == P99
    assert metric_alone.confidence_of(P99) > named.confidence_of(P99)


@pytest.mark.parametrize(("n", "wider"), [(6, 1.06), (12, 1.03)])
def test_the_second_metric_costs_the_first_little(n, wider):
    shared = Objective(metric=RATE, second_metric=CPU)
    alone, beside = (1 - each.confidence_of(RATE) for each in (Objective(), shared))
    ratio = half_width_factor(n, alpha=beside) / half_width_factor(n, alpha=alone)
    assert ratio == pytest.approx(wider, abs=0.005)
