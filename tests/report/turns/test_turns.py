"""Turns of running servers, as they are shown."""

import json
import math
import random

import pytest
from msgspec.structs import replace
from tests.conformance.record import sample_host
from tests.report.plain import plain_text
from tests.report.sample_figures import latency_data, with_figures
from tests.rows import each_row

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import (
    ArmSummary,
    Behind,
    Comparison,
    Configuration,
    Instance,
    Look,
    Objective,
    RatioInterval,
    RequestSpec,
    ResultWarning,
    TurnsOutcome,
    TurnsPlan,
    Verdict,
    Workload,
)
from httpdyno.reason import because
from httpdyno.report.turns.html import turns_html
from httpdyno.report.turns.text import turns_text
from httpdyno.report.turns.words import interval_text, turns_json

SECRET = "Bearer canary"


def instance(port: int) -> Instance:
    return Instance(
        url=f"http://127.0.0.1:{port}/",
        address=f"127.0.0.1:{port}",
        process=f"gunicorn {port + 1000}",
    )


def arm(throughput_per_s: float, median_s: float) -> ArmSummary:
    return ArmSummary(
        configuration=Configuration(),
        n_starts=58,
        figures={"throughput_per_s": throughput_per_s, "cpu_s_per_request": 0.0002},
        error_ratio=0.0,
        latency_s={"mean": median_s, "p50": median_s, "p90": 1.5 * median_s},
        latency=latency_data(median_s, 0.3, 20_000),
    )


def compared(index: int, b: ArmSummary, verdict: Verdict, ratio: float) -> Comparison:
    draw = random.Random(index)
    interval = RatioInterval(ratio=ratio, low=ratio / 1.05, high=ratio * 1.05, confidence=0.975)
    return Comparison(
        index=index,
        a=arm(4000.0, 0.002),
        b=b,
        verdict=verdict,
        reasons=said("the whole interval lies above 1 after 58 periods"),
        metric="throughput_per_s",
        n_starts=58,
        ratios={
            "throughput": interval,
            "latency_p50": replace(interval, ratio=1 / ratio, low=0.95 / ratio, high=1.05 / ratio),
        },
        per_start_ratio=tuple(ratio * math.exp(draw.gauss(0, 0.1)) for _ in range(58)),
    )


def outcome(n: int) -> TurnsOutcome:
    comparisons = (
        compared(1, arm(5200.0, 0.0016), "better", 1.31),
        compared(2, arm(3960.0, 0.002), "inconclusive", 0.99),
    )
    return TurnsOutcome(
        plan=TurnsPlan(
            instances=tuple(instance(8901 + number) for number in range(n)),
            workload=Workload(
                requests=(RequestSpec(headers=(("Authorization", SECRET),)),), connections=16
            ),
            duration_s=60.0,
            seed=7,
        ),
        objective=Objective(confidence=1 - 0.05 / (n - 1)),
        comparisons=comparisons[: n - 1],
        host=sample_host(),
        began_at="2026-03-01T12:00:00.000+00:00",
        duration_s=60.2,
        n_periods=58,
        turn_s=0.45,
        warnings=(ResultWarning(reason=because("experiment.instances_only", n=2)),),
    )


@pytest.mark.parametrize("n", [2, 3])
def test_the_text_is_as_it_was_read(n, golden):
    text = plain_text(turns_text(outcome(n)))
    assert max(map(len, text.splitlines())) <= 80
    golden(f"report/turns_{n}.txt", text)


def test_nothing_measured_is_shown_without_figures():
    whole = outcome(2)
    [found] = whole.comparisons
    nothing = replace(
        found,
        verdict="not_measured",
        reasons=said("no time"),
        n_starts=0,
        ratios={},
        per_start_ratio=(),
    )
    bare = replace(whole, comparisons=(nothing,), n_periods=0)
    assert "is not measured against" in plain_text(turns_text(bare))
    assert "not measured" in turns_html(bare)


def test_json_and_html_have_the_claims_and_no_secret():
    whole = outcome(3)
    text = json.dumps(turns_json(whole), allow_nan=False)
    page = turns_html(whole)
    for words in ("http://127.0.0.1:8902/ is better than http://127.0.0.1:8901/", "97.5 %"):
        assert words in page.replace("\N{NO-BREAK SPACE}", " "), words
    assert page.count("<svg") == 4
    assert "canary" not in text + page
    document = json.loads(text)
    compared = document["comparisons"]
    assert [each["verdict"] for each in compared] == ["better", "inconclusive"]
    assert compared[0]["b"]["figures"]["throughput_per_s"] == 5200.0


