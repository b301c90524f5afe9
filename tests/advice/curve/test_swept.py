"""Lines through the levels of a sweep; what is none is told with the reason."""

import pytest
from tests.rows import each_row
from tests.words import words as message

from httpdyno.advice.curve_fit import swept_pool
from httpdyno.model import ArmSummary, Configuration, Knob, SweepPoint, Workload

MB = 1e6


def level(n, *, pss=0.0, processes=0.0, rate=100.0, status="complete"):
    arm = ArmSummary(
        configuration=Configuration(),
        status=status,
        figures={"throughput_per_s": rate, **({"pss_bytes": pss} if pss else {})},
        n_processes=processes,
    )
    return SweepPoint(level=n, arm=arm, ratio_to_best=None)


def swept(pool, levels, *, is_keep_alive=False):
    knob = Knob(name="knob", start=1, levels=(2,), pool=pool)
    return swept_pool(knob, levels, Workload(requests_per_connection=0 if is_keep_alive else 1))


def pools(sizes, *, besides=1):
    """Return levels with such sizes in MB, by the number of workers."""
    return [level(n, pss=size * MB, processes=n + besides) for n, size in sizes.items()]


LINE = {1: 42, 4: 54, 16: 102, 64: 294}
"""38 MB once and 4 for each."""


def test_levels_on_a_line_say_what_is_there_once_and_what_each_adds():
    found = swept("workers", pools({1: 42.1, 4: 53.8, 16: 102, 64: 294}, besides=3))
    line = found.memory
    assert line.once_low_bytes < 38 * MB < line.once_high_bytes
    assert line.each_low_bytes < 4 * MB < line.each_high_bytes
    assert line.each_high_bytes / line.each_low_bytes < 1.05
    assert (found.n_levels, found.reason) == (4, None)


def test_levels_with_other_processes_than_they_say_are_left_out():
    """Of a server that has no parent when it has one worker, and of a pool that never filled."""
    odd = [level(1, pss=9 * MB, processes=1), level(128, pss=294 * MB, processes=66)]
    found = swept("workers", [odd[0], *pools(LINE)[1:], odd[1]])
    assert found.n_levels == 3
    assert found.memory.each_bytes == pytest.approx(4 * MB)


def test_some_that_are_just_being_replaced_do_not_matter():
    fluid = [level(n, pss=s * MB, processes=n + 1 - 0.015 * n) for n, s in LINE.items()]
    assert swept("workers", fluid).n_levels == 4


@each_row(
    ("levels", "words"),
    [
        (
            pools({4: 54, 16: 102}),
            "what a worker takes is unknown: there are sizes of 2 levels",
        ),
        ([*pools({4: 54, 16: 102}), level(64, processes=65)], "sizes of 2 levels"),
        ([*pools({4: 54, 16: 102}), level(64, pss=9, status="hung")], "sizes of 2 levels"),
        (
            [level(n, pss=50 * MB, processes=6) for n in (1, 4, 64)],
            "the number of processes does not follow the level, it is 6 at 1 and 6 at 64",
        ),
        (pools({4: 60, 16: 55, 64: 50}), "more workers take no more memory"),
        # Workers that took long to come to their age, or a pool that swapped.
        (pools({1: 42, 4: 54, 16: 102, 64: 200}), "is no line over the number of workers: at "),
    ],
)
def test_what_is_no_line_is_told_with_the_reason(levels, words):
    found = swept("workers", levels)
    assert (found.memory, found.births) == (None, None)
    assert words in message(found.reason)


def lives(rates):
    return [level(n, rate=rate) for n, rate in rates.items()]


def rates(serve_s, spawn_s, *, off=(1, 1, 1, 1)):
    counts = (5, 25, 500, 0)
    times = [serve_s + (spawn_s / n if n else 0.0) for n in counts]
    return {n: factor / time for n, time, factor in zip(counts, times, off, strict=True)}


@pytest.mark.parametrize("unit", ["requests", "connections"])
def test_what_a_birth_costs_is_the_slope_over_births_for_each_request(unit):
    found = swept(unit, lives(rates(0.001, 0.0024, off=(1.003, 0.997, 1.002, 0.998))))
    births = found.births
    assert births.spawn_low_s < 0.0024 < births.spawn_high_s
    assert births.serve_s == pytest.approx(0.001, rel=0.01)
    assert 1 - births.kept_ratio(500) == pytest.approx(0.0048, rel=0.03)
    assert found.n_levels == 4


@each_row(
    ("rates", "words"),
    [
        (
            {5: 800, 0: 1000},
            "what replacing a worker costs is unknown: there are rates of 2 levels",
        ),
        (
            rates(0.001, 0.00001, off=(1.003, 0.997, 1.002, 0.998)),
            "no cost of replacing a worker is proven: ",
        ),
        (
            rates(0.001, -0.0005),
            "replacing a worker costs nothing that shows: shorter lives are not slower",
        ),
        ({n: 1 / (2.6 / n - 0.005) for n in (5, 10, 40)}, "a request itself would take no time"),
        # A pool that replaces its dead once a second knows no line.
        ({5: 100, 25: 800, 500: 1000, 0: 1000}, "is no line over replacements for each: at "),
    ],
)
def test_where_no_cost_follows_it_is_said_why(rates, words):
    found = swept("requests", lives(rates))
    assert (found.memory, found.births) == (None, None)
    assert words in message(found.reason)


def test_connections_that_carry_many_requests_say_nothing_of_a_request():
    cost = lives(rates(0.001, 0.0024))
    assert "with keep-alive each" in message(swept("connections", cost, is_keep_alive=True).reason)
    assert swept("requests", cost, is_keep_alive=True).births is not None


def test_a_knob_that_is_none_of_a_pools_has_no_curve():
    assert swept("", lives(rates(0.001, 0.0024))) is None
