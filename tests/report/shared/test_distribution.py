"""What a sample can say, and what requests that never ended do to it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.report.sample_load import load_measurement, with_timeouts
from tests.rows import each_row

from httpdyno.model import HistogramData
from httpdyno.report.shared.distribution import (
    censored_service_time,
    figure,
    figures,
    missing_percentiles,
    quantile_of,
    time_text,
)

MS = 1_000_000
NAMES = ("p50", "p90", "p99")


def data(values_ms: list[float]) -> HistogramData:
    """Return a distribution in which every value has its own bucket."""
    bounds, counts = np.unique(np.round(np.array(values_ms) * MS).astype(int), return_counts=True)
    return HistogramData(
        bounds_ns=tuple(bounds.tolist()),
        counts=tuple(counts.tolist()),
        sum_s=sum(values_ms) / 1e3,
        max_s=max(values_ms, default=0.0) / 1e3,
    )


def test_a_percentile_needs_ten_requests_beyond_it() -> None:
    assert figure(load_measurement(completed=999).latency, "p99").value_s is None
    assert figure(load_measurement(completed=1000).latency, "p99").value_s is not None


def test_what_is_missing_has_its_reason() -> None:
    latency = load_measurement(completed=999).latency
    assert missing_percentiles(latency) == (
        "p99 needs 1,000 and p99.9 needs 10,000 requests, so that 10 lie beyond it; "
        "this run has 999 requests"
    )
    assert missing_percentiles(load_measurement(completed=12_345).latency) == ""


def test_the_least_and_the_spread_are_those_of_the_values() -> None:
    values = data([1.0, 2.0, 3.0, 6.0])
    assert figure(values, "min").value_s == 0.001
    assert figure(values, "std dev").value_s == pytest.approx(np.std([1, 2, 3, 6]) / 1e3)
    # Of what was given up nobody knows how far it lies.
    assert figure(values, "std dev", data([6.0])).value_s is None
    assert figure(values, "min", data([1.0])).is_at_least
    assert not figure(values, "min", data([6.0])).is_at_least


@pytest.mark.parametrize("values", [[1.0], [1.0] * 30])
def test_what_cannot_be_told_apart_has_no_spread(values: list[float]) -> None:
    seen = figure(data(values), "std dev")
    assert (seen.value_s, bool(seen.reason)) == (None, True)


@each_row(
    ("seconds", "text"),
    [(0.0, "0 µs"), (1.81e-7, "< 1 µs"), (1e-6, "1.00 µs"), (0.0042, "4.20 ms")],
)
def test_no_time_is_finer_than_its_clock(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_nothing_measured_has_no_figures_but_a_reason() -> None:
    assert all(each.value_s is None and each.reason for each in figures(HistogramData()).values())


@each_row(("name", "q"), [("p50", 0.5), ("p99.9", 0.999), ("p99.99", 0.9999)])
def test_a_percentile_s_name_is_its_quantile(name: str, q: float) -> None:
    assert quantile_of(name) == q


def test_timeouts_move_only_what_lies_among_them() -> None:
    measurement = with_timeouts().measurement
    seen = figures(measurement.latency, measurement.censored)
    assert [name for name, each in seen.items() if each.is_at_least] == [
        "mean",
        "p90",
        "p95",
        "max",
    ]


def test_a_request_cut_off_early_moves_nothing_that_can_be_seen() -> None:
    values = [10 + i / 100 for i in range(2000)]
    seen = figure(data([*values, 0.5]), "p50", data([0.5]))
    assert not seen.is_at_least
    assert seen.value_s is not None
    assert seen.at_most_s == pytest.approx(seen.value_s, rel=0.01)


@given(
    ended=st.lists(st.floats(1, 1000), min_size=20, max_size=200),
    given_up=st.lists(st.floats(1, 1000), max_size=40),
    extra=st.floats(1, 50),
)
def test_the_truth_lies_between_a_figure_and_its_bound(
    ended: list[float], given_up: list[float], extra: float
) -> None:
    """Whatever the requests that never ended would have taken, the bounds hold it."""
    seen, censored = data([*ended, *given_up]), data(given_up)
    truth = data([*ended, *(age * extra for age in given_up)])
    for name in NAMES:
        now, then = figure(seen, name, censored), figure(truth, name)
        if now.value_s is None or then.value_s is None:
            continue
        assert then.value_s >= now.value_s * (1 - 1e-6)
        assert then.value_s <= (now.at_most_s or now.value_s) * (1 + 1e-6)


def test_a_bound_beyond_all_that_ended_is_infinite() -> None:
    seen = figure(data([1.0] * 100 + [50.0] * 20), "p90", data([50.0] * 20))
    assert seen.at_most_s == math.inf
    assert seen.text == "≥ 50.0 ms"


def test_requests_that_were_never_sent_leave_the_service_time_as_it_is() -> None:
    measurement = with_timeouts().measurement
    unsent = structs.replace(measurement, errors={"unsent": 60})
    assert censored_service_time(unsent) == HistogramData()
    assert censored_service_time(measurement) == measurement.censored
