"""Studies about code as text, page and JSON: calls, and nothing of requests."""

import json
import re

import pytest
from tests.conformance.memory_store import MemoryStore
from tests.experiment.code import CodeBench, code_study
from tests.report.page import embedded
from tests.report.plain import plain_text
from tests.rows import each_row

from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.model import CallFigures
from httpdyno.report.study.arms import call_time, count_text
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text

COSTS = {"function": 40.0, "method": 60.0, "join": 20.0, "slow": 5_000.0, "nothing": 0.05}
OF_REQUESTS = ("request", "connection", "throughput", "latency", "p99", "load client")


def outcome_of(plan):
    return run_plan(
        plan,
        bench=CodeBench(costs_ns=COSTS),
        store=MemoryStore(),
        run_id="1",
        watch=lambda _event: None,
    )


@pytest.fixture(scope="module")
def table():
    return outcome_of(make_plan(code_study("method", "join", "slow", "nothing"), seed=1))


@pytest.fixture(scope="module")
def pair():
    study = code_study("method")
    start = study.start_configuration()
    return outcome_of(compare_plan(study, start, start.replaced("body", "method"), seed=1))


def test_a_table_has_each_body_s_time_without_the_loop_and_its_ratio(table):
    text = plain_text(outcome_text(table))
    rows = {line.split("  ")[0].strip(): line for line in text.splitlines()}
    assert "ns" in rows["body → join"]
    assert "µs" in rows["body → slow"]
    assert re.search(r" (19|20|21)\.\d ns ", rows["body → slow"]), "what was taken off"
    assert "b is not clearly above the empty body" in " ".join(text.split())
    assert not [word for word in OF_REQUESTS if word in text], text


def test_a_pair_tells_both_in_their_own_units(pair):
    text = " ".join(plain_text(outcome_text(pair)).split())
    assert re.search(r"b is worse: 1\.[45]\d* × the CPU per call", text)
    assert re.search(r"wall time per call 1\.[45]\d* ×", text)
    assert not [word for word in OF_REQUESTS if word in text], text


@pytest.mark.parametrize("name", ["table", "pair"])
def test_the_page_says_how_calls_are_measured_and_nothing_of_requests(name, request):
    outcome = request.getfixturevalue(name)
    page = outcome_html(outcome).replace("\N{NO-BREAK SPACE}", " ").replace("\N{WORD JOINER}", "")
    seen = page.partition('<script type="application/json"')[0]
    body = seen.partition("<body>")[2]
    assert "the empty one (`empty`) were called in turn" in body
    assert "Each dot is one process that called both" in body
    assert "CPU per call" in body
    assert not [word for word in OF_REQUESTS if word in body]
    assert embedded(outcome_html(outcome)) == json.loads(json.dumps(outcome_json(outcome)))


def test_json_has_the_figures_of_calls(pair):
    final = outcome_json(pair)["final"]
    calls = final["b"]["calls"]
    assert calls["cpu_s"] * 1e9 == pytest.approx(60.0, rel=0.1)
    assert calls["empty_cpu_s"] * 1e9 == pytest.approx(20.0, rel=0.1)
    assert final["ratios"]["cpu_per_call"]["ratio"] == pytest.approx(1.5, rel=0.1)
    assert "throughput" not in final["ratios"]
    plan = outcome_json(pair)["plan"]
    assert plan["workload"] is None
    assert (plan["fragments"]["knob"], plan["fragments"]["empty"]) == ("body", "empty")


@each_row(
    ("seconds", "text"),
    [(57.24e-9, "57.2 ns"), (-1e-9, "-1.0 ns"), (2.33e-6, "2.33 µs"), (0.004, "4.00 ms")],
)
def test_times_of_calls_have_their_units(seconds, text):
    assert call_time(seconds) == text


def test_many_calls_are_millions():
    assert [count_text(n) for n in (12, 999_999, 3_240_000)] == ["12", "999,999", "3.2 million"]


def test_dilation_is_of_whole_batches():
    calls = CallFigures(n_calls=1, cpu_s=3.0, wall_s=5.0, empty_cpu_s=1.0, empty_wall_s=1.0)
    assert calls.dilation == 1.5
    nothing = CallFigures(n_calls=1, cpu_s=0.0, wall_s=5.0, empty_cpu_s=0.0, empty_wall_s=1.0)
    assert nothing.dilation == 0.0
