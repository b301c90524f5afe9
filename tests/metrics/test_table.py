"""The table of metrics holds together, and is where all that is said of one stands."""

from pathlib import Path

import pytest
from tests.rows import each_row

import httpdyno
from httpdyno.experiment.trial.afterwards import WATCHES
from httpdyno.metrics import METRICS, named, of_ratio, sources
from httpdyno.metrics.table import is_among, meant_by

PRODUCT = Path(httpdyno.__file__).parent
MOST_FILES = 3


def test_each_has_a_name_and_a_ratio_of_its_own():
    assert [named(each.name) for each in METRICS] == [of_ratio(each.ratio) for each in METRICS]
    assert len({each.name for each in METRICS}) == len({each.ratio for each in METRICS})
    assert len({each.label for each in METRICS}) == len(METRICS)


def test_each_that_a_watch_counts_has_one():
    assert {each.name for each in METRICS if each.source == "watch"} == {*WATCHES}


def test_a_family_makes_what_it_is_asked_for():
    one = named("latency_p90_s of search")
    assert (one.ratio, one.label, one.short) == (
        "latency_p90 of search",
        "p90 latency of search",
        "p90 of search",
    )
    assert of_ratio(one.ratio) is named(one.name) or of_ratio(one.ratio).name == one.name
    assert (one.distribution, one.percentile, one.is_on_demand) == (
        "latency of search",
        "p90",
        True,
    )
    assert named("calls_per_request of open").short == "open calls"
    assert sources(["calls_per_request of open", "pss_bytes"]) == {"windows", "system calls"}


@each_row("name", ["", "speed", "throughput_per_s of search", "latency_p90_s of "])
def test_what_is_no_metric_is_none(name):
    with pytest.raises(KeyError):
        named(name)


@each_row("short", ["p99", "p99_s", "latency_p99_s"])
def test_a_percentile_alone_is_meant_of_latency(short):
    assert meant_by(short) == "latency_p99_s"
    assert is_among(meant_by(short), [each.name for each in METRICS])


@pytest.mark.parametrize("metric", ["exits_per_request", "answers_ratio"])
def test_a_metric_is_named_in_few_files(metric):
    """One more is a row with its function; a watch and its line where windows do not have it."""
    files = [each for each in PRODUCT.rglob("*.py") if metric in each.read_text(encoding="utf-8")]
    assert files == [] or len(files) + (metric in WATCHES) <= MOST_FILES
