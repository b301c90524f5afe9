"""What processes are together, and what they did between two samples: made-up and real ones."""

from dataclasses import replace

import pytest
from tests.rows import each_row
from tests.telemetry.forked import forked

from httpdyno.host.procfs import ZOMBIE
from httpdyno.telemetry.pool import change, memory_bound, pool
from httpdyno.telemetry.worker import Memory, Sample, Worker, WorkerSampler

MIB = 1 << 20
FILE_MIB = 5


def worker(pid, *, own=None, pss=0, rss=0, **more):
    memory = None
    if own is not None:
        memory = Memory(
            rss_bytes=rss * MIB,
            pss_bytes=pss * MIB,
            uss_bytes=own * MIB,
            shared_bytes=(rss - own) * MIB,
            anonymous_pss_bytes=(pss - FILE_MIB) * MIB,
            file_pss_bytes=FILE_MIB * MIB,
            swap_bytes=0,
        )
    told = {
        "name": "w",
        "state": "sleeping",
        "started_ticks": 5,
        "age_s": 9.0,
        "user_s": 0.0,
        "system_s": 0.0,
        "minor_faults": 0,
        "major_faults": 0,
        "n_threads": 1,
        "rss_bytes": rss * MIB,
        "memory_age_s": None if memory is None else 0.0,
    }
    return Worker(pid=pid, parent=min(1, pid - 1), memory=memory, **(told | more))


def sample(*workers, at_s=100.0):
    return Sample(at_s=at_s, root_pids=(1,), workers=workers)


# 200 MiB that the parent and four workers share, of which each has its 40.
PREFORK = (
    worker(1, own=10, pss=50, rss=210),
    worker(2, own=20, pss=60, rss=220),
    worker(3, own=20, pss=60, rss=220),
    worker(4, own=30, pss=70, rss=230),
    worker(5, own=25, pss=65, rss=225),
)


def test_the_sums():
    seen = pool(sample(*PREFORK))
    assert seen.n_workers == 4
    assert seen.pss_bytes == 305 * MIB
    assert seen.uss_bytes == 105 * MIB
    assert seen.shared_bytes == 200 * MIB
    assert seen.rss_bytes == 1105 * MIB
    assert seen.parent_pss_bytes == 50 * MIB
    assert (seen.largest_uss_bytes, seen.median_uss_bytes) == (30 * MIB, round(22.5 * MIB))
    assert seen.largest is not None
    assert seen.largest.pid == 4


def test_one_that_may_not_be_seen_leaves_no_sum_that_is_too_small():
    seen = pool(sample(*PREFORK, worker(6, rss=220)))
    assert (seen.pss_bytes, seen.uss_bytes, seen.largest_uss_bytes) == (None, None, None)
    assert seen.parent_pss_bytes == 50 * MIB
    assert seen.n_hidden == 1
    assert seen.rss_bytes == 1325 * MIB
    assert memory_bound(seen, available_bytes=1 << 40) is None


def test_one_that_ended_meanwhile_is_no_secret():
    ending = worker(6, rss=0, memory_age_s=0.0)
    zombie = worker(7, state=ZOMBIE)
    seen = pool(sample(*PREFORK, ending, zombie))
    assert seen.pss_bytes == 305 * MIB
    assert seen.zombies == ("w (7)",)
    assert (seen.n_workers, seen.n_hidden) == (5, 0)


def test_workers_are_told_by_the_root_that_they_are_below():
    parents = {1: 0, 2: 1, 3: 2, 9: 0, 10: 9, 20: 0, 21: 20}
    workers = [replace(worker(pid), parent=parent) for pid, parent in parents.items()]
    seen = pool(Sample(at_s=0.0, root_pids=(1, 9, 30), workers=tuple(workers)))
    assert seen.workers_of == {1: 2, 9: 1}
    assert [each.pid for each in seen.detached] == [20, 21]
    assert seen.n_workers == 5
    # Where the parent has ended all are left of it, and none has left it.
    assert pool(sample(*workers[1:3])).detached == ()


def test_births_and_deaths_are_told_by_pid_and_start():
    before = sample(worker(1), worker(2, user_s=1.0), worker(3), at_s=100.0)
    after = sample(
        worker(1, system_s=0.5, major_faults=2),
        worker(2, user_s=2.0, voluntary_switches=4),
        # The same pid, and another process.
        worker(3, started_ticks=900, user_s=0.25),
        worker(4, started_ticks=910),
        at_s=102.0,
    )
    seen = change(before, after)
    assert (seen.births, seen.deaths, seen.elapsed_s) == (2, 1, 2.0)
    assert seen.cpu_ratio == {1: 0.25, 2: 0.5, 3: 0.125, 4: 0.0}
    assert seen.pool_cpu_ratio == 0.875
    assert seen.major_faults == 2
    assert seen.voluntary_switches is None
    assert seen.switches_per_s == {}
    assert seen.new_pids == {3, 4}


