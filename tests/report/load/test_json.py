import json

import pytest
from msgspec import structs
from tests.report.sample_load import (
    CLOSED,
    OPEN,
    all_404,
    load_measurement,
    load_outcome,
    open_loop,
    shop,
    with_timeouts,
)
from tests.rows import each_row

from httpdyno.model import LoadOutcome
from httpdyno.report.load.json import load_json

OUTCOMES = (load_outcome(), all_404(), with_timeouts(), open_loop(), shop())
FIRST_KEYS = {
    *("offered", "completed", "errors", "statuses", "measured_s", "throughput_per_s"),
    *("latency_label", "latency_s", "service_time_s", "lateness_s", "series_completed", "connects"),
    *("bytes_sent", "bytes_received", "client_cpu_s", "limited_by", "evidence", "provenance"),
}
"""That programs read most."""


@each_row("outcome", OUTCOMES)
def test_the_json_is_strict(outcome: LoadOutcome) -> None:
    read = json.loads(json.dumps(load_json(outcome), allow_nan=False))
    assert read["offered"] == read["completed"] + sum(read["errors"].values())


def test_the_keys_that_programs_read_most_are_there() -> None:
    document = load_json(load_outcome())
    assert document.keys() >= FIRST_KEYS
    assert document["latency_s"].keys() == {
        *("n", "sum_s", "mean", "p50", "p90", "p95", "p99", "p999", "max", "min", "std_dev")
    }
    assert document["provenance"].keys() >= {"url", "began_at", "workload", "host"}


def test_percentiles_that_the_sample_cannot_carry_are_null() -> None:
    latency = load_json(load_outcome(load_measurement(completed=999)))["latency_s"]
    assert (latency["p99"], latency["p999"]) == (None, None)
    assert latency["p90"] > latency["p50"] > 0
    assert load_json(load_outcome(load_measurement(completed=1000)))["latency_s"]["p99"] > 0


def test_latency_says_from_which_moment_it_counts() -> None:
    assert load_json(load_outcome(workload=OPEN))["latency_label"] == "from the due time"
    assert load_json(load_outcome(workload=CLOSED))["latency_label"] == (
        "from sending; closed loop, so a stall delays requests uncounted"
    )


def test_figures_that_may_be_larger_are_named() -> None:
    document = load_json(with_timeouts())
    assert document["censored"] == 60
    assert document["at_least"]["latency_s"] == ["mean", "p90", "p95", "max"]
    assert load_json(load_outcome())["at_least"]["latency_s"] == []


def test_phases_add_up_to_the_latency_of_completed_requests() -> None:
    outcome = load_outcome()
    phases = load_json(outcome)["phases"]
    assert set(phases) == {"client_queue", "connect", "first_byte", "transfer"}
    total_s = sum(phase["sum_s"] for phase in phases.values())
    assert total_s == pytest.approx(outcome.measurement.latency.sum_s)


def test_each_request_of_a_mix_has_a_name_of_its_own() -> None:
    outcome = shop()
    twice = structs.replace(outcome.workload, requests=outcome.workload.requests[:1] * 6)
    document = load_json(structs.replace(outcome, workload=twice))
    names = [each["name"] for each in document["requests"]]
    assert names == ["GET /", "GET / #2", "GET / #3", "GET / #4", "GET / #5", "GET / #6"]


def test_populations_and_pages_are_named() -> None:
    document = load_json(shop())
    assert [each["name"] for each in document["populations"]] == ["usual", "slow"]
    assert document["pages"]["errors"] == {"failed": 40}
    assert load_json(load_outcome())["pages"] is None


def test_thresholds_are_answered() -> None:
    answers = load_json(shop())["thresholds"]
    assert [each["passed"] for each in answers] == [True, True, True, False, True]
    assert answers[3]["value"] is None
    assert answers[3]["sentence"].startswith("p99.99 needs 100,000 requests")
