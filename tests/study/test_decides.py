"""Another metric that decides a study than its file says."""

import shutil
from pathlib import Path

import pytest
from msgspec import structs

from httpdyno.cli.find_study import open_study
from httpdyno.errors import StudyFileError, UsageError
from httpdyno.metrics import sources
from httpdyno.study.also import with_also
from httpdyno.study.decides import decided_by


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


@pytest.mark.parametrize(
    ("name", "metric", "hint"),
    [
        ("burst", "throughput_per_s", "latency_p95_s"),  # its schedule decides it
        ("code-fragments", "p95_s", "cpu_s_per_call decides it"),
        ("asp-bookmarks", "lookups_per_request", "network.resolver"),
        ("asp-bookmarks", "usual_p95_s", "some are `slow`"),
        ("asp-bookmarks", "answers_ratio of HIT", "`[workload]` with `count_header = "),
        ("page-cache", "answers_ratio of HIT, MISS", "answers_ratio of WORD"),
        ("page-cache", "answers_ratio", "answers_ratio of WORD"),
        ("code-fragments", "answers_ratio of HIT", "cpu_s_per_call decides it"),
    ],
)
def test_what_a_study_has_no_figure_of_is_refused(name, metric, hint):
    with pytest.raises(UsageError) as caught:
        decided_by(open_study(name), metric)
    assert hint in caught.value.hint


def test_any_word_of_a_header_that_is_counted_decides_or_is_told_once():
    found = decided_by(open_study("page-cache"), "answers_ratio of TCP_HIT")
    assert found.objective.metric == "answers_ratio of TCP_HIT"
    assert "header words" in sources(found.objective.named)
    with pytest.raises(UsageError, match="cannot be told beside the metric"):
        with_also(found.objective, ["answers_ratio of TCP_HIT"], found.workload)
    told = with_also(found.objective, ["answers_ratio of hit"] * 2, found.workload)
    assert told.also == ("answers_ratio of hit",)


def test_a_study_file_may_have_a_word_that_decides_where_it_counts_a_header(tmp_path):
    folder = tmp_path / "study"
    shutil.copytree(Path(open_study("page-cache").folder), folder)
    file = folder / "study.toml"
    text = file.read_text()
    text = text.replace('metric = "cpu_s_per_request"', 'metric = "answers_ratio of MISS"')
    file.write_text(text)
    found = open_study(str(file))
    assert found.objective.named == {"answers_ratio of MISS", "cpu_s_per_request"}
    file.write_text(text.replace('count_header = "X-Cache"\n', ""))
    with pytest.raises(StudyFileError, match="expected a study that counts a header"):
        open_study(str(file))
