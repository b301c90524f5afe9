"""Batches of bodies in turn, with programs whose truth is known."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiment.code import EMPTY, EMPTY_NS, FakeProgram

from httpdyno.experiment.trial.bench import StartRequest, block_order
from httpdyno.experiment.trial.fragment_bench import FragmentStart, Seat
from httpdyno.metrics.totals import CallTotals, said_apart
from httpdyno.model import Configuration, WindowRecord
from httpdyno.servers.adapter import NotRunning, own_words

WINDOW_S = 0.03
BODIES = ("a", "b")
N_BLOCKS = 4


def started(*programs, bodies=BODIES, number=0, seats=None, counts=None):
    arms = tuple(Configuration(values={"body": each}) for each in bodies)
    request = StartRequest(
        comparison=1,
        start=number,
        arms=arms,
        order=block_order(len(arms), N_BLOCKS, seed=3, comparison=1, start=number),
        window_s=WINDOW_S,
        lead_in_s=0.0,
        warm_up_s=0.0,
    )
    saved: list[WindowRecord] = []
    found = FragmentStart(
        request=request,
        processes=programs,
        seats=seats or {n: Seat(process=0, body=each) for n, each in enumerate(bodies)},
        empty=EMPTY,
        window_s=WINDOW_S,
        counts={} if counts is None else counts,
        clock=lambda: programs[0].now_s,
        save=saved.append,
        seed=3,
    )
    found.run()
    assert saved == found.windows
    return found


def figures(found, arm):
    totals = CallTotals.of([window for window in found.windows if window.arm == arm])
    assert totals is not None
    assert totals.figures is not None
    return totals.figures


def test_what_the_loop_and_the_asking_take_is_taken_off():
    found = started(FakeProgram(costs_ns={"a": 40.0, "b": 60.0}, dilation=1.5))
    for arm, cost_ns in enumerate((40.0, 60.0)):
        seen = figures(found, arm)
        assert seen.cpu_s * 1e9 == pytest.approx(cost_ns, rel=1e-6)
        assert seen.wall_s * 1e9 == pytest.approx(1.5 * cost_ns, rel=1e-6)
        assert seen.empty_cpu_s * 1e9 == pytest.approx(EMPTY_NS, rel=1e-6)
        assert seen.dilation == pytest.approx(1.5)


@given(st.floats(0.5, 1e8), st.floats(0.5, 1e8))
def test_batches_are_as_long_as_asked_unless_a_single_call_is_longer(a_ns, b_ns):
    costs = {"a": a_ns, "b": b_ns}
    found = started(FakeProgram(costs_ns=costs))
    for window in found.windows:
        body = BODIES[window.arm]
        call_s = (EMPTY_NS + costs[body]) / 1e9
        assert window.measurement.completed == 1 or (
            WINDOW_S / 2 <= window.measurement.completed * call_s <= WINDOW_S * 2
        )
        seen = figures(found, window.arm)
        assert seen.cpu_s * 1e9 == pytest.approx(costs[body], rel=1e-6)


def test_each_block_has_every_body_and_the_empty_one_in_an_order_that_is_drawn():
    orders = set()
    for number in range(12):
        program = FakeProgram(costs_ns={"a": 40.0, "b": 60.0})
        started(program, number=number)
        in_blocks = [name for name, n in program.asked if n > 0][-3 * N_BLOCKS :]
        for block in range(N_BLOCKS):
            visits = tuple(in_blocks[3 * block : 3 * block + 3])
            assert Counter(visits) == {"a": 1, "b": 1, EMPTY: 1}
            orders.add(visits)
    assert len(orders) == 6


def test_bodies_are_called_first_in_other_orders_in_other_starts():
    first = set()
    for number in range(20):
        program = FakeProgram(costs_ns={"a": 40.0, "b": 60.0})
        started(program, number=number)
        first.add(tuple(dict.fromkeys(name for name, _ in program.asked)))
    assert len(first) > 2


def test_the_same_seed_asks_for_the_same():
    asked = []
    for _ in range(2):
        program = FakeProgram(costs_ns={"a": 40.0, "b": 60.0})
        started(program)
        asked.append(program.asked)
    assert asked[0] == asked[1]


def test_a_body_that_is_compared_with_itself_shares_its_calls_first():
    program = FakeProgram(costs_ns={"a": 40.0})
    found = started(program, bodies=("a", "a"))
    assert len(found.windows) == 2 * N_BLOCKS
    assert figures(found, 0).cpu_s == pytest.approx(figures(found, 1).cpu_s)


def test_programs_of_their_own_have_their_own_empty_body():
    fast, slow = FakeProgram(costs_ns={"a": 40.0}), FakeProgram(costs_ns={"a": 40.0}, speed=3.0)
    seats = {0: Seat(process=0, body="a"), 1: Seat(process=1, body="a")}
    found = started(fast, slow, bodies=("a", "a"), seats=seats)
    assert figures(found, 0).cpu_s * 1e9 == pytest.approx(40.0, rel=1e-6)
    assert figures(found, 1).cpu_s * 1e9 == pytest.approx(120.0, rel=1e-6)
    assert figures(found, 1).empty_cpu_s * 1e9 == pytest.approx(3 * EMPTY_NS, rel=1e-6)


def test_what_a_body_did_is_told_of_it_alone():
    broken = {"b": NotRunning(status="crashed", detail=own_words("out of memory"))}
    found = started(FakeProgram(costs_ns={"a": 40.0}, broken=broken))
    assert found.statuses == {1: "crashed"}
    assert found.details == {1: (own_words("out of memory"),)}


def test_without_the_empty_body_there_is_nothing():
    broken = {EMPTY: NotRunning(status="refused", detail=own_words("no such body"))}
    found = started(FakeProgram(costs_ns={"a": 40.0, "b": 60.0}, broken=broken))
    assert found.statuses == {0: "refused", 1: "refused"}
    assert not found.windows


def test_later_starts_begin_with_what_earlier_ones_found():
    counts: dict[str, int] = {}
    first, later = (FakeProgram(costs_ns={"a": 40.0, "b": 60.0}) for _ in range(2))
    started(first, counts=counts)
    started(later, number=1, counts=counts)
    assert len(later.asked) < len(first.asked)
    # The first call of all is one.
    _, n = [n for name, n in later.asked if name == "a"][:2]
    assert n * (EMPTY_NS + 40.0) / 1e9 == pytest.approx(WINDOW_S, rel=0.01)


def test_what_a_program_says_of_itself_counts_for_nothing_and_is_compared():
    honest, liar = (
        started(FakeProgram(costs_ns={"a": 40.0, "b": 60.0}, said=said)) for said in (1.0, 0.5)
    )
    assert figures(liar, 1) == figures(honest, 1)
    assert said_apart(honest.windows) == pytest.approx(1.0, rel=1e-6)
    assert said_apart(liar.windows) == pytest.approx(0.5, rel=1e-6)
    assert said_apart(started(FakeProgram(costs_ns={}, said=0.0)).windows) is None


class Stalled(FakeProgram):
    """Has no core for a while, once, and takes long for the first call of each body."""

    def batch(self, name, n):
        is_first = name not in {each for each, _ in self.asked}
        found = super().batch(name, n)
        if is_first:
            return replace(found, cpu_s=found.cpu_s + 0.05, wall_s=found.wall_s + 0.05)
        is_second = [each for each, _ in self.asked].count(name) == 2
        return replace(found, wall_s=found.wall_s + 1.0) if is_second else found


def test_neither_a_slow_first_call_nor_a_lost_core_makes_batches_short():
    found = started(Stalled(costs_ns={"a": 40.0, "b": 60.0}))
    assert len(found.windows) == 2 * N_BLOCKS
    assert all(window.telemetry.cpu_s > WINDOW_S / 2 for window in found.windows)


def test_a_body_that_waits_is_not_waited_for_without_end():
    found = started(FakeProgram(costs_ns={"a": 40.0, "b": 1_000.0}, dilation=10_000.0))
    longest_s = max(window.measurement.measured_s for window in found.windows)
    assert longest_s < 25 * WINDOW_S
