"""Scripts of experiments without servers: their runs, their figures, what is told of them."""

import json
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace

import pytest
from tests.book.asked import BY_NAME, FEWEST, asked, host
from tests.report import sample
from tests.rows import each_row

from httpdyno.book import figures
from httpdyno.book import script as scripts
from httpdyno.book.experiment import Script
from httpdyno.book.script import script, series_of, told
from httpdyno.errors import TargetError


def load(*, offered=100, completed=100, rate=50.0, mean=0.19, statuses=None):
    return {
        "offered": offered,
        "completed": completed,
        "throughput_per_s": rate,
        "latency_s": {"mean": mean, "max": 0.4},
        "statuses": statuses or {"200": completed},
        "provenance": {"workload": {"connections": 10}},
    }


@pytest.fixture
def fresh(monkeypatch):
    """Let servers be none; return how many were started, and what was run beside them.

    `answer` is what a command prints, by its words.
    """
    seen = SimpleNamespace(servers=0, commands=[], answer=lambda _words: json.dumps(load()))

    @contextmanager
    def server_of(_study, _at):
        seen.servers += 1
        yield SimpleNamespace(running=SimpleNamespace(addresses=("127.0.0.1:1",)))

    def output_of(words, *, may_fail=False):
        del may_fail
        seen.commands.append(words)
        return seen.answer(words)

    for name, value in (
        ("server_of", server_of),
        ("study_here", lambda _name: sample.ladder().plan.study),
        ("version_of", lambda _study: "Apache/2.4"),
    ):
        monkeypatch.setattr(scripts, name, value)
    monkeypatch.setattr(figures, "output_of", output_of)
    monkeypatch.setattr(figures, "own_program", lambda name: name)
    return seen


def run(name):
    ask = asked(name)
    return script(ask, ask.each.way)


@pytest.mark.parametrize(
    ("name", "one", "ratio", "evidence"),
    [
        (
            "ab-first-run-light",
            load(completed=0, statuses={"404": 100}),
            1.0,
            ("requests completed in a run 0.0", "responses of a run by status 404: 100"),
        ),
        (
            "httperf-sample",
            load(completed=99),
            0.99,
            ("longest wait for a response, from when it was due 400 ms",),
        ),
        (
            "pounder-sample",
            load(),
            0.95,
            ("mean latency 190 ms", "requests/s 50.0"),
        ),
    ],
)
def test_a_load_test_is_one_figure_with_others_beside_it(fresh, name, one, ratio, evidence):
    fresh.answer = lambda _words: json.dumps(one)
    found, way = run(name), BY_NAME[name].way
    assert isinstance(way, Script)
    assert found.figures["ratio"] == pytest.approx(ratio)
    assert found.says == f"{way.says} {ratio:.3g} × ({ratio:.3g} … {ratio:.3g}; 6 fresh servers)"
    assert found.figures["evidence"] == evidence


def test_each_run_is_on_a_fresh_server_and_the_interval_is_over_them(fresh):
    fresh.answer = lambda _words: json.dumps(load(mean=0.19 + 0.001 * len(fresh.commands)))
    found = run("pounder-sample")
    assert (fresh.servers, len(fresh.commands)) == (FEWEST, FEWEST)
    assert (found.verdict, found.server) == ("holds", "Apache/2.4")
    assert found.figures["low"] < found.figures["ratio"] < found.figures["high"]
    assert found.figures["n_starts"] == FEWEST
    first = " ".join(fresh.commands[0])
    assert "load http://127.0.0.1:1/ http://127.0.0.1:1/again -n 400" in first
    assert "--json - --seed 4" in first
    assert len({command[-1] for command in fresh.commands}) == FEWEST, "each draws anew"


def clients_of(words):
    return int(words[words.index("-c") + 1])


def test_several_commands_ask_each_server_in_an_order_that_is_drawn(fresh):
    def answer(words):
        n = clients_of(words)
        failed = 7 if n == 1000 else 0
        rate = 1000 / (1 + n / 500)
        return json.dumps(load(offered=1000, completed=1000 - failed, rate=rate))

    fresh.answer = answer
    found = run("ab-raise-load-light")
    clients = [clients_of(words) for words in fresh.commands]
    orders = [tuple(clients[k : k + 4]) for k in range(0, len(clients), 4)]
    assert {tuple(sorted(order)) for order in orders} == {(10, 50, 500, 1000)}
    assert len(orders) == fresh.servers == FEWEST
    assert len(set(orders)) > 1
    assert found.figures["ratio"] == pytest.approx(0.51)
    assert found.verdict == "holds, larger"
    assert found.says.endswith(": 500 and 980")
    assert found.figures["evidence"] == (
        "requests/s by clients 10: 980, 50: 909, 500: 500, 1000: 333",
        "requests that failed with 1,000 clients 0.7 %",
    )


