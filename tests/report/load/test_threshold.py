"""Thresholds: what they may say, and what a test answers."""

import pytest
from msgspec import structs
from tests.report.sample_load import load_measurement, load_outcome, shop, with_timeouts
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.model import LoadOutcome
from httpdyno.report.load.threshold import is_good_enough, judged, judgements, parsed


@each_row(
    ("text", "subject", "figure", "limit"),
    [
        ("p99 > 200ms", "latency", "p99", 0.2),
        ("p50>1s", "latency", "p50", 1.0),
        ("median > 1s", "latency", "p50", 1.0),
        ("p99.9 >= 1.5s", "latency", "p99.9", 1.5),
        ("latency p95 > 20ms", "latency", "p95", 0.02),
        ("max > 1m30s", "latency", "max", 90.0),
        ("MEAN > 3ms", "latency", "mean", 0.003),
        ("min > 3ms", "latency", "min", 0.003),
        ("page p99 > 2s", "page", "p99", 2.0),
        ("pages p90 > 2s", "page", "p90", 2.0),
        ("ttfb p90 > 50ms", "ttfb", "p90", 0.05),
        ("first byte mean > 50ms", "ttfb", "mean", 0.05),
        ("service time p99 > 5ms", "service time", "p99", 0.005),
        ("service p99 > 5ms", "service time", "p99", 0.005),
        ("lateness p99 > 1ms", "lateness", "p99", 0.001),
        ("errors > 0.1%", "errors", "ratio", 0.001),
        ("errors > 0", "errors", "count", 0.0),
        ("rate < 500/s", "rate", "", 500.0),
        ("throughput < 30/m", "rate", "", 0.5),
    ],
)
def test_a_condition_is_read(text: str, subject: str, figure: str, limit: float) -> None:
    seen = parsed(text)
    assert (seen.subject, seen.figure) == (subject, figure)
    assert seen.limit == pytest.approx(limit)


@each_row(
    ("text", "said"),
    [
        ("p(95)<200", "p95 >= 200ms"),
        ("http_req_duration: p(99.9) <= 1500", "p99.9 > 1500ms"),
        ("avg<20", "mean >= 20ms"),
        ("med<20", "p50 >= 20ms"),
        ("p95 < 200", "p95 >= 200ms"),
        ("max<200", "max >= 200ms"),
    ],
)
def test_a_threshold_of_k6_is_answered_with_its_opposite(text: str, said: str) -> None:
    with pytest.raises(UsageError, match="says what must hold") as caught:
        parsed(text)
    assert caught.value.hint == f"write `--fail-if '{said}'`"
    parsed(said)


