"""The book's comparisons, without servers: what is made of an outcome."""

import re
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from msgspec import structs
from tests.book.asked import BY_NAME, FEWEST, asked, host
from tests.report import sample
from tests.report.sample_figures import with_figures
from tests.rows import each_row

from httpdyno.book import pair as comparing
from httpdyno.book.experiment import Pair, Then
from httpdyno.book.pair import of_outcome, pair
from httpdyno.catalog import open_study
from httpdyno.errors import TargetError
from httpdyno.experiment.trial.engine_loads import said
from httpdyno.metrics.table import named
from httpdyno.model import Look, Plan, RatioInterval, ResultWarning
from httpdyno.reason import because
from httpdyno.report.shared.message import joined, text


@each_row(
    ("changes", "word"),
    [
        ({}, "holds"),
        ({"verdict": "inconclusive"}, "holds"),
        ({"verdict": "inconclusive", "is_doubted": True}, "cannot tell"),
        ({"verdict": "failed", "reasons": said("the candidate crashed")}, "cannot tell"),
        ({"verdict": "not_measured"}, "cannot tell"),
        # Starts there were enough, but some gave no figure.
        ({"verdict": "inconclusive", "per_start_ratio": (1.3,) * (FEWEST - 1)}, "cannot tell"),
    ],
)
def test_nothing_is_made_of_an_interval_that_the_comparison_does_not_stand_by(changes, word):
    outcome = sample.ladder()
    assert outcome.final is not None
    final = structs.replace(outcome.final, **{"per_start_ratio": (1.3,) * FEWEST, **changes})
    interval = final.ratios["throughput"]
    each = structs.replace(BY_NAME["mod-cgi-baseline"], then=Then(says="", ratio=interval.ratio))
    way = Pair(study="fake")
    found = of_outcome(each, way, structs.replace(outcome, final=final))
    assert found.verdict == word
    if word == "cannot tell":
        assert (found.says, "ratio" in found.figures) == (joined(final.reasons), False)


@each_row(
    ("metric", "words"),
    [
        ("throughput_per_s", "throughput 1.21 × (1.1 … 1.34; 6 starts): 112 → 551 requests/s"),
        ("bytes_per_request", ": 5,312 → 0.0 bytes for a request"),
        # The start's sample is too small to carry it.
        ("latency_p99_s", "p99 latency 1.21 × (1.1 … 1.34; 6 starts): – → 20.4 ms"),
        ("pss_bytes", ": 40.0 MiB → – for the whole pool"),
        ("uss_bytes_per_process", ": 2.00 MiB → –"),
        ("first_byte_p90_s", ": 20.0 ms → –"),
        ("calls_per_request", ": 80.00 → –"),
    ],
)
def test_each_metric_is_told_with_both_sides_in_its_own_unit(metric, words):
    outcome = sample.ladder()
    assert outcome.final is not None
    interval = RatioInterval(ratio=1.214, low=1.102, high=1.337, confidence=0.95)
    a = with_figures(
        outcome.final.a,
        bytes_per_request=5312.0,
        pss_bytes=40.0 * 2**20,
        uss_bytes_per_process=2.0 * 2**20,
        first_byte_p90_s=0.02,
        calls_per_request=80.0,
        latency_p99_s=None,
    )
    final = structs.replace(
        outcome.final,
        a=a,
        b=with_figures(outcome.final.b, pss_bytes=None),
        metric=metric,
        ratios={named(metric).ratio: interval},
        per_start_ratio=(1.214,) * FEWEST,
    )
    way = Pair(study="fake", metric=metric)
    each = BY_NAME["mod-cgi-baseline"]
    assert words in of_outcome(each, way, structs.replace(outcome, final=final)).says


def test_what_the_comparison_doubts_stands_beside_what_was_seen():
    outcome = sample.ladder()
    assert outcome.final is not None
    reason = because("experiment.client_limited", n=8, n_windows=12, limit="client_cpu")
    limited = ResultWarning(reason=reason)
    final = structs.replace(outcome.final, per_start_ratio=(1.3,) * FEWEST, warnings=(limited,))
    way = Pair(study="fake")
    found = of_outcome(BY_NAME["mod-cgi-baseline"], way, structs.replace(outcome, final=final))
    assert text(reason) in found.figures["evidence"]


