import csv
from io import StringIO
from itertools import pairwise

import pytest
from msgspec import structs
from tests.report.sample_figures import latency_data
from tests.report.sample_load import load_measurement, load_outcome

from httpdyno.model import Batches, HistogramData
from httpdyno.report.load.histogram import COLUMNS, load_csv
from httpdyno.report.load.tables import halved, readable
from httpdyno.stats.histogram import count


def batches(n: int, per_interval: int) -> Batches:
    return Batches(
        interval_s=0.01,
        offered=(per_interval,) * n,
        completed=tuple(range(n)),
        errors=(1,) * n,
        latency=(latency_data(0.004, 0.2, per_interval),) * n,
    )


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def test_there_is_a_row_for_each_interval() -> None:
    outcome = load_outcome()
    seen = rows(load_csv(outcome))
    whole = outcome.measurement.batches
    assert tuple(seen[0]) == COLUMNS
    for column, counts in (("offered", whole.offered), ("errors", whole.errors)):
        assert sum(int(row[column]) for row in seen) == sum(counts)
    starts = [float(row["t_s"]) for row in seen]
    steps = [later - earlier for earlier, later in pairwise(starts)]
    assert starts[0] == 0
    assert max(steps) == pytest.approx(min(steps))


def test_a_percentile_that_few_requests_cannot_carry_is_empty_and_the_maximum_is_not() -> None:
    measurement = structs.replace(load_measurement(), batches=batches(3, 50))
    seen = rows(load_csv(load_outcome(measurement)))
    assert [row["p99_s"] for row in seen] == ["", "", ""]
    assert all(float(row["p50_s"]) > 0 and float(row["max_s"]) > 0 for row in seen)


def test_an_interval_in_which_nothing_ended_has_its_row() -> None:
    one = structs.replace(batches(1, 50), latency=(HistogramData(),))
    seen = rows(load_csv(load_outcome(structs.replace(load_measurement(), batches=one))))
    assert [(row["p50_s"], row["max_s"]) for row in seen] == [("", "")]


def test_intervals_are_merged_until_a_usual_one_carries_a_p99() -> None:
    merged = readable(batches(256, 300))
    assert merged.interval_s == pytest.approx(0.04)
    assert [count(data) for data in merged.latency] == [1200] * 64


def test_intervals_that_carry_enough_stay_as_they_are() -> None:
    assert readable(batches(256, 1000)).interval_s == 0.01


def test_some_intervals_are_left_however_few_requests_there_are() -> None:
    assert len(readable(batches(256, 1)).latency) == 64


def test_nothing_is_lost_when_pairs_are_merged() -> None:
    whole = batches(7, 20)
    half = halved(whole)
    assert len(half.latency) == 4
    assert half.completed == (1, 5, 9, 6)
    assert half.errors == (2, 2, 2, 1)
    assert sum(map(count, half.latency)) == sum(map(count, whole.latency))


def test_a_test_without_intervals_has_just_the_head() -> None:
    assert load_csv(load_outcome(load_measurement())) == ",".join(COLUMNS) + "\n"
