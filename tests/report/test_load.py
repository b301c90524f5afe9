import json
from collections.abc import Callable

import msgspec
import pytest
from msgspec import structs
from tests.report import sample
from tests.report.plain import plain_text
from tests.report.sample_load import load_measurement

from httpdyno.model import Constant, HistogramData, Measurement, RequestSpec, Workload
from httpdyno.report.load import (
    LoadJson,
    load_json,
    load_schema,
    load_text,
    missing_percentiles,
    verdict_line,
)

CLOSED = Workload(connections=50)
OPEN = Workload(connections=50, arrival=Constant(rate_per_s=500.0))
KINDS = (
    *("refused", "reset", "timeout", "short_body", "bad_response", "wrong_status"),
    *("wrong_length", "no_descriptors", "no_ports", "connect", "unfinished", "unsent"),
)


def all_404() -> Measurement:
    return load_measurement(
        completed=0,
        errors={"wrong_status": 500},
        statuses={"404": 500},
        latency=HistogramData(),
    )


def with_timeouts() -> Measurement:
    """480 answers of about 20 ms, and 60 requests given up after 10 s."""
    fast = sample.latency_data(0.02, 0.3, 480)
    latency = HistogramData(
        bounds_ns=(*fast.bounds_ns, 10_000_000_000),
        counts=(*fast.counts, 60),
        sum_s=fast.sum_s + 600.0,
        max_s=10.0,
    )
    return load_measurement(completed=480, errors={"timeout": 60}, latency=latency)


def test_a_path_that_answers_404_says_so_in_the_first_line() -> None:
    first = plain_text(load_text(all_404(), CLOSED, sample.HOST)).splitlines()[0]
    assert first == "0 of 500 requests completed: all 500 got status 404 (expected 200)"


def test_a_whole_success_says_so_in_the_first_line() -> None:
    first = plain_text(load_text(load_measurement(), CLOSED, sample.HOST)).splitlines()[0]
    assert first == "12,345 of 12,345 requests completed, 1,234/s over 10.0 s"


def test_nothing_sent_is_said_plainly() -> None:
    assert (
        verdict_line(load_measurement(completed=0, latency=HistogramData()), CLOSED)
        == "no request was sent"
    )


def test_several_kinds_of_error_are_named_the_most_frequent_first() -> None:
    measurement = load_measurement(
        completed=90, errors={"refused": 3, "timeout": 7}, latency=HistogramData()
    )
    assert verdict_line(measurement, CLOSED) == (
        "90 of 100 requests completed, 9.00/s over 10.0 s: "
        "7 got no whole answer within 10.0 s and 3 were refused a connection"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_error_has_words_of_its_own(kind: str) -> None:
    measurement = load_measurement(
        completed=1, errors={kind: 2}, statuses={"500": 2}, latency=HistogramData()
    )
    line = verdict_line(measurement, CLOSED)
    assert ": 2 " in line
    assert "ended as" not in line


def test_a_kind_that_is_not_known_yet_is_named_all_the_same() -> None:
    measurement = load_measurement(completed=1, errors={"bad_push": 2}, latency=HistogramData())
    assert verdict_line(measurement, CLOSED).endswith(": 2 ended as bad push")


def test_several_wrong_statuses_are_not_made_one() -> None:
    measurement = load_measurement(
        completed=0,
        errors={"wrong_status": 9},
        statuses={"404": 5, "500": 4},
        latency=HistogramData(),
    )
    assert verdict_line(measurement, CLOSED).endswith("all 9 got another status (expected 200)")


def test_any_good_status_is_expected_as_2xx_or_3xx() -> None:
    workload = structs.replace(CLOSED, requests=(RequestSpec(expect_status=None),))
    assert verdict_line(all_404(), workload).endswith("got status 404 (expected 2xx or 3xx)")


@pytest.mark.parametrize(
    ("name", "measurement", "workload"),
    [
        ("good", load_measurement(), CLOSED),
        ("all_404", all_404(), CLOSED),
        ("timeouts", with_timeouts(), CLOSED),
        ("open_loop", load_measurement(completed=5000), OPEN),
    ],
)
def test_the_summary_reads_as_agreed(
    name: str, measurement: Measurement, workload: Workload, golden: Callable[[str, str], None]
) -> None:
    text = plain_text(load_text(measurement, workload, sample.HOST, url="http://127.0.0.1:8080/"))
    golden(f"report/load_{name}.txt", text)


def test_percentiles_that_the_sample_cannot_carry_are_not_shown_and_the_reason_is() -> None:
    measurement = load_measurement(completed=999)
    assert missing_percentiles(measurement.latency) == (
        "p99 needs 1,000 and p99.9 needs 10,000 requests, so that 10 lie beyond it; "
        "this run has 999 requests"
    )
    latency = load_json(measurement, CLOSED, sample.HOST)["latency_s"]
    assert (latency["p99"], latency["p999"]) == (None, None)
    assert latency["p90"] > latency["p50"] > 0


def test_a_thousand_requests_carry_a_p99() -> None:
    measurement = load_measurement(completed=1000)
    assert load_json(measurement, CLOSED, sample.HOST)["latency_s"]["p99"] > 0
    assert missing_percentiles(measurement.latency).startswith("p99.9 needs 10,000 requests")


def test_timeouts_are_marked_in_the_distribution() -> None:
    text = plain_text(load_text(with_timeouts(), CLOSED, sample.HOST))
    row = next(line for line in text.splitlines() if line.startswith("  latency "))
    assert row.count("≥ 10.0 s") == 2
    assert "≥ 1.1" in row


def test_no_value_is_marked_when_nothing_timed_out() -> None:
    assert "≥" not in plain_text(load_text(load_measurement(), CLOSED, sample.HOST))


def test_latency_says_from_which_moment_it_counts() -> None:
    measurement = load_measurement()
    assert load_json(measurement, OPEN, sample.HOST)["latency_label"] == "from the due time"
    assert load_json(measurement, CLOSED, sample.HOST)["latency_label"] == (
        "from sending; closed loop, not corrected for coordinated omission"
    )


def test_a_client_that_is_late_is_a_caveat() -> None:
    late = sample.latency_data(0.004, 0.2, 5000)
    measurement = structs.replace(load_measurement(completed=5000), lateness=late)
    text = plain_text(load_text(measurement, OPEN, sample.HOST))
    assert "half of the requests were sent 4.00 ms late or later" in text


def test_the_json_is_strict_and_what_its_types_say() -> None:
    document = load_json(
        with_timeouts(), CLOSED, sample.HOST, url="http://127.0.0.1/", began_at="2025-06-11"
    )
    read = msgspec.json.decode(json.dumps(document, allow_nan=False), type=LoadJson)
    assert read.offered == read.completed + sum(read.errors.values())
    assert read.provenance.url == "http://127.0.0.1/"
    assert document.keys() == load_schema()["$defs"]["LoadJson"]["properties"].keys()