@pytest.mark.parametrize(
    ("name", "one", "words"),
    [
        ("ab-raise-load-light", load(completed=0, rate=0.0), "10 got no right answer"),
        ("pounder-sample", load(completed=0, rate=0.0, mean=None), "load got no right answer"),
        ("pounder-sample", load(offered=0, completed=0), "sent no request"),
    ],
)
def test_what_got_no_answer_is_no_ratio(fresh, name, one, words):
    fresh.answer = lambda _words: json.dumps(one)
    with pytest.raises(TargetError, match=words):
        run(name)


def test_a_server_that_failed_on_the_way_counts_for_nothing(fresh):
    def answer(_words):
        if len(fresh.commands) == 4:
            raise TargetError("the server has gone")
        return json.dumps(load(rate=1.0 if len(fresh.commands) < 4 else 100.0))

    fresh.answer = answer
    found = run("ab-raise-load-light")
    assert found.figures["n_starts"] == FEWEST
    rates = "requests/s by clients 10: 100, 50: 100, 500: 100, 1000: 100"
    assert found.figures["evidence"][0] == rates


def test_two_clients_ask_each_server_in_turn(fresh):
    def answer(words):
        if "ab" in words:
            return "Requests per second:    300.0 [#/sec] (mean)"
        return '{"requests_per_s": 100.0}'

    fresh.answer = answer
    found = run("ab-versus-pounder")
    assert found.figures["ratio"] == pytest.approx(3.0)
    assert found.verdict == "holds"
    assert found.says.startswith("requests/s of ab over those of LWP 3 × (3 … 3; 6 fresh servers)")
    assert found.says.endswith(": 300 and 100")
    assert fresh.servers == FEWEST
    assert len(fresh.commands) == 2 * FEWEST


def test_a_shared_core_is_told_by_wall_time_and_not_by_cpu_time(fresh):
    wall_s = {"0": 4e-6, "1": 8e-6, "4": 2e-5}
    fresh.answer = lambda words: json.dumps({"wall_s": wall_s[words[-2]], "cpu_s": 4e-6})
    found = run("stat-call-cost-under-cpu-load")
    assert (found.verdict, found.figures["ratio"]) == ("holds", pytest.approx(2.0))
    assert found.says.endswith("2 × (2 … 2; 6 runs): 8.00 µs and 4.00 µs")
    assert fresh.servers == 0
    assert found.figures["evidence"] == (
        "CPU time of a call beside one busy loop 1 × (1 … 1)",
        "wall time beside four 5 × (5 … 5), 4.95 × then: holds",
        "CPU time of a call beside four 1 × (1 … 1)",
    )


def test_what_was_counted_then_is_counted_once(fresh):
    fresh.answer = lambda _words: '{"figures": [{"name": "plain", "value": 40.0}]}'
    found = run("pool-sizing-examples")
    assert (found.verdict, found.figures) == ("holds", {"count": 40.0})
    assert found.says == "40 children that fit, by the same division"
    assert len(fresh.commands) == 1


def ticking(step_s):
    """Return a clock that goes on by so much at each look."""
    ticks = count()
    return lambda: next(ticks) * step_s


@each_row(
    ("values", "budget_s", "n", "word"),
    [
        # Told by the fewest, and not before.
        ([1.0] * 9, 1e9, FEWEST, "holds"),
        ([0.98, 1.02] * 9, 1e9, FEWEST, "holds"),
        # On a border of what is flat: until the time is over, but never less than the fewest.
        ([1.04, 1.06] * 99, 0.0, FEWEST, "cannot tell"),
        ([1.04, 1.06] * 99, 60.0, 20, "cannot tell"),
        ([1.051, 1.075] * 99, 1e9, 14, "no longer"),
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
def test_a_run_that_fails_is_tried_again_twice_in_all(n_bad, is_had):
    bad = iter([True] * n_bad)
    lines: list[str] = []
    ask = asked("httperf-sample", by=host(told=lines))

    def one(_number):
        if next(bad, False):
            raise TargetError("the server has gone")
        return 1.0

    if not is_had:
        with pytest.raises(TargetError, match="has gone"):
            series_of(ask, one)
        return
    assert len(series_of(ask, one)[0]) == FEWEST
    assert lines == ["a run is tried again: the server has gone"] * n_bad


def test_whoever_watches_a_series_is_told_how_long_it_may_take():
    words: list[str] = []
    ask = asked("httperf-sample", watch=words.append)
    series_of(ask, lambda _number: 1.0, clock=lambda: 0.0)
    assert words[0] == "run 1 of at least 6, at most 60 s more"
    assert len(words) == FEWEST
