"""The book's load tests, without servers: their figures, their fresh servers, other clients."""

import json
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from tests.cli.book_asked import FEWEST, asked
from tests.report import sample

from httpdyno.cli import book_found, book_loads
from httpdyno.cli.book_loads import RECIPES, ab_rate, clients, raised, recipe
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
    monkeypatch.setattr(book_found, "own_program", lambda name: name)
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
