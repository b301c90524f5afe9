"""How far figures may be off, and where a warm-up ended, in words."""

from msgspec import structs
from tests.report.page import parsed
from tests.report.plain import plain_text
from tests.report.sample_figures import latency_data
from tests.report.sample_load import load_measurement, load_outcome, shop, with_timeouts

from httpdyno.model import Batches, Evidence, HistogramData, LoadOutcome
from httpdyno.report.load.caveat import load_caveats
from httpdyno.report.load.json import load_json
from httpdyno.report.load.page import load_html
from httpdyno.report.load.tables import (
    half_width_text,
    interval_grid,
    no_interval_text,
    summary_of,
    warm_up_text,
)
from httpdyno.report.load.text import load_text

N = 250


def with_course(medians_s: list[float]) -> LoadOutcome:
    """Return a test whose intervals of 40 ms had these median latencies, over 50 connections."""
    completed = [round(50 * 0.04 / median_s) for median_s in medians_s]
    batches = Batches(
        interval_s=0.04,
        offered=tuple(completed),
        completed=tuple(completed),
        errors=(0,) * len(completed),
        latency=tuple(
            latency_data(median_s, 0.3, n) for median_s, n in zip(medians_s, completed, strict=True)
        ),
    )
    measurement = structs.replace(load_measurement(completed=sum(completed)), batches=batches)
    return load_outcome(measurement)


def wave(i: int) -> float:
    """Return a little up and down that is over within a few intervals."""
    return 1 + 0.03 * ((7 * i) % 11 - 5) / 5


def test_the_throughput_s_half_width_stands_in_the_first_line() -> None:
    outcome = load_outcome()
    rate = summary_of(outcome).throughput_per_s
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low < outcome.measurement.throughput_per_s < rate.high
    half_width = half_width_text(outcome)
    assert f"1,234/s ± {half_width} over" in plain_text(load_text(outcome))
    assert f"1,234/s ± {half_width} over" in "".join(parsed(load_html(outcome)).text)


def test_a_warm_up_is_named_with_what_the_rest_shows() -> None:
    slow = [0.004 * wave(i) * (3 if i < 25 else 1) for i in range(N)]
    outcome = with_course(slow)
    text = warm_up_text(outcome)
    assert text.startswith("the first 1.00 s are unlike the rest; without them 12,49")
    assert text.endswith("p50 4.00 ms, p99 8.05 ms")
    assert half_width_text(outcome) == ""
    assert "warm-up" in plain_text(load_text(outcome))
    assert "are unlike the rest" in load_html(outcome)


def test_a_beginning_after_which_nothing_came_is_no_warm_up() -> None:
    outcome = with_course([0.004 * wave(i) for i in range(N)])
    batches = outcome.measurement.batches
    n_first = 30
    completed = tuple(n if i < n_first else 0 for i, n in enumerate(batches.completed))
    latency = tuple(
        data if i < n_first else HistogramData() for i, data in enumerate(batches.latency)
    )
    gone = structs.replace(batches, offered=completed, completed=completed, latency=latency)
    ended = structs.replace(outcome, measurement=structs.replace(outcome.measurement, batches=gone))
    assert "without them 0/s" not in warm_up_text(ended)


def test_a_steady_test_has_no_warm_up() -> None:
    outcome = with_course([0.004 * wave(i) for i in range(N)])
    assert warm_up_text(outcome) == ""
    assert "warm-up " not in plain_text(load_text(outcome))


def test_a_test_that_was_never_steady_says_so() -> None:
    outcome = with_course([0.004 * wave(i) * (1 + 2 * i / N) for i in range(N)])
    [caveat] = load_caveats(outcome)
    assert caveat.kind in {"unsteady", "no_interval"}
    assert half_width_text(outcome) == ""


def test_a_figure_without_an_interval_has_the_reason_instead() -> None:
    outcome = load_outcome(
        structs.replace(shop().measurement, evidence=Evidence(), lateness=HistogramData())
    )
    reason = no_interval_text(outcome)
    assert reason
    kinds = {caveat.kind: caveat.message for caveat in load_caveats(outcome)}
    assert kinds == {"no_interval": reason}
    rows = {row[0]: row for row in interval_grid(outcome).rows}
    assert rows["throughput"][2] == f"none: {reason}"
    assert rows["p99.9"][1] == "≥ 10.0 s"


def test_what_was_not_measured_has_no_value_but_a_reason() -> None:
    rows = {row[0]: row for row in interval_grid(with_timeouts()).rows}
    assert rows["p99"][1] == "–"
    assert "p99 takes 1,000 requests" in rows["p99"][2]
    assert no_interval_text(with_timeouts()) == ""


def test_the_json_has_every_interval_or_its_reason() -> None:
    intervals = load_json(load_outcome())["intervals"]
    assert intervals["throughput_per_s"]["low"] < 1234.5 < intervals["throughput_per_s"]["high"]
    for estimate in (intervals["throughput_per_s"], *intervals["latency_s"].values()):
        assert (estimate["low"] is None) == bool(estimate["reason"])
