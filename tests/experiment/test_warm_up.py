"""Warm-ups by count, on servers whose answers are told by a table."""

from dataclasses import replace

import pytest
from tests.experiment.loads import load_of, side_by_side
from tests.load.origin import origin
from tests.rows import each_row

from httpdyno.experiment.trial import engine_loads as arm_load
from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.experiment.trial.load import CountedWarmUp, drawn_s, later_s
from httpdyno.load import engine
from httpdyno.model import Measurement
from httpdyno.report.shared.message import joined

A, B = Place(0, 0), Place(0, 1)


def request_of(**asked):
    return StartRequest(
        comparison=1, start=0, arms=(), order=(), window_s=0.1, lead_in_s=0.0, **asked
    )


class Table:
    """Plays windows by a table: for each of a server's, its answers by status and its time."""

    def __init__(self, **windows):
        self.windows = {Place(0, "ab".index(name)): [*told] for name, told in windows.items()}
        self.asked = []
        self.now_s = 0.0

    def play(self, place, window, keep):
        self.asked.append((place.arm, window.n_requests, window.measure_s))
        told = self.windows[place].pop(0)
        if told is None:
            return
        statuses, took_s = told
        self.now_s += took_s
        n = statuses.get("200", 0)
        keep(0, Measurement(0.0, took_s, took_s, n, n, statuses=statuses))


@pytest.mark.parametrize(
    ("windows", "asked", "short", "took_s"),
    [
        pytest.param(
            {"a": [({"200": 100}, 2.0)], "b": [({"200": 100}, 9.0)]},
            [(0, 100, 10.0), (1, 100, 10.0)],
            {},
            11.0,
            id="both come to it, each in a time of its own",
        ),
        pytest.param(
            {"a": [({"200": 90, "500": 7}, 2.0), ({"200": 3}, 1.0)], "b": [({"200": 100}, 1.0)]},
            [(0, 100, 10.0), (0, 3, 8.0), (1, 100, 10.0)],
            {},
            4.0,
            id="wrong answers are answers, and what failed is asked again",
        ),
        pytest.param(
            {"a": [({"200": 60}, 10.0)], "b": [({"200": 100}, 1.0)]},
            [(0, 100, 10.0), (1, 100, 10.0)],
            {A: "it answered 60 of the 100 requests of its warm-up"},
            11.0,
            id="one is too slow",
        ),
        pytest.param(
            {"a": [None], "b": []}, [(0, 100, 10.0)], {}, 0.0, id="one falls silent: all is over"
        ),
    ],
)
def test_each_server_comes_to_the_number_or_it_is_told_which_does_not(
    windows, asked, short, took_s
):
    table = Table(**windows)
    warm_up = CountedWarmUp(
        n_requests=100, limit_s=10.0, play=table.play, now_s=lambda: table.now_s
    )
    found = warm_up.run([A, B])
    assert table.asked == asked
    assert [*found] == [*short]
    assert all(joined(found[place]).startswith(words) for place, words in short.items())
    assert all("within 10.0 s" in joined(why) for why in found.values())
    assert warm_up.took_s == took_s


@each_row(
    ("asked", "low_s", "high_s", "least_later_s"),
    [
        ({"warm_up_s": 1.0}, 1.0, 2.0, 2.0),
        ({"warm_up_s": 20.0, "warm_up_requests": 9}, 0.5, 1.0, 3.0),
        ({"warm_up_s": 0.2, "warm_up_requests": 9}, 0.2, 0.4, 3.0),
    ],
)
def test_what_is_learnt_after_a_count_is_no_longer_than_usual_and_learnt_once(
    asked, low_s, high_s, least_later_s
):
    request = request_of(**asked)
    assert low_s <= drawn_s(request, seed=1) <= high_s
    assert later_s(request, took_s=5.0, counted_s=3.0) == least_later_s


@pytest.fixture
def plans(monkeypatch):
    had = []

    def noted(workload, addresses, windows, **settings):
        had.append((list(addresses), [(each.n_requests, each.tail_s > 0) for each in windows]))
        return engine.start_load(workload, addresses, windows, **settings)

    monkeypatch.setattr(arm_load, "start_load", noted)
    return had


def test_servers_have_answered_so_many_requests_before_anything_is_learnt_of_them(plans):
    with origin("--service", "fixed:1ms") as one, origin("--service", "fixed:2ms") as other:
        load = load_of(one.address, other.address, n_blocks=1, warm_up_s=5.0, warm_up_requests=60)
        # Not what the warm-up after it takes: that shows how long cycles are.
        load.requests = [replace(load.requests[0], warm_up_s=5.0)]
        windows = load.run(lambda _window: None)
    assert plans[:3] == [
        ([one.address], [(60, False)]),
        ([other.address], [(60, False)]),
        ([one.address, other.address], [(0, True), (0, True)]),
    ]
    assert len(windows) == 2
    assert load.counted_s > 0


def test_where_cycles_are_known_there_is_nothing_between_the_count_and_the_windows(plans):
    with origin("--service", "fixed:1ms") as server:
        load = side_by_side(server.address, server.address, n_starts=2)
        load.requests = [
            replace(each, warm_up_s=5.0, warm_up_requests=60) for each in load.requests
        ]
        load.run(lambda _window: None)
    assert [windows for _, windows in plans[:4]] == [[(60, False)]] * 4
    assert len(plans) == 5


def test_a_server_that_does_not_come_to_it_is_named_and_nothing_of_it_is_measured():
    with origin("--service", "fixed:1ms") as quick, origin("--service", "fixed:100ms") as slow:
        load = load_of(quick.address, slow.address, warm_up_s=0.5, warm_up_requests=100)
        assert load.run(lambda _window: None) == []
    assert [*load.shut_out] == [Place(0, 1)]
    assert "of the 100 requests of its warm-up" in joined(load.shut_out[Place(0, 1)])
    assert load.silence is None


def test_a_server_that_answers_nothing_is_silent_at_once():
    load = load_of("127.0.0.1:1", warm_up_s=5.0, warm_up_requests=100)
    assert load.run(lambda _window: None) == []
    assert load.silence is not None
    assert load.silence.place == A