def test_switches_are_told_of_those_that_were_there_before():
    told = {"voluntary_switches": 10, "involuntary_switches": 1}
    before = sample(worker(1, **told), worker(2), worker(3, **told), at_s=100.0)
    after = sample(
        worker(1, voluntary_switches=14, involuntary_switches=3),
        worker(2, **told),
        worker(3, started_ticks=900, **told),
        at_s=102.0,
    )
    assert change(before, after).switches_per_s == {1: 3.0}


def test_room_is_for_what_is_there_once_and_each_ones_own():
    bound = memory_bound(pool(sample(*PREFORK)), available_bytes=1700 * MIB)
    assert bound is not None
    # 1700 MiB, and the 280 of 305 that are no pages of files: 198 of them stay in reserve.
    assert bound.available_bytes == 1980 * MIB
    assert bound.reserve_bytes == 198 * MIB
    assert bound.limited_by == "available"
    # The parent's own 10, and the 200 that all share.
    assert (bound.once_bytes, bound.each_bytes) == (210 * MIB, 30 * MIB)
    assert bound.n == (1782 - 210) // 30
    assert bound.n_by_parent == (1782 - 50) // 30
    assert bound.n_by_rss == 1782 // 230
    assert bound.n_by_child == (1782 - 230) // 30
    assert bound.n_by_shared == (1782 - 200) // 30


def test_so_many_workers_as_there_is_room_for_fill_it():
    bound = memory_bound(pool(sample(*PREFORK)), available_bytes=1700 * MIB)
    assert bound is not None
    assert bound.n is not None
    room = bound.available_bytes - bound.reserve_bytes
    full = bound.once_bytes + bound.n * bound.each_bytes
    assert full <= room < full + bound.each_bytes


@each_row(
    ("limit", "available", "by"),
    [(1000, 1000, "control group"), (100_000, 1980, "available"), (None, 1980, "available")],
)
def test_a_control_groups_limit_counts_where_it_is_less(limit, available, by):
    bound = memory_bound(
        pool(sample(*PREFORK)),
        available_bytes=1700 * MIB,
        limit_bytes=limit and limit * MIB,
    )
    assert bound is not None
    assert (bound.available_bytes, bound.limited_by) == (available * MIB, by)


def test_what_the_kernel_keeps_for_a_worker_is_in_the_bound():
    workers = [replace(each, page_table_bytes=2 * MIB) for each in PREFORK]
    bound = memory_bound(pool(sample(*workers)), available_bytes=1700 * MIB)
    assert bound is not None
    assert bound.each_bytes == 30 * MIB
    assert 2 * MIB < bound.kernel_bytes < 3 * MIB
    # The parent takes it too.
    assert bound.n == ((1782 - 210) * MIB - bound.kernel_bytes) // (30 * MIB + bound.kernel_bytes)


def test_where_pages_of_files_or_available_memory_are_not_told_nothing_is_bound():
    # Before Linux 5.4, and 3.14. Pages of files are in what is available, and in the pool.
    old = [replace(each, memory=replace(each.memory, file_pss_bytes=None)) for each in PREFORK]
    for limit_bytes in (None, 1000 * MIB):
        told = {"available_bytes": 1700 * MIB, "limit_bytes": limit_bytes}
        assert memory_bound(pool(sample(*old)), **told) is None
        told["available_bytes"] = None
        assert memory_bound(pool(sample(*PREFORK)), **told) is None


def test_without_workers_there_is_nothing_to_bound():
    assert memory_bound(pool(sample(PREFORK[0])), available_bytes=1 << 40) is None


def test_workers_without_memory_of_their_own_are_not_counted_out():
    lean = (PREFORK[0], worker(2, own=0, pss=40, rss=200))
    bound = memory_bound(pool(sample(*lean)), available_bytes=1 << 40)
    assert bound is not None
    assert (bound.n, bound.n_by_child) == (None, None)
    assert bound.n_by_rss is not None


def test_what_does_not_fit_once_leaves_no_room():
    bound = memory_bound(pool(sample(*PREFORK)), available_bytes=0, limit_bytes=100 * MIB)
    assert bound is not None
    assert bound.n == 0


def test_what_more_workers_occupy_is_foretold():
    shared_mib, pages = 24, 512
    with forked(shared_mib, [pages] * 3) as (parent, _):
        few = pool(WorkerSampler([parent]).read())
    with forked(shared_mib, [pages] * 12) as (parent, _):
        many = pool(WorkerSampler([parent]).read())
    bound = memory_bound(few, available_bytes=1 << 40)
    assert bound is not None
    assert few.parent_pss_bytes is not None
    assert many.pss_bytes is not None
    told = bound.once_bytes + 12 * bound.each_bytes
    assert told == pytest.approx(many.pss_bytes, rel=0.03)
    # The parent's own share of the pages is too little for what is there once.
    assert few.parent_pss_bytes + 12 * bound.each_bytes < many.pss_bytes - shared_mib * MIB / 2
    # Resident sizes say several times as much.
    assert 12 * few.largest_rss_bytes > 3 * many.pss_bytes