def test_what_the_reason_rests_on_comes_first_and_a_side_that_fails_says_so():
    outcome = sample.ladder()
    assert outcome.final is not None
    look = Look(seconds=1.0, n_samples=20, workers=2.0, cpu_s=0.5, cpus=2.0, answers=100.0)
    final = structs.replace(
        outcome.final,
        per_start_ratio=(1.3,) * FEWEST,
        a=structs.replace(outcome.final.a, look=look),
        b=structs.replace(
            outcome.final.b, look=structs.replace(look, cpu_s=1.9), error_ratio=0.002
        ),
    )
    each = structs.replace(BY_NAME["mod-cgi-baseline"], evidence=("server_cores",))
    found = of_outcome(each, Pair(study="fake"), structs.replace(outcome, final=final))
    seen = found.figures["evidence"]
    assert seen[0] == "cores that the server used 0.5 → 1.9 of 2"
    # Once, though it moved.
    assert sum(line.startswith("cores that the server used") for line in seen) == 1
    assert "of the second side 0.2 % of requests failed; the limit is 0.1 %" in seen


def test_a_comparison_that_is_broken_off_is_no_result(monkeypatch):
    outcome = structs.replace(sample.ladder(), status="interrupted")
    plans: list[Plan] = []

    def outcome_of(plan):
        plans.append(plan)
        return outcome

    monkeypatch.setattr(comparing, "study_here", lambda _name: sample.ladder().plan.study)
    with pytest.raises(KeyboardInterrupt):
        pair(asked("mod-cgi-baseline", by=host(outcome_of)), Pair(study="fake"))
    [plan] = plans
    assert plan.study.budget_s == 60.0
    assert plan.borders == pytest.approx((26.3**0.1, 26.3 / 2, 26.3 * 2))


def test_a_configuration_beside_takes_its_time_of_the_budget_and_is_told(monkeypatch):
    plans: list[Plan] = []

    def outcome_of(plan):
        plans.append(plan)
        return sample.ladder()

    def refuse(_study, at):
        raise TargetError(f"it did not come up with {at}")

    monkeypatch.setattr(comparing, "study_here", lambda _name: sample.ladder().plan.study)
    monkeypatch.setattr(comparing, "server_of", refuse)
    way = Pair(study="fake", beside={"n": 1})
    found = pair(asked("mod-cgi-baseline", by=host(outcome_of)), way)
    assert found.figures["evidence"][-1] == "with n=1: it did not come up with {'n': 1}"
    assert plans[0].study.budget_s == 60.0 - comparing._BESIDE_S


def test_a_configuration_beside_is_asked_what_its_knobs_of_the_load_say(monkeypatch):
    asked_for: list[list[str]] = []

    def start_load(workload, *_addresses, **_more):
        asked_for.append([each.path for each in workload.asked])
        raise TargetError("that was all")

    running = SimpleNamespace(addresses=["127.0.0.1:1"], networks=[""])
    up = SimpleNamespace(running=running)
    monkeypatch.setattr(comparing, "server_of", lambda _study, _at: nullcontext(up))
    monkeypatch.setattr(comparing, "start_load", start_load)
    way = Pair(study="keep-alive", beside={"objects": 2})
    said = comparing._beside(open_study(way.study), way, seed=1)
    assert said == "with objects=2: that was all"
    assert asked_for == [["/page", "/1.css", "/2.css"]]


@pytest.mark.real_server("apache2")
def test_a_configuration_beside_is_loaded_for_some_seconds(monkeypatch):
    monkeypatch.setattr(comparing, "_BESIDE_S", 1.0)
    way = BY_NAME["mrpc-one-and-ten-light"].way
    assert isinstance(way, Pair)
    said = comparing._beside(open_study(way.study), way, seed=1)
    assert re.fullmatch(
        r"with MaxConnectionsPerChild=1: [\d.,]+ requests/s.*; one start, 1\.00 s", said
    )


def test_memory_that_moved_is_evidence():
    outcome = sample.ladder()
    assert outcome.final is not None
    loaded = {"n_processes": 8.0}
    arms = (outcome.final.a, outcome.final.b)
    a, b = (
        structs.replace(
            with_figures(arm, uss_bytes_per_process=mib * 2**20, pss_bytes=40.0 * 2**20), **loaded
        )
        for arm, mib in zip(arms, (3.1, 2.2), strict=True)
    )
    interval = RatioInterval(ratio=0.7, low=0.68, high=0.75, confidence=0.95)
    final = structs.replace(
        outcome.final,
        a=a,
        b=b,
        metric="pss_bytes",
        ratios={"memory": interval, "uss_per_process": interval},
        per_start_ratio=(0.7,) * FEWEST,
    )
    way = Pair(study="fake", metric="pss_bytes")
    each = BY_NAME["preload-cgi-methods-memory"]
    found = of_outcome(each, way, structs.replace(outcome, final=final))
    assert found.figures["evidence"][:2] == (
        "private memory of a process 3.10 MiB → 2.20 MiB",
        "memory that processes share, counted once 15.2 MiB → 22.4 MiB (no claim)",
    )
