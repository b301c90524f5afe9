"""Lines through pools, and the table of lives."""

import math

import pytest
from tests.rows import each_row

from httpdyno.advice.curve import ConfiguredLife, PrivateCurve
from httpdyno.advice.curve_fit import life_table, pool_line, respawn_line
from httpdyno.errors import UsageError
from httpdyno.model import Respawn

MIB = 1 << 20
BOOK = ([5, 10, 20, 5000], [2.83, 5.47, 8.92, 28.01])


def respawn(n_requests, per_s):
    line = respawn_line(n_requests, per_s)
    return Respawn(serve_s=line.intercept, spawn_s=line.slope)


def test_a_pool_is_what_is_there_once_and_each_worker():
    line = pool_line([2, 4, 8, 16], [20 * MIB + n * 3 * MIB for n in (2, 4, 8, 16)])
    assert line.once_bytes == pytest.approx(20 * MIB)
    assert line.each_bytes == pytest.approx(3 * MIB)


def test_two_pools_are_a_line_without_an_interval():
    line = pool_line([2, 4], [6e6, 10e6])
    assert [line.once_bytes, line.each_bytes] == pytest.approx([2e6, 2e6])
    assert line.each_low_bytes is None


@each_row(("n", "pss"), [([4, 4], [1e6, 2e6]), ([4, 8], [2e6, 1e6]), ([], [])])
def test_what_is_no_line_is_refused(n, pss):
    with pytest.raises(UsageError):
        pool_line(n, pss)


def test_the_handouts_table_costs_what_the_formula_says():
    cost = respawn(*BOOK)
    assert cost.serve_s == pytest.approx(0.035, rel=0.05)
    assert cost.spawn_s == pytest.approx(1.53, rel=0.05)
    assert cost.rate_per_s(math.inf) == pytest.approx(1 / cost.serve_s)
    assert cost.kept_ratio(math.inf) == pytest.approx(1)


def lives_of(**words):
    return life_table(**words)


def curve(leak: float = 0.0) -> PrivateCurve:
    return PrivateCurve(start_bytes=MIB, rise_bytes=20 * MIB, n_scale=100, leak_bytes=leak)


def test_a_shorter_life_lets_more_workers_in_and_costs_of_the_rate():
    rows = lives_of(room_bytes=500 * MIB, once_bytes=50 * MIB, curve=curve(), cost=respawn(*BOOK))
    workers = [row.n_workers for row in rows]
    kept = [row.kept_ratio for row in rows]
    assert workers == sorted(workers, reverse=True)
    assert kept == sorted(kept)
    assert workers[-1] == 450 // 21
    assert kept[-1] == 1
    assert all(row.n_workers * row.each_bytes <= 450 * MIB for row in rows)


def test_what_is_configured_is_a_row_of_its_own():
    settings = [
        ConfiguredLife(setting="pm.max_requests@a", n=500, unit="requests"),
        ConfiguredLife(setting="pm.max_requests@b", n=None, unit="requests"),
    ]
    words = {"room_bytes": 500 * MIB, "once_bytes": 50 * MIB, "curve": curve()}
    plain, rows = lives_of(**words), lives_of(**words, configured=settings)
    assert [row.n_requests for row in rows] == [25, 100, 400, 500, 1600, 6400, None]
    marked = {row.n_requests: row.configured for row in rows if row.configured}
    assert marked == {500: ("pm.max_requests@a",), None: ("pm.max_requests@b",)}
    assert rows[3].each_bytes == pytest.approx(curve().at(500))
    assert [row.n_workers for row in rows if row.n_requests != 500] == [
        row.n_workers for row in plain
    ]


def test_a_leak_has_no_end_without_a_limit():
    rows = lives_of(room_bytes=500 * MIB, once_bytes=50 * MIB, curve=curve(1024.0))
    assert rows[-1].each_bytes is rows[-1].n_workers is None
    assert rows[-2].n_workers == math.floor(450 * MIB / curve(1024.0).at(rows[-2].n_requests))
    assert all(row.kept_ratio is None for row in rows)


def test_a_pool_that_has_no_room_has_no_workers():
    rows = lives_of(room_bytes=40 * MIB, once_bytes=50 * MIB, curve=curve())
    assert {row.n_workers for row in rows} == {0}