@each_row(
    ("text", "complaint"),
    [
        ("", "compares nothing"),
        ("p99", "compares nothing"),
        ("p99 == 2s", "compares with `==`"),
        ("p99 = 2s", "compares with `=`"),
        ("p99 > 200", "`200` is not a duration"),
        ("p99 > fast", "`fast` is not a duration"),
        ("> 200ms", "is no figure"),
        ("p100 > 1s", "is no figure"),
        ("p0 > 1s", "is no percentile"),
        ("speed > 1s", "`speed` is no figure"),
        ("ttfb > 1s", "`ttfb` has many values"),
        ("service time > 1s", "`service time` has many values"),
        ("dns p99 > 1s", "`dns` is not measured"),
        ("errors > 5ms", "neither a number of requests nor a percentage"),
        ("errors > -1", "neither a number of requests nor a percentage"),
        ("rate < 5ms", "not a rate"),
        ("p99 > 1s > 2s", "is not a duration"),
    ],
)
def test_nonsense_is_one_clear_sentence(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as raised:
        parsed(text)
    message = str(raised.value)
    assert complaint in message
    assert f"`--fail-if '{text}'`" in message
    assert "\n" not in message
    assert "`p99 > 200ms`" in raised.value.hint


@each_row(
    ("text", "is_passed", "sentence"),
    [
        ("p99 > 200ms", True, "p99 was 9.89 ms"),
        ("p99 > 5ms", False, "p99 was 9.89 ms"),
        ("p99 < 5ms", True, "p99 was 9.89 ms"),
        ("max > 1s", True, "max was 18.9 ms"),
        ("ttfb mean > 1ms", False, "ttfb mean was 3.85 ms"),
        ("errors > 0", True, "0 errors of 12,345 requests, 0 %"),
        ("rate < 1000/s", True, "the rate was 1,234/s"),
        ("rate < 2000/s", False, "the rate was 1,234/s"),
        ("rate >= 1234.5/s", False, "the rate was 1,234/s"),
    ],
)
def test_a_condition_that_holds_is_a_failure(text: str, is_passed: bool, sentence: str) -> None:
    seen = judged(parsed(text), load_outcome().measurement)
    assert (seen.is_passed, seen.sentence) == (is_passed, sentence)


def test_a_percentile_that_the_sample_cannot_carry_is_a_failure_with_that_reason() -> None:
    seen = judged(parsed("p99 > 10s"), load_measurement(completed=500))
    assert not seen.is_passed
    assert seen.value is None
    assert seen.sentence.startswith("p99 needs 1,000 requests")


def test_what_was_not_measured_is_a_failure() -> None:
    seen = judged(parsed("page p90 > 10s"), load_outcome().measurement)
    assert not seen.is_passed
    assert seen.sentence == "no page was measured"


def test_timeouts_that_may_lie_beyond_the_limit_are_a_failure() -> None:
    """p90 was at least 10 s: that it is below 11 s is more than anybody knows."""
    measurement = with_timeouts().measurement
    unknown = judged(parsed("p90 > 11s"), measurement)
    assert not unknown.is_passed
    assert "at least 10.0 s, and may be beyond the limit" in unknown.sentence
    assert judged(parsed("p50 > 1s"), measurement).is_passed
    over = judged(parsed("p90 > 9s"), measurement)
    assert (over.is_passed, over.sentence) == (False, "p90 was at least 10.0 s")


def test_pages_that_were_given_up_took_at_least_as_long() -> None:
    """30 of 1,290 were given up after 10 s: the others' p99 is not the pages'."""
    seen = judged(parsed("page p99 > 1s"), shop().measurement)
    assert (seen.is_passed, seen.sentence) == (False, "page p99 was at least 10.0 s")
    assert judged(parsed("page p90 > 1s"), shop().measurement).is_passed


def test_a_condition_on_pages_is_answered_in_pages() -> None:
    few = judged(parsed("page p99.9 > 1s"), shop().measurement)
    assert few.sentence == (
        "p99.9 needs 10,000 pages, so that 10 lie beyond it; this run has 1,290 pages"
    )
    unknown = judged(parsed("page max > 11s"), shop().measurement)
    assert unknown.sentence.endswith("may be beyond the limit: some pages never ended")


def test_judgements_come_in_the_order_given() -> None:
    seen = judgements(shop())
    assert [each.threshold.text for each in seen] == list(shop().fail_if)
    assert [each.is_passed for each in seen] == [True, True, True, False, True]


def with_errors(completed: int, n_errors: int, *fail_if: str) -> LoadOutcome:
    errors = {"reset": n_errors} if n_errors else {}
    measurement = load_measurement(completed=completed, errors=errors)
    return load_outcome(measurement, fail_if=fail_if)


@each_row(
    ("completed", "n_errors", "is_good"),
    [(1000, 0, True), (999, 1, True), (998, 2, False), (0, 0, False), (0, 5, False)],
)
def test_the_answer_is_no_below_999_of_1000(completed: int, n_errors: int, is_good: bool) -> None:
    assert is_good_enough(with_errors(completed, n_errors)) is is_good


def test_a_threshold_on_errors_takes_the_place_of_the_usual_one() -> None:
    assert is_good_enough(with_errors(960, 40, "errors > 5%"))
    assert not is_good_enough(with_errors(999, 1, "errors > 0"))
    assert not is_good_enough(with_errors(960, 40, "p99 > 10s"))


def test_any_broken_threshold_makes_the_answer_no() -> None:
    good = load_outcome(fail_if=("p99 > 1s", "rate < 1/s"))
    assert is_good_enough(good)
    assert not is_good_enough(structs.replace(good, fail_if=("p99 > 1s", "rate < 5000/s")))
