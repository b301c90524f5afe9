"""The metrics as Prometheus' own parser reads them."""

import math
from collections.abc import Callable

import pytest
from msgspec import structs
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.report.sample_load import all_404, load_outcome, open_loop, shop, with_timeouts
from tests.rows import each_row

from httpdyno.model import LoadOutcome, RequestSpec
from httpdyno.report.load.prometheus import BUCKETS_S, load_prometheus
from httpdyno.stats.histogram import count

OUTCOMES = (load_outcome(), all_404(), with_timeouts(), open_loop(), shop())
NAME = "httpdyno_load_"


def families(outcome: LoadOutcome) -> dict[str, Metric]:
    seen = list(text_string_to_metric_families(load_prometheus(outcome)))
    names = [family.name for family in seen]
    assert len(names) == len(set(names))
    return {family.name.removeprefix(NAME): family for family in seen}


def values(family: Metric, label: str) -> dict[str, float]:
    return {sample.labels[label]: sample.value for sample in family.samples}


@each_row("outcome", OUTCOMES)
def test_every_sample_has_a_type_a_help_and_a_place_of_its_own(outcome: LoadOutcome) -> None:
    seen = families(outcome)
    for family in seen.values():
        assert family.type in {"counter", "gauge", "histogram"}
        assert family.documentation.endswith(".")
        keys = [(each.name, tuple(sorted(each.labels.items()))) for each in family.samples]
        assert len(keys) == len(set(keys))
        assert all(sample.labels["url"] == outcome.url for sample in family.samples)
        assert all(math.isfinite(sample.value) for sample in family.samples)


@each_row("outcome", OUTCOMES)
def test_requests_add_up(outcome: LoadOutcome) -> None:
    counted = values(families(outcome)["requests"], "outcome")
    assert sum(counted.values()) == outcome.measurement.offered
    assert counted["completed"] == outcome.measurement.completed


@each_row("outcome", [load_outcome(), open_loop(), with_timeouts()])
def test_buckets_are_cumulative_and_end_with_all(outcome: LoadOutcome) -> None:
    family = families(outcome)["latency_seconds"]
    buckets = [each for each in family.samples if each.name.endswith("_bucket")]
    limits = [float(each.labels["le"]) for each in buckets]
    assert limits == [*sorted(BUCKETS_S), math.inf]
    numbers = [each.value for each in buckets]
    assert numbers == sorted(numbers)
    data = outcome.measurement.latency
    assert numbers[-1] == count(data)
    for limit_s, n in zip(limits[:-1], numbers, strict=False):
        pairs = zip(data.bounds_ns, data.counts, strict=True)
        assert n == sum(k for bound_ns, k in pairs if bound_ns <= limit_s * 1e9 + 0.5)
    singles = {each.name.rpartition("_")[2]: each.value for each in family.samples}
    assert singles["sum"] == pytest.approx(data.sum_s)
    assert singles["count"] == count(data)


def test_who_was_limiting_is_a_label() -> None:
    assert values(families(shop())["limited_by"], "who") == {"client_cpu": 1.0}


def test_a_strange_url_or_path_is_escaped() -> None:
    evil = 'http://h/"}\n# TYPE \\x'
    outcome = shop()
    requests = (RequestSpec(path='/"\\\n'), *outcome.workload.requests[1:])
    workload = structs.replace(outcome.workload, requests=requests)
    seen = families(structs.replace(outcome, url=evil, workload=workload))
    assert seen["throughput"].samples[0].labels["url"] == evil
    paths = {sample.labels["request"] for sample in seen["request_latency_seconds"].samples}
    assert 'GET /"\\\n' in paths


def test_the_exposition_is_as_agreed(golden: Callable[[str, str], None]) -> None:
    golden("report/load_good.prom", load_prometheus(load_outcome()))
