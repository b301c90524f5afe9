"""Another metric that decides a study than its file says."""

import pytest
from msgspec import structs
from tests.rows import each_row

from httpdyno.catalog import open_study
from httpdyno.errors import UsageError
from httpdyno.study.objective import decided_by


def test_what_a_study_says_of_its_own_metric_goes_with_it():
    study = open_study("database-connection-server")
    assert study.objective.tie_breaker != ""
    knobs = tuple(structs.replace(each, book_ratio=(2.0,)) for each in study.knobs)
    found = decided_by(structs.replace(study, knobs=knobs, book_ratio=1.5), "p95_s")
    assert found.objective.metric == "latency_p95_s"
    assert (found.objective.tie_breaker, found.objective.second) == ("", "cpu_s_per_request")
    assert [each.book_ratio for each in found.knobs] == [()] * len(knobs)
    assert found.book_ratio is None


def test_a_percentile_alone_is_that_of_latency():
    study = open_study("database-connection-server")
    assert decided_by(study, "p95").objective.metric == "latency_p95_s"


def test_the_metric_that_decides_already_changes_nothing():
    study = open_study("asp-bookmarks")
    assert decided_by(study, "cpu_s_per_request") is study


def test_what_is_told_beside_it_is_told_once():
    study = open_study("asp-bookmarks")
    also = ("latency_p95_s", "pss_bytes", "latency_p99_s")
    study = structs.replace(study, objective=structs.replace(study.objective, also=also))
    found = decided_by(study, "pss_bytes").objective
    assert found.also == ("latency_p95_s", "latency_p99_s")
    assert found.second == "cpu_s_per_request"


@each_row(
    ("name", "metric", "hint"),
    [
        ("burst", "throughput_per_s", "latency_p95_s"),  # its schedule decides it
        ("code-fragments", "p95_s", "cpu_s_per_call decides it"),
        ("asp-bookmarks", "lookups_per_request", "network.resolver"),
        ("asp-bookmarks", "usual_p95_s", "some are `slow`"),
    ],
)
def test_what_a_study_has_no_figure_of_is_refused(name, metric, hint):
    with pytest.raises(UsageError) as caught:
        decided_by(open_study(name), metric)
    assert hint in caught.value.hint
