"""What the words of a workload mean, and which make no sense together."""

import math
from typing import Any

import pytest
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.load.setting import TrafficTable
from httpdyno.load.traffic import workload_from
from httpdyno.model import (
    Constant,
    Poisson,
    RateStage,
    Replay,
    RequestSpec,
    Sessions,
    SlowUsers,
    Stages,
    Think,
    TlsSpec,
    Users,
    Visit,
    VisitStep,
    Workload,
)

PLAIN = (RequestSpec(),)
PAGE = (VisitStep(request=0, objects=(1, 2)),)
THREE = (RequestSpec(), RequestSpec(path="/a.css"), RequestSpec(path="/b.js"))


class Options:
    """As the command line calls them."""

    def name(self, key: str, value: object = None) -> str:
        option = f"--{key.replace('_', '-')}"
        return f"`{option}`" if value is None or value is True else f"`{option} {value}`"

    def complaint(self, key: str, value: object, expected: str) -> str:
        return f"{self.name(key, value)} makes no sense; expected {expected}"


def read(steps: tuple[VisitStep, ...] = (), **words: Any) -> Workload:
    return workload_from(
        TrafficTable(**words), Options(), requests=THREE if steps else PLAIN, steps=steps
    )


def test_nothing_said_is_a_closed_loop_with_keep_alive():
    assert read() == Workload(users=Users(n_returning=8))


@each_row(
    ("words", "arrival"),
    [
        ({"rate": "500/s"}, Constant(rate_per_s=500.0)),
        ({"rate": "30/m", "poisson": True}, Poisson(rate_per_s=0.5)),
        (
            {"stages": "10s: 0..5", "poisson": True},
            Stages(
                stages=(RateStage(duration_s=10.0, from_per_s=0.0, to_per_s=5.0),), is_poisson=True
            ),
        ),
        ({"sessions": "20/s"}, Sessions(stages=(RateStage(from_per_s=20.0, to_per_s=20.0),))),
        (
            {"sessions": "1m: 20/s"},
            Sessions(stages=(RateStage(duration_s=60.0, from_per_s=20.0, to_per_s=20.0),)),
        ),
        ({"replay": "a.log"}, Replay(log="a.log")),
        (
            {
                "replay": "a.log",
                "speed": "2x",
                "replay_methods": "get, post,GET",
                "replay_spread": "burst",
            },
            Replay(log="a.log", speed=2.0, methods=("GET", "POST"), spread="burst"),
        ),
    ],
)
def test_each_way_to_say_when(words, arrival):
    assert read(**words).arrival == arrival


@each_row(
    ("words", "users"),
    [
        ({"visit": 5.0}, Users(n_returning=8, visit=Visit(mean_steps=5.0, is_geometric=True))),
        ({"visit_exactly": 5}, Users(n_returning=8, visit=Visit(mean_steps=5))),
        ({"think": "2s"}, Users(n_returning=8, think=Think(mean_s=2.0, is_exponential=True))),
        ({"think_exactly": "2s"}, Users(n_returning=8, think=Think(mean_s=2.0))),
        ({"think": "0s"}, Users(n_returning=8)),
        ({"cookies": True}, Users(n_returning=8, has_cookies=True)),
        (
            {"cookies": True, "new_users": "30%", "connections": 3},
            Users(n_returning=3, has_cookies=True, new_ratio=0.3),
        ),
        (
            {"cookies": True, "sessions": "20/s"},
            Users(n_returning=8, has_cookies=True, new_ratio=1.0),
        ),
        (
            {"cookies": True, "sessions": "20/s", "new_users": "0%", "users": 40},
            Users(n_returning=40, has_cookies=True, new_ratio=0.0),
        ),
    ],
)
def test_each_way_to_say_who(words, users):
    assert read(**words).users == users


