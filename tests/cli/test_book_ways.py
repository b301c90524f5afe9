"""Ways of the book's experiments, without servers: series, load tests' figures, verdicts."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest
from msgspec import structs
from tests.report import sample

from httpdyno.book.declared import experiments
from httpdyno.book.experiment import Pair, Then
from httpdyno.cli import book_loads, book_ways
from httpdyno.cli.book_counts import _LOOP, CallTime, stat
from httpdyno.cli.book_found import Asked, output_of, pinned, series_of, told
from httpdyno.cli.book_loads import RECIPES, ab_rate, clients, raised, recipe
from httpdyno.cli.find_study import open_study
from httpdyno.errors import TargetError
from httpdyno.model import Caveat, Plan, RatioInterval, SystemCalls
from httpdyno.model.metric import RATIO_OF_METRIC

FEWEST = 6
BY_NAME = {each.name: each for each in experiments()}


def asked(name, budget_s=60.0, **changes):
    return Asked(each=structs.replace(BY_NAME[name], **changes), budget_s=budget_s, seed=4)


def ticking(step_s):
    """Return a clock that goes on by so much at each look."""
    ticks = count()
    return lambda: next(ticks) * step_s


@pytest.mark.parametrize(
    ("values", "budget_s", "n", "word"),
    [
        # Told by the fewest, and not before.
        ([1.0] * 9, 1e9, FEWEST, "holds"),
        ([0.98, 1.02] * 9, 1e9, FEWEST, "holds"),
        # On a border of what is flat: until the time is over, but never less than the fewest.
        ([1.2, 1.3] * 99, 0.0, FEWEST, "cannot tell"),
        ([1.2, 1.3] * 99, 60.0, 20, "cannot tell"),
        ([1.28, 1.4] * 99, 1e9, 10, "no longer"),
        # What came to nothing is no ratio.
        ([0.0] * 9, 1e9, FEWEST, "no longer"),
        ([1.0, 0.0] * 9, 1e9, FEWEST, "cannot tell"),
    ],
)
def test_a_series_goes_on_until_its_word_is_told(values, budget_s, n, word):
    ask = asked("httperf-sample", budget_s)
    seen, interval = series_of(ask, lambda number: values[number], clock=ticking(1.0))
    assert len(seen) == n
    assert told(ask.each, seen, interval) == word


@pytest.mark.parametrize(
    ("name", "word"),
    [("ab-raise-load-light", "holds, larger"), ("ab-versus-pounder", "no longer")],
)
def test_nothing_in_each_run_is_less_of_what_was_less_and_none_of_what_was_more(name, word):
    assert told(BY_NAME[name], [0.0] * FEWEST, None) == word


@pytest.mark.parametrize(("n_bad", "is_had"), [(2, True), (3, False)])
def test_a_run_that_fails_is_tried_again_twice_in_all(capsys, n_bad, is_had):
    bad = iter([True] * n_bad)

    def one(_number):
        if next(bad, False):
            raise TargetError("the server has gone")
        return 1.0

    if not is_had:
        with pytest.raises(TargetError, match="has gone"):
            series_of(asked("httperf-sample"), one)
        return
    assert len(series_of(asked("httperf-sample"), one)[0]) == FEWEST
    assert capsys.readouterr().err.count("a run is tried again: the server has gone") == n_bad


def test_whoever_watches_a_series_is_told_how_long_it_may_take():
    words: list[str] = []
    ask = replace(asked("httperf-sample"), watch=words.append)
    series_of(ask, lambda _number: 1.0, clock=lambda: 0.0)
    assert words[0] == "run 1 of at least 6, at most 60 s more"
    assert len(words) == FEWEST


def load(*, offered=100, completed=100, rate=50.0, mean=0.19, statuses=None):
    return {
        "offered": offered,
        "completed": completed,
        "throughput_per_s": rate,
        "latency_s": {"mean": mean, "max": 0.4},
        "statuses": statuses or {"200": completed},
        "provenance": {"workload": {"connections": 10}},
    }


@pytest.mark.parametrize(
    ("figure", "one", "value", "words", "evidence"),
    [
        ("refused", load(completed=0, statuses={"404": 100}), 1.0, "0 of 100", "100 × 404"),
        ("refused", load(), 0.0, "100 of 100", "100 × 200"),
        ("answered", load(completed=99), 0.99, "99 of 100 that were due", "400 ms"),
        ("little", load(), 0.95, "9.50 of 10 were under way", "190 ms × 50.0/s"),
    ],
)
def test_what_a_load_test_says_as_a_figure(figure, one, value, words, evidence):
    figure_of, words_of = RECIPES[figure]
    assert figure_of(one) == pytest.approx(value)
    says, seen = words_of([one])
    assert words in says
    assert evidence in seen


@pytest.fixture
def fresh(monkeypatch):
    """Let servers be none; return how many were started, and what was sent to them."""
    seen = SimpleNamespace(servers=0, commands=[])

    @contextmanager
    def server_of(_study, _at):
        seen.servers += 1
        yield SimpleNamespace(running=SimpleNamespace(addresses=("127.0.0.1:1",)))

    for name, value in (
        ("server_of", server_of),
        ("study_here", lambda _name: sample.ladder().plan.study),
        ("version_of", lambda _study: "Apache/2.4"),
    ):
        monkeypatch.setattr(book_loads, name, value)
    return seen


def test_a_recipe_is_run_on_fresh_servers_and_its_interval_is_over_them(fresh, monkeypatch):
    def output(command, *, may_fail):
        assert may_fail
        fresh.commands.append(command)
        return json.dumps(load(mean=0.19 + 0.001 * len(fresh.commands)))

    monkeypatch.setattr(book_loads, "output_of", output)
    found = recipe(asked("pounder-sample"))
    assert (fresh.servers, len(fresh.commands)) == (FEWEST, FEWEST)
    assert found.word == "holds"
    assert found.figures["low"] < found.figures["ratio"] < found.figures["high"]
    assert found.figures["n_starts"] == FEWEST
    assert "6 runs on fresh servers" in found.says
    first = " ".join(fresh.commands[0])
    assert "load http://127.0.0.1:1/ http://127.0.0.1:1/again -n 400" in first
    assert "--seed 4 --json -" in first
    assert len({command[-3] for command in fresh.commands}) == FEWEST, "each draws anew"


def test_raising_the_load_asks_each_server_with_all_in_an_order_that_is_drawn(fresh, monkeypatch):
    def output(command, *, may_fail):
        del may_fail
        n = int(command[command.index("-c") + 1])
        fresh.commands.append(n)
        failed = 7 if n == 1000 else 0
        return json.dumps(load(offered=1000, completed=1000 - failed, rate=1000 / (1 + n / 500)))

    monkeypatch.setattr(book_loads, "output_of", output)
    found = raised(asked("ab-raise-load-light"))
    orders = [tuple(fresh.commands[k : k + 4]) for k in range(0, len(fresh.commands), 4)]
    assert {tuple(sorted(order)) for order in orders} == {(10, 50, 500, 1000)}
    assert len(orders) == fresh.servers == FEWEST
    assert len(set(orders)) > 1
    assert found.figures["ratio"] == pytest.approx(0.51)
    assert found.word == "holds, larger"
    assert found.figures["moved"] == (
        "requests/s by clients 10: 980, 50: 909, 500: 500, 1,000: 333",
        "requests that failed with 1,000 clients 0.7 %",
    )


def test_a_server_without_any_answer_to_few_clients_is_no_ratio(fresh, monkeypatch):
    monkeypatch.setattr(
        book_loads, "output_of", lambda _command, **_: json.dumps(load(completed=0, rate=0.0))
    )
    with pytest.raises(TargetError, match="10 clients got no right answer"):
        raised(asked("ab-raise-load-light"))


def test_latency_times_rate_of_no_answer_is_none():
    figure_of, _ = RECIPES["little"]
    with pytest.raises(TargetError, match="no right answer"):
        figure_of(load(completed=0, rate=0.0, mean=None))


def test_a_server_that_failed_on_the_way_counts_for_nothing(fresh, monkeypatch):
    def output(command, *, may_fail):
        del may_fail
        fresh.commands.append(command)
        if len(fresh.commands) == 4:
            raise TargetError("the server has gone")
        rate = 1.0 if len(fresh.commands) < 4 else 100.0
        return json.dumps(load(rate=rate))

    monkeypatch.setattr(book_loads, "output_of", output)
    found = raised(asked("ab-raise-load-light"))
    assert found.figures["n_starts"] == FEWEST
    rates = "requests/s by clients 10: 100, 50: 100, 500: 100, 1,000: 100"
    assert found.figures["moved"][0] == rates


def test_two_clients_ask_each_server_in_turn(fresh, monkeypatch):
    def output(command):
        fresh.commands.append(command[7])
        return "Requests per second:    300.0 [#/sec] (mean)" if "ab" in command else "100.0"

    monkeypatch.setattr(book_loads, "output_of", output)
    found = clients(asked("ab-versus-pounder"))
    assert found.figures["ratio"] == pytest.approx(3.0)
    assert found.word == "holds"
    assert "requests/s of ab over those of LWP: 300 and 100" in found.says
    assert fresh.servers == FEWEST
    assert len(fresh.commands) == 2 * FEWEST


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Failed requests:        3\nRequests per second:    9.5 [#/sec]", "Failed requests"),
        ("Non-2xx responses:      100\nRequests per second:    9.5 [#/sec]", "Non-2xx responses"),
        ("apr_socket_recv: Connection refused", "no requests per second"),
    ],
)
def test_what_ab_calls_complete_must_be_right_answers(text, words):
    with pytest.raises(TargetError, match=words):
        ab_rate(text)
    assert ab_rate("Failed requests:        0\nRequests per second:    9.5 [#/sec]") == 9.5


def test_a_shared_core_is_told_by_wall_time_and_not_by_cpu_time():
    times = {0: CallTime(4e-6, 4e-6), 1: CallTime(8e-6, 4e-6), 4: CallTime(2e-5, 4e-6)}
    found = stat(asked("stat-call-cost-under-cpu-load"), call=lambda _cpu, n: times[n])
    assert (found.word, found.figures["ratio"]) == ("holds", pytest.approx(2.0))
    assert found.figures["moved"] == (
        "CPU time of a call 1 × (1 … 1)",
        "beside 4 busy loops wall time 5 × (5 … 5), 4.95 × then: holds; "
        "CPU time of a call 1 × (1 … 1)",
    )


def test_a_pinned_command_and_what_it_begins_have_one_core():
    code = "import os, sys; print(len(os.sched_getaffinity(0)), sys.argv[1])"
    cpu = min(os.sched_getaffinity(0))
    assert output_of(pinned(cpu, (sys.executable, "-c", code, "a b"))) == "1 a b\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("sh", "-c", "echo no >&2; exit 3"), "ended with 3: no"),
        (("/nowhere/at/all",), "did not end well"),
    ],
)
def test_a_command_that_fails_is_a_sentence(command, words):
    with pytest.raises(TargetError, match=words):
        output_of(command)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "holds"),
        ({"verdict": "inconclusive"}, "holds"),
        ({"verdict": "inconclusive", "is_doubted": True}, "cannot tell"),
        ({"verdict": "failed", "reason": "the candidate crashed"}, "cannot tell"),
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
    found = book_ways.of_outcome(each, way, structs.replace(outcome, final=final))
    assert found.word == word
    if word == "cannot tell":
        assert (found.says, "ratio" in found.figures) == (final.reason, False)


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("throughput_per_s", "throughput 1.21 × (1.1 … 1.34; 6 starts): 112 → 551 requests/s"),
        ("bytes_per_request", ": 5,312 → 0.0 bytes for a request"),
        # The start's sample is too small to carry it.
        ("latency_p99_s", "p99 latency 1.21 × (1.1 … 1.34; 6 starts): – → 20.4 ms"),
        ("uss_bytes_per_process", ": 2.00 MiB → –"),
        ("first_byte_p90_s", ": 20.0 ms → –"),
        ("calls_per_request", ": 80.00 → –"),
    ],
)
def test_each_metric_is_told_with_both_sides_in_its_own_unit(metric, words):
    outcome = sample.ladder()
    assert outcome.final is not None
    interval = RatioInterval(ratio=1.214, low=1.102, high=1.337, confidence=0.95)
    a = structs.replace(
        outcome.final.a,
        bytes_per_request=5312.0,
        uss_bytes_per_process=2.0 * 2**20,
        times_s={"first_byte_p90": 0.02},
        system_calls=SystemCalls(per_request=80.0, n_answers=120),
    )
    final = structs.replace(
        outcome.final,
        a=a,
        metric=metric,
        ratios={RATIO_OF_METRIC[metric]: interval},
        per_start_ratio=(1.214,) * FEWEST,
    )
    way = Pair(study="fake", metric=metric)
    each = BY_NAME["mod-cgi-baseline"]
    assert words in book_ways.of_outcome(each, way, structs.replace(outcome, final=final)).says


def test_what_the_comparison_doubts_stands_beside_what_was_seen():
    outcome = sample.ladder()
    assert outcome.final is not None
    limited = Caveat(kind="client_limited", message="in 8 of 12 windows the client was the limit")
    final = structs.replace(outcome.final, per_start_ratio=(1.3,) * FEWEST, caveats=(limited,))
    way = Pair(study="fake")
    found = book_ways.of_outcome(
        BY_NAME["mod-cgi-baseline"], way, structs.replace(outcome, final=final)
    )
    assert limited.message in found.figures["moved"]


@pytest.mark.skipif(shutil.which("perl") is None, reason="the loop is Perl's")
def test_a_busy_loop_that_nobody_ends_ends_itself():
    loop = pinned(min(os.sched_getaffinity(0)), ("perl", "-e", _LOOP, "1"))
    assert subprocess.run(loop, timeout=30, check=False).returncode == -signal.SIGALRM


def test_a_comparison_that_is_broken_off_is_no_result(monkeypatch):
    outcome = structs.replace(sample.ladder(), status="interrupted")
    plans: list[Plan] = []

    def outcome_of(plan):
        plans.append(plan)
        return outcome

    monkeypatch.setattr(book_ways, "study_here", lambda _name: sample.ladder().plan.study)
    monkeypatch.setattr(book_ways, "outcome_of", outcome_of)
    ask = asked("mod-cgi-baseline", way=Pair(study="fake"))
    with pytest.raises(KeyboardInterrupt):
        book_ways.pair(ask)
    [plan] = plans
    assert plan.study.budget_s == 60.0
    assert plan.borders == pytest.approx((1.05, 8.84, 134.9), rel=0.01)


def test_a_configuration_beside_takes_its_time_of_the_budget_and_is_told(monkeypatch):
    plans: list[Plan] = []

    def outcome_of(plan):
        plans.append(plan)
        return sample.ladder()

    def refuse(_study, at):
        raise TargetError(f"it did not come up with {at}")

    monkeypatch.setattr(book_ways, "study_here", lambda _name: sample.ladder().plan.study)
    monkeypatch.setattr(book_ways, "outcome_of", outcome_of)
    monkeypatch.setattr(book_ways, "server_of", refuse)
    found = book_ways.pair(asked("mod-cgi-baseline", way=Pair(study="fake", beside={"n": 1})))
    assert found.figures["moved"][-1] == "with n=1: it did not come up with {'n': 1}"
    assert plans[0].study.budget_s == 60.0 - book_ways._BESIDE_S


def test_a_configuration_beside_is_asked_what_its_knobs_of_the_load_say(monkeypatch):
    asked_for: list[list[str]] = []

    def start_load(workload, *_addresses, **_more):
        asked_for.append([each.path for each in workload.asked])
        raise TargetError("that was all")

    running = SimpleNamespace(addresses=["127.0.0.1:1"], networks=[""])
    up = SimpleNamespace(running=running)
    monkeypatch.setattr(book_ways, "server_of", lambda _study, _at: nullcontext(up))
    monkeypatch.setattr(book_ways, "start_load", start_load)
    way = Pair(study="keep-alive", beside={"objects": 2})
    said = book_ways._beside(open_study(way.study), way, seed=1)
    assert said == "with objects=2: that was all"
    assert asked_for == [["/page", "/1.css", "/2.css"]]


@pytest.mark.real_server("apache2")
def test_a_configuration_beside_is_loaded_for_some_seconds(monkeypatch):
    monkeypatch.setattr(book_ways, "_BESIDE_S", 1.0)
    way = BY_NAME["mrpc-one-and-ten-light"].way
    assert isinstance(way, Pair)
    said = book_ways._beside(open_study(way.study), way, seed=1)
    assert re.fullmatch(
        r"with MaxConnectionsPerChild=1: [\d.,]+ requests/s.*; one start, 1\.00 s", said
    )


def test_memory_that_moved_is_evidence():
    outcome = sample.ladder()
    assert outcome.final is not None
    loaded = {"pss_bytes": 40.0 * 2**20, "n_processes": 8.0}
    arms = (outcome.final.a, outcome.final.b)
    a, b = (
        structs.replace(arm, uss_bytes_per_process=mib * 2**20, **loaded)
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
    found = book_ways.of_outcome(each, way, structs.replace(outcome, final=final))
    assert found.figures["moved"][:2] == (
        "private memory of a process 3.10 MiB → 2.20 MiB",
        "memory that processes share, counted once 15.2 MiB → 22.4 MiB",
    )