def looked_at(summary: ArmSummary, look: Look) -> ArmSummary:
    return replace(summary, look=look, bottleneck=bottleneck(look))


def with_instances(whole: TurnsOutcome, *instances: Instance) -> TurnsOutcome:
    return replace(whole, plan=replace(whole.plan, instances=instances))


def test_what_limited_each_is_told_with_what_differs_inside():
    whole = outcome(2)
    slow = Look(
        seconds=0.7,
        n_samples=14,
        workers=4.0,
        doing={"disk": 3.5, "running": 0.5},
        cpu_s=0.2,
        cpus=2.0,
        host_cpus=2,
        host_busy=0.5,
        write_calls=1400,
        answers=100.0,
        clients=4.0,
    )
    quick = replace(slow, doing={"running": 4.0}, cpu_s=0.7, host_busy=1.9, write_calls=600)
    quick = replace(quick, client_cpu_s=0.6, host_run_queue=5.2)
    summaries = [summary for _, summary in whole.arms]
    whole = whole.with_summaries(tuple(map(looked_at, summaries, (slow, quick))))
    page = turns_html(whole).replace("\N{NO-BREAK SPACE}", " ")
    for shown in (" ".join(plain_text(turns_text(whole)).split()), page):
        assert "what limited it: a disk; of 4.0 busy workers 3.5 waited for a disk" in shown
        assert "beside http://127.0.0.1:8901/: write calls of an answer 14 → 6.0" in shown
        assert "beside http://127.0.0.1:8902/" not in shown
        assert shown.count("run queue: 5.2 threads ran or were ready") == 1
    [found] = turns_json(whole)["comparisons"]
    assert [found[each]["bottleneck"]["limit"] for each in "ab"] == ["disk", "cpu"]


def test_cpu_time_says_whose_it_is_without():
    whole = outcome(2)
    (first, seen), (second, other) = whole.arms
    places = (Behind(to="127.0.0.1:5432", by="postgres 812"), Behind(to="unix:/run/shop"))
    # Nothing is told of CPU time that is not known.
    whole = whole.with_summaries((seen, with_figures(other, cpu_s_per_request=None)))
    whole = with_instances(whole, *(replace(each, behind=places) for each in (first, second)))
    page = turns_html(whole).replace("\N{NO-BREAK SPACE}", " ")
    for shown in (" ".join(plain_text(turns_text(whole)).split()), page):
        assert (
            "CPU/request of http://127.0.0.1:8901/: without postgres 812 (127.0.0.1:5432), "
            "what answers at unix:/run/shop"
        ) in shown
        assert "CPU/request of http://127.0.0.1:8902/" not in shown
    assert [each["behind"] for each in turns_json(whole)["plan"]["instances"]] == 2 * [
        [{"to": "127.0.0.1:5432", "by": "postgres 812"}, {"to": "unix:/run/shop", "by": None}]
    ]


@each_row(
    ("low", "high", "text"),
    [
        (1.273, 1.351, "1.31 × (1.27 … 1.36)"),
        (1.0004, 1.62, "1.31 × (1.0004 … 1.62)"),
        (0.99, 1.62, "1.31 × (0.99 … 1.62)"),
        (1.00001, 1.62, "1.31 × (1.0000 … 1.62)"),
    ],
)
def test_an_end_that_is_not_1_does_not_read_as_1(low, high, text):
    interval = RatioInterval(ratio=1.31, low=low, high=high, confidence=0.95)
    assert interval_text(interval) == text


def test_of_a_name_it_is_said_which_address_was_taken() -> None:
    whole = outcome(2)
    assert "address" not in plain_text(turns_text(whole))
    first, *others = whole.plan.instances
    named = replace(first, url="http://shop.test/", address="10.0.0.2:80")
    text = plain_text(turns_text(with_instances(whole, named, *others)))
    [row] = [line for line in text.splitlines() if line.startswith("address ")]
    assert "10.0.0.2:80" in row