def test_each_way_to_say_over_which_connections():
    assert not read(keep_alive=False).keep_alive
    assert read(keep_alive=False, requests_per_connection=1).requests_per_connection == 1
    assert read(requests_per_connection=7).requests_per_connection == 7
    assert read(connection_rate="100/s").connections_per_s == 100.0
    assert read(PAGE).connections_per_page == 6
    assert read(PAGE, page_connections=2).connections_per_page == 2
    assert read(slow="28.8kbit:20%").slow == SlowUsers(
        ratio=0.2, bytes_per_s=3600.0, receive_buffer_bytes=4096
    )
    assert read(slow="10B/s", slow_buffer="8KiB").slow == SlowUsers(
        ratio=1.0, bytes_per_s=10.0, receive_buffer_bytes=8192
    )
    assert read(timeout="250ms").timeout_s == 0.25
    tls = TlsSpec(server_name="localhost")
    made = workload_from(TrafficTable(), Options(), requests=PLAIN, steps=(), tls=tls)
    assert made.tls == tls


@each_row(
    ("words", "sentence"),
    [
        ({"connections": 0}, "`--connections 0` makes no sense; expected 1 to 1000000"),
        ({"rate": "0"}, "`--rate 0` makes no sense; expected a rate above zero"),
        ({"rate": "-5/s"}, "`--rate -5/s` makes no sense"),
        ({"rate": "fast"}, "`--rate fast` makes no sense"),
        ({"rate": "5/s", "stages": "1s: 5/s"}, "`--rate 5/s` and `--stages 1s: 5/s` both say when"),
        ({"rate": "5/s", "replay": "x"}, "`--rate 5/s` and `--replay x` both say when"),
        ({"sessions": "5/s", "replay": "x"}, "both say when"),
        ({"poisson": True}, "`--poisson` needs a rate"),
        ({"poisson": True, "sessions": "5/s"}, "`--poisson` changes nothing beside `--sessions"),
        ({"poisson": True, "replay": "x"}, "the log has its own gaps"),
        ({"stages": "1s: 0/s"}, "never sends: together the stages come to 0 requests"),
        ({"stages": "1s: 0/s..1/s"}, "never sends: together the stages come to 0.5 requests"),
        ({"stages": "1: 5/s"}, "`--stages 1: 5/s`: in the stage `1: 5/s`"),
        ({"sessions": "0"}, "`--sessions 0` makes no sense; expected users per second"),
        ({"sessions": "5s: 0"}, "`--sessions 5s: 0` never sends"),
        ({"replay": ""}, "expected the path of an access log"),
        ({"speed": "2x"}, "`--speed 2x` does nothing without `--replay`"),
        ({"replay_methods": "GET"}, "does nothing without `--replay`"),
        ({"replay_spread": "burst"}, "does nothing without `--replay`"),
        ({"replay": "x", "speed": "0x"}, "`--speed 0x` makes no sense; expected a factor above"),
        ({"replay": "x", "speed": "-1"}, "`--speed -1` makes no sense"),
        ({"replay": "x", "replay_methods": ","}, "expected methods with commas"),
        ({"replay": "x", "replay_methods": "GET POST"}, "expected methods with commas"),
        ({"connection_rate": "5/s", "rate": "5/s"}, "is for a closed loop"),
        ({"connection_rate": "0"}, "`--connection-rate 0` makes no sense"),
        ({"requests_per_connection": 0}, "`--requests-per-connection 0` makes no sense"),
        ({"requests_per_connection": 5, "keep_alive": False}, "contradict each other"),
        ({"page_connections": 2}, "`--page-connections 2` does nothing without a page"),
        ({"steps": PAGE, "page_connections": 0}, "`--page-connections 0` makes no sense"),
        ({"visit": 0.5}, "`--visit 0.5` makes no sense; expected 1 to 1e9 steps"),
        ({"visit": math.nan}, "`--visit nan` makes no sense"),
        ({"visit_exactly": 0}, "`--visit-exactly 0` makes no sense"),
        ({"visit_exactly": -3}, "`--visit-exactly -3` makes no sense; expected 1 to 1e9 steps"),
        ({"visit": 5.0, "visit_exactly": 5}, "contradict each other"),
        ({"visit": 5.0, "rate": "5/s"}, "does nothing where requests come by themselves"),
        ({"think": "2s", "replay": "x"}, "does nothing where requests come by themselves"),
        ({"think": "-2s"}, "`--think -2s` makes no sense; expected a time of zero or more"),
        ({"think": "2"}, "`--think 2` makes no sense"),
        ({"think_exactly": "-1s"}, "`--think-exactly -1s` makes no sense"),
        ({"think": "2s", "think_exactly": "2s"}, "contradict each other"),
        ({"new_users": "30%"}, "`--new-users 30%` does nothing without `--cookies`"),
        ({"new_users": "130%", "cookies": True}, "`--new-users 130%` makes no sense"),
        ({"new_users": "0.3", "cookies": True}, "`--new-users 0.3` makes no sense"),
        ({"users": 5, "cookies": True}, "in a closed one each connection is a user"),
        ({"users": 5, "rate": "5/s"}, "`--users 5` does nothing without `--cookies`"),
        ({"users": 0, "rate": "5/s", "cookies": True}, "`--users 0` makes no sense"),
        ({"slow": "28.8kbit:120%"}, "`--slow 28.8kbit:120%` makes no sense"),
        ({"slow": "28.8kbit:0%"}, "`--slow 28.8kbit:0%` makes no sense"),
        ({"slow": "28.8kbit:"}, "`--slow 28.8kbit:` makes no sense"),
        ({"slow": "0kbit:20%"}, "`--slow 0kbit:20%` makes no sense"),
        ({"slow": "modem"}, "`--slow modem` makes no sense; expected a line and a share"),
        ({"slow_buffer": "4KiB"}, "`--slow-buffer 4KiB` does nothing without `--slow`"),
        ({"slow": "10B/s", "slow_buffer": "0"}, "`--slow-buffer 0` makes no sense"),
        ({"slow": "10B/s", "slow_buffer": "big"}, "`--slow-buffer big` makes no sense"),
        ({"timeout": "0s"}, "`--timeout 0s` makes no sense; expected a time above 0"),
        ({"timeout": "10"}, "`--timeout 10` makes no sense"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_that_names_it(words, sentence):
    with pytest.raises(UsageError) as caught:
        read(**words)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not str(caught.value).endswith(".")


LOGIN = (RequestSpec(path="/login", method="POST", expect_status=302),)


def first(**words: Any) -> Workload:
    table = TrafficTable(**words)
    return workload_from(table, Options(), requests=THREE, steps=(), first=LOGIN)


def test_who_does_something_first_keeps_its_cookies():
    workload = first()
    assert workload.first == LOGIN
    assert workload.users.has_cookies


@each_row(
    ("words", "said"),
    [
        ({"rate": "5/s"}, "`--first` is for a closed loop, whose users stay; with `--rate 5/s`"),
        ({"sessions": "5/s"}, "`--first` is for a closed loop"),
        ({"cookies": True, "new_users": "30%"}, "`--first` and `--new-users 30%` contradict"),
    ],
)
def test_first_steps_are_for_users_who_stay(words, said):
    with pytest.raises(UsageError, match=said) as caught:
        first(**words)
    assert caught.value.hint


def test_a_visit_in_order_is_all_steps_once_unless_said():
    assert first(order="given").users.visit == Visit(mean_steps=3)
    assert first(order="mixed").users.visit == Visit(mean_steps=1)
    assert first(order="given", visit_exactly=5).users.visit == Visit(mean_steps=5)
    funnel = read(order="given", sessions="5/s", visit=2, steps=PAGE)
    assert (funnel.order, funnel.users.visit) == ("given", Visit(mean_steps=2, is_geometric=True))


def test_an_order_needs_visits_and_no_weights():
    with pytest.raises(UsageError, match="`--order given` does nothing where requests come by"):
        read(order="given", rate="5/s")
    steps = (VisitStep(request=0), VisitStep(request=1, weight=2.0))
    with pytest.raises(UsageError, match="`--order given` and weights contradict each other"):
        read(order="given", steps=steps)
