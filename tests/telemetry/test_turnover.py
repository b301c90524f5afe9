"""What births and deaths cost, by made-up samples."""

import os
from dataclasses import replace
from itertools import pairwise

import pytest

from httpdyno.telemetry.pool import Turnover, change, turned, turnover
from httpdyno.telemetry.worker import Sample, Worker

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def process(pid: int, cpu_s: float = 0.0, reaped_s: float = 0.0, parent: int = 1) -> Worker:
    return Worker(
        pid=pid,
        parent=parent,
        name="w",
        state="sleeping",
        started_ticks=pid,
        age_s=1.0,
        user_s=cpu_s,
        system_s=0.0,
        minor_faults=0,
        major_faults=0,
        n_threads=1,
        rss_bytes=0,
        reaped_s=reaped_s,
    )


def known(*samples: tuple[Worker, ...]) -> Turnover:
    """Return what samples, 2 s apart, come to."""
    whole = [
        Sample(at_s=2.0 * k, root_pids=(1,), workers=workers) for k, workers in enumerate(samples)
    ]
    cost = turnover(whole[0])
    for before, after in pairwise(whole):
        cost = turned(cost, change(before, after), after)
    return cost


def test_who_ended_is_told_with_all_of_its_life_and_what_it_used_since():
    cost = known(
        (process(1, reaped_s=50.0), process(2, 7.0), process(3, 1.0)),
        (process(1, reaped_s=58.0), process(3, 1.0)),
    )
    assert cost.ended_s == pytest.approx(8.0)
    assert cost.ended_ratio == pytest.approx(0.5)


def test_who_came_and_went_between_two_looks_is_told_too():
    cost = known((process(1), process(2)), (process(1), process(2, reaped_s=0.4)))
    assert (cost.ended_s, cost.ended_ratio) == pytest.approx((0.4, 0.2))


def test_what_a_child_waited_for_goes_to_its_parent_once():
    cost = known((process(1), process(2, 1.0, reaped_s=3.0)), (process(1, reaped_s=4.0),))
    assert (cost.ended_s, cost.ended_ratio) == pytest.approx((1.0, 0.0))


def test_an_account_that_comes_a_look_late_is_no_work_of_that_look():
    looks = [
        (process(1), process(2, 90.0)),
        (process(1),),
        (process(1, reaped_s=90.5),),
        (process(1, reaped_s=92.5),),
    ]
    assert known(*looks[:2]).ended_ratio == 0.0
    late = known(*looks[:3])
    assert (late.ended_s, late.ended_ratio) == pytest.approx((90.5, 0.25))
    assert known(*looks).ended_ratio == pytest.approx(1.0)


def test_who_nobody_waited_for_takes_nothing_from_others():
    careless = replace(process(1), ignores_children=True)
    cost = known((careless, process(2, 90.0), process(3)), (careless, process(3, reaped_s=0.5)))
    assert cost.ended_ratio == pytest.approx(0.25)


def test_a_birth_takes_at_most_what_the_parent_used():
    before = (process(1, 5.0), process(2))
    after = (process(1, 5.2), process(2), *(process(pid) for pid in range(10, 20)))
    cost = known(before, (*after, process(30, parent=10)))
    assert cost.n_forked == 10
    assert cost.birth_parent_s == pytest.approx((0.2 + 2 * TICK_S) / 10)
    assert known(before, before).birth_parent_s is None
    assert known(before, after[1:]).birth_parent_s is None
