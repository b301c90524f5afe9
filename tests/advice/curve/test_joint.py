"""The length of workers' lives beside their number."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.advice.curve import (
    MOST_LOST_RATIO,
    Ageing,
    LifeRow,
    PrivateCurve,
    best_life,
    joint_life,
    shortest_life,
)
from httpdyno.advice.curve_fit import life_table
from httpdyno.model import Respawn

MIB = 1 << 20
DEAR = Respawn(serve_s=0.001, spawn_s=0.25)


@each_row("spawn_s", [1e-5, 0.002, 0.25, 3.0])
def test_the_shortest_life_costs_as_much_as_it_may_and_hardly_less(spawn_s):
    cost = Respawn(serve_s=0.001, spawn_s=spawn_s)
    n = shortest_life(cost)
    assert cost.kept_ratio(n) >= 1 - MOST_LOST_RATIO
    assert n == 1 or cost.kept_ratio(0.9 * n) < 1 - MOST_LOST_RATIO


def row(n, workers, kept):
    return LifeRow(n_requests=n, each_bytes=float(MIB), n_workers=workers, kept_ratio=kept)


@each_row(
    ("rows", "n"),
    [
        pytest.param([row(100, 90, 0.8), row(400, 70, 0.95), row(None, 50, 1.0)], 400, id="most"),
        pytest.param(
            [row(400, 50, 0.95), row(1600, 49, 0.99), row(None, 40, 1.0)], 1600, id="alike"
        ),
        pytest.param([row(400, 50, 0.95), row(None, 50, 1.0)], None, id="for good"),
        pytest.param([row(400, 50, 0.95), row(None, None, 1.0)], 400, id="it leaks"),
    ],
)
def test_the_most_workers_of_lives_that_cost_little_or_a_longer_one_with_as_many(rows, n):
    found = joint_life(rows)
    assert found is not None
    assert found.n_requests == n


@each_row(
    "rows", [[], [row(400, 50, None)], [row(400, 0, 1.0)], [row(25, 90, 0.5), row(None, None, 1.0)]]
)
def test_without_a_cost_or_without_room_there_is_no_answer(rows):
    assert joint_life(rows) is None


def test_the_life_that_costs_just_what_it_may_is_in_the_table():
    leaking = PrivateCurve(start_bytes=MIB, rise_bytes=0.0, n_scale=1.0, leak_bytes=4096.0)
    words: dict[str, Any] = {"room_bytes": 1000.0 * MIB, "once_bytes": 0.0, "curve": leaking}
    rows = life_table(cost=DEAR, **words)
    found = joint_life(rows)
    assert found is not None
    assert found.n_requests == shortest_life(DEAR)
    assert found.n_requests not in {each.n_requests for each in life_table(**words)}


@st.composite
def ageing(draw):
    start = draw(st.integers(1, 50))
    return Ageing(
        left_bytes=float(MIB * draw(st.integers(110, 5000))),
        curve=PrivateCurve(
            start_bytes=float(MIB * start),
            rise_bytes=float(MIB * draw(st.integers(0, 50))),
            n_scale=draw(st.floats(0.1, 500)),
            leak_bytes=float(draw(st.sampled_from([0, 1000, 100_000, 10_000_000]))),
        ),
        cost=Respawn(serve_s=draw(st.floats(1e-4, 0.1)), spawn_s=draw(st.floats(1e-4, 5))),
        held_s=draw(st.floats(1e-3, 10)),
        cores=draw(st.sampled_from([1.0, 2.0, 16.0])),
    )


@given(ageing(), st.integers(1, 400), st.sampled_from([0.01, 0.2]))
def test_no_other_life_has_a_higher_rate_and_those_that_are_as_good_are_all_told(pool, limit, loss):
    found = best_life(pool, loss_ratio=loss, limit=limit)
    assert found is not None
    rates = {n: pool.rate_per_s(n) for n in range(1, limit + 1)}
    highest = max(rates.values())
    assert found.rate_per_s == highest
    assert found.best.n_requests == max(n for n, rate in rates.items() if rate == highest)
    as_good = [n for n, rate in rates.items() if rate >= (1 - loss) * highest]
    assert [found.first.n_requests, found.last.n_requests] == [as_good[0], as_good[-1]]
    assert len(as_good) == as_good[-1] - as_good[0] + 1


def test_a_pool_without_room_for_one_worker_has_no_best_life():
    curve = PrivateCurve(start_bytes=MIB, rise_bytes=0.0, n_scale=1.0)
    pool = Ageing(left_bytes=MIB / 2, curve=curve, cost=DEAR, held_s=0.1)
    assert best_life(pool, loss_ratio=0.01, limit=1000) is None


def test_both_answers_are_of_the_same_workers():
    curve = PrivateCurve(start_bytes=MIB, rise_bytes=9.0 * MIB, n_scale=50.0, leak_bytes=4096.0)
    pool = Ageing(left_bytes=1000.0 * MIB, curve=curve, cost=DEAR, held_s=0.1)
    for row in life_table(room_bytes=1000.0 * MIB, once_bytes=0.0, curve=curve, cost=DEAR):
        if row.n_requests is not None:
            assert pool.row(row.n_requests) == row
