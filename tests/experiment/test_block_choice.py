"""Half of the blocks where they decide sooner."""

import math

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.conformance.record import sample_start
from tests.rows import each_row

from httpdyno.experiment.design.plan import compare_plan
from httpdyno.experiment.method.comparison import (
    StartTimes,
    blocks_of,
    choose_blocks,
    spread_of,
    start_times,
)
from httpdyno.experiment.method.run import run_plan
from httpdyno.model import Configuration, Objective, StartRecord

TIMES = StartTimes(overhead_s=0.25, block_s=0.15)


def start_of(log_ratios, number=0):
    """Return a start whose blocks have these log ratios of throughput and of CPU per request."""
    sample = sample_start(1, number, n_blocks=len(log_ratios))

    def changed(window):
        times = math.exp(log_ratios[window.block]) if window.arm == 1 else 1.0
        seen = structs.replace(
            window.measurement,
            measured_s=1 / times,
            measured_completed=1000,
            completed=1000,
            cycles=None,
        )
        used = structs.replace(window.telemetry, cpu_s=times)
        return structs.replace(window, measurement=seen, telemetry=used)

    return structs.replace(sample, windows=tuple(map(changed, sample.windows)))


def alternating(mean, of_block, n_blocks=4):
    """Return log ratios of blocks around a mean, by so much above and below it."""
    return [mean + of_block * (-1) ** block for block in range(n_blocks)]


def chosen(starts, *, times=TIMES, base=4, precise=None, **objective):
    return choose_blocks(
        starts,
        structs.replace(Objective(), **objective),
        times,
        base=base,
        fewest_starts=6,
        precise_log_ratio=precise,
    )


@each_row(
    ("durations_s", "room", "expected_s"),
    [([4.0], 1, 4.0), ([4.0], 4, 1.0), ([1.0, 2.0, 3.0], 4, 2.0), ([6.0], 6, 1.0)],
)
def test_what_a_start_takes_is_shared_by_those_beside_it(durations_s, room, expected_s):
    last = [
        StartRecord(comparison=1, start=0, began_at="", duration_s=duration_s, statuses=())
        for duration_s in durations_s
    ]
    assert start_times(last, room).start_s(4) == expected_s
    assert blocks_of(last) == 0


def test_looks_at_servers_are_no_part_of_what_the_next_start_takes():
    start = structs.replace(start_of([0.1] * 4), duration_s=17.0, looked_s=10.0)
    without = structs.replace(start, duration_s=7.0, looked_s=0.0)
    assert start_times([start], 4) == start_times([without], 4)


def test_what_a_start_takes_is_its_windows_and_what_is_beside_them():
    start = structs.replace(start_of([0.1] * 4), duration_s=7.0)
    load_s = sum(window.measurement.total_s for window in start.windows)
    times = start_times([start], 4)
    assert times.overhead_s == pytest.approx((7.0 - load_s) / 4)
    assert times.start_s(4) == pytest.approx(load_s + (7.0 - load_s) / 4)
    assert times.start_s(2) == pytest.approx(load_s / 2 + (7.0 - load_s) / 4)


def test_both_spreads_are_told_apart():
    even = [start_of(alternating(0.0, 0.1), number) for number in range(12)]
    spread = spread_of(even, "throughput", TIMES)
    assert spread is not None
    assert spread.between_blocks == pytest.approx(0.1 * math.sqrt(4 / 3), rel=0.01)
    # Three starts' worth of a guess is left of it beside twelve that do not differ.
    assert spread.between_starts < 0.05
    apart = [start_of(alternating(0.2 * (-1) ** n, 0.1), n) for n in range(12)]
    spread = spread_of(apart, "throughput", TIMES)
    assert spread is not None
    assert 0.15 < spread.between_starts < 0.25
    assert spread_of([start_of([0.1])], "throughput", TIMES) is None
    assert spread_of(even, "latency_p99", TIMES) is None


@pytest.mark.parametrize("metric", ["throughput_per_s", "cpu_s_per_request"])
def test_a_large_difference_takes_half_of_the_blocks(metric):
    assert chosen([start_of(alternating(0.4, 0.05))], metric=metric) == 2


def test_a_small_difference_takes_all_of_them():
    assert chosen([start_of(alternating(0.03, 0.1))]) == 4
    six = [start_of(alternating(0.03 + 0.01 * (-1) ** n, 0.1), n) for n in range(6)]
    assert chosen(six) == 4


def test_starts_that_differ_more_than_windows_take_half_of_them():
    starts = [start_of(alternating(0.05 + 0.06 * (-1) ** n, 0.02), n) for n in range(6)]
    assert chosen(starts) == 2


def test_coming_up_slowly_is_no_reason_for_half():
    slow = StartTimes(overhead_s=5.0, block_s=0.15)
    assert chosen([start_of(alternating(0.4, 0.05))], times=slow) == 4


@each_row(
    "objective",
    [
        {"metric": "latency_p99_s"},
        {"also": ("page_p90_s",)},
        {"also": ("latency_p90_s of search",)},
        {"max_p99_s": 0.1},
        {"tie_breaker": "cpu_s_per_request"},
    ],
)
def test_percentiles_and_tie_breakers_keep_their_requests(objective):
    assert chosen([start_of(alternating(0.4, 0.05))], **objective) == 4


def test_a_study_of_few_blocks_and_a_precise_claim_keep_theirs():
    assert chosen([start_of(alternating(0.4, 0.05, 2))], base=2) == 2
    assert chosen([start_of(alternating(0.4, 0.1))], precise=0.02) == 4


def test_a_comparison_asks_for_half_once_that_decides(study):
    arms = [Configuration(values={"good": good, "bad": False, "inert": "a"}) for good in (0, 1)]
    plan = compare_plan(study, *arms, seed=3)

    def asked(gain, start_s=0.5):
        bench = FakeBench(
            throughput_per_s=lambda values: 4000.0 * (gain if values["good"] else 1),
            start_s=start_s,
        )
        assert (
            run_plan(
                plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None
            ).final
            is not None
        )
        return [len(request.order) for request in bench.requests]

    assert asked(1.6) == [4, 2, 2, 2, 2, 2]
    assert set(asked(1.6, start_s=50.0)) == {4}
