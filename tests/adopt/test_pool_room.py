"""How many workers of each pool of a copy memory has room for: made-up copies."""

from dataclasses import replace

import pytest
from tests.rows import each_row

from httpdyno.adopt.memory import MemberSample, RunningPools, largest_workers, rooms, unused
from httpdyno.reason import because
from httpdyno.report.shared.message import text
from httpdyno.telemetry.worker import Memory, Sample, Worker

MIB = 1 << 20
FREE = 1024 * MIB
HIDDEN = because("telemetry.memory", why=because("telemetry.not_visible"))


def process(pid, own, shared=0.0, *, name="w", is_seen=True, **more):
    """Return one with so many MiB of its own, and its share of what it has in common."""
    memory = Memory(
        rss_bytes=round((own + 5 * shared) * MIB),
        pss_bytes=round((own + shared) * MIB),
        uss_bytes=own * MIB,
        shared_bytes=round(5 * shared * MIB),
        anonymous_pss_bytes=round((own + shared) * MIB),
        file_pss_bytes=0,
        swap_bytes=0,
    )
    told = {"started_ticks": 5, "age_s": 3.0, "minor_faults": 0, "major_faults": 0} | more
    return Worker(
        pid=pid,
        parent=pid // 10 * 10,
        name=name,
        state="sleeping",
        user_s=0.0,
        system_s=0.0,
        n_threads=1,
        rss_bytes=memory.rss_bytes,
        memory=memory if is_seen else None,
        memory_age_s=0.0,
        hidden=() if is_seen else (HIDDEN,),
        **told,
    )


def member(*workers, kind="gunicorn", name="shop", titles=None, pools=()):
    """Return a member whose first process is its root."""
    sample = Sample(at_s=0.0, root_pids=(workers[0].pid,), workers=workers)
    return MemberSample(name=name, kind=kind, sample=sample, titles=titles or {}, pools=pools)


def preloaded(**more):
    """Return a pool of two that were forked from 50 MiB, each with 4 of its own."""
    third = 50 / 3
    return member(process(10, 0, third), process(11, 4, third), process(12, 4, third), **more)


FRONT = member(
    *(process(pid, 2, name="nginx") for pid in range(20, 25)), kind="nginx", name="front"
)
FAT = member(process(30, 10), process(31, 100), process(32, 80), name="app")
FPM = member(
    *(process(40, 2, 6), process(41, 10, 6), process(42, 10, 6), process(43, 50, 6)),
    kind="php-fpm",
    name="php",
    titles={41: "php-fpm: pool www", 42: "php-fpm: pool www", 43: "php-fpm: pool jobs"},
    pools=("www", "jobs", "idle"),
)


def by_pool(*copy, **more):
    return {(room.member, room.pool): room for room in rooms([copy], FREE, **more)}


@each_row(
    ("copy", "pool", "held", "once", "each"),
    [
        pytest.param([preloaded()], ("shop", ""), 0, 50, 4, id="preloaded"),
        pytest.param([FRONT, FAT], ("app", ""), 10, 10, 100, id="fat behind a front"),
        pytest.param([FRONT, FAT], ("front", ""), 190, 2, 2, id="a front of fat ones"),
        # What the pools have in common is there once, by whichever of them it is counted.
        pytest.param([FPM], ("php", "www"), 56, 20, 10, id="one of two pools"),
        pytest.param([FPM], ("php", "jobs"), 32, 14, 50, id="the other"),
        pytest.param([preloaded(), FRONT], ("shop", ""), 10, 50, 4, id="preloaded before a front"),
    ],
)
def test_room_is_for_one_pools_own_while_the_others_stay_as_they_are(copy, pool, held, once, each):
    room = by_pool(*copy)[pool]
    share = 512 - held
    assert room.held_bytes / MIB == pytest.approx(held, abs=0.01)
    assert (room.free_bytes, room.n_copies) == (FREE, 2)
    assert room.available_bytes / MIB == pytest.approx(share, abs=0.01)
    assert room.reserve_bytes / MIB == pytest.approx(share / 10, abs=0.01)
    assert room.once_bytes / MIB == pytest.approx(once, abs=0.01)
    assert room.each_bytes == each * MIB
    assert room.n == int((share - share / 10 - once) / each)


def test_neither_what_is_shared_nor_a_front_is_averaged_into_a_worker():
    # 58 MiB in three processes, 200 in eight: by their means 26 and 20 would have been said.
    assert by_pool(preloaded())["shop", ""].n == 102
    assert by_pool(FRONT, FAT)["app", ""].n == 4


def test_what_the_kernel_keeps_for_a_worker_is_in_it():
    tables = [replace(each, page_table_bytes=3 * MIB) for each in preloaded().sample.workers]
    room = by_pool(member(*tables))["shop", ""]
    assert 3 * MIB < room.kernel_bytes < 4 * MIB
    assert room.n is not None
    assert room.n < 102 * 4 / 7


@each_row(
    ("copy", "pool", "why"),
    [
        (
            member(process(10, 9), process(11, 9, is_seen=False)),
            ("shop", ""),
            "memory not visible without root",
        ),
        (member(process(10, 9)), ("shop", ""), "no worker of it ran"),
        (FPM, ("php", "idle"), "no worker of it ran"),
        (
            member(process(10, 9, name="a"), process(11, 9, name="b"), process(12, 9, name="c")),
            ("shop", ""),
            "its processes are of several kinds (b, c)",
        ),
        (member(process(10, 9), process(11, 0)), ("shop", ""), "no worker has memory of its own"),
        (
            replace(FPM, titles={**FPM.titles, 43: "php-fpm: pool jo"}),
            ("php", "www"),
            "whose some of its processes are is not told",
        ),
    ],
)
def test_what_cannot_be_told_bounds_nothing_and_says_why(copy, pool, why):
    room = by_pool(copy)[pool]
    assert room.n is None
    assert text(room.reason) == f"nothing bounds it by memory: {why}"


def test_one_that_may_not_be_seen_holds_its_resident_size_beside_others():
    barred = member(*(process(pid, 2, is_seen=False) for pid in (20, 21)), kind="nginx", name="a")
    found = by_pool(barred, FAT)
    assert found["a", ""].n is None
    assert found["app", ""].held_bytes == 4 * MIB


def test_the_look_counts_at_which_there_was_room_for_the_fewest():
    busy = member(process(10, 9), process(11, 30))
    barred = member(process(10, 9), process(11, 9, is_seen=False))
    idle = member(process(10, 9), process(11, 4))
    for looks in ([[idle], [busy], [barred], [idle]], [[barred], [busy]], [[busy], [barred]]):
        [room] = rooms(looks, FREE)
        assert (room.each_bytes, room.unknown) == (30 * MIB, "")


def test_helpers_of_other_names_are_held_and_no_workers():
    logs = process(19, 300, name="rotatelogs")
    room = by_pool(member(*preloaded().sample.workers, logs))["shop", ""]
    assert (room.each_bytes, room.held_bytes) == (4 * MIB, 300 * MIB)


def test_a_program_that_is_one_process_is_what_each_further_one_is_taken_for():
    room = by_pool(member(process(10, 40, 8), kind="uvicorn"))["shop", ""]
    assert (room.once_bytes, room.each_bytes) == (8 * MIB, 40 * MIB)
    assert room.n == int((512 * 0.9 - 8) / 40)


def test_workers_of_the_server_that_runs_count_where_they_have_grown():
    old = process(11, 20, 10, age_s=86_400.0)
    grown = largest_workers(member(process(10, 0, 10), old, process(12, 3, 10)))
    room = by_pool(preloaded(), running={"shop": RunningPools(largest=grown)})["shop", ""]
    assert (room.each_bytes, room.age_s, room.is_of_running) == (20 * MIB, 86_400.0, True)
    assert room.once_bytes / MIB == pytest.approx(50, abs=0.01)
    young = largest_workers(member(process(10, 0, 10), process(11, 2, 10)))
    of_young = {"shop": RunningPools(largest=young)}
    assert not by_pool(preloaded(), running=of_young)["shop", ""].is_of_running


@each_row(("limit", "left", "is_by_limit"), [(200, 168, True), (10, 0, True), (600, 468, False)])
def test_a_limit_of_the_running_servers_control_group_bounds_it_where_it_is_less(
    limit, left, is_by_limit
):
    # Of php-fpm's 32 MiB beside the pool all are in that group, of the front's 12 none.
    front = member(*(process(20 + n, 12 * n, name="nginx") for n in range(2)), name="front")
    running = {"php": RunningPools(limit_bytes=limit * MIB)}
    room = by_pool(front, FPM, running=running)["php", "jobs"]
    assert room.available_bytes / MIB == pytest.approx(left, abs=0.01)
    assert room.n == max(0, int((left * 0.9 - 14) / 50))
    assert ("the running server's control group leaves it" in text(room.reason)) == is_by_limit


def test_the_numbers_are_said():
    assert text(by_pool(FRONT, FAT)["app", ""].reason) == (
        "memory has room for 4 processes of this pool: (452 MiB − 10.0 MiB counted once) / "
        "(100 MiB), the own of the largest worker of the copy, 3.00 s old; 1.00 GiB free for 2 "
        "copies, others hold 10.0 MiB, 10 % in reserve"
    )


def test_where_nobody_looked_what_is_free_nothing_is_said():
    assert rooms([[FAT]], 0) == ()


def later(number, **changes):
    """Return the copy's php-fpm with what one of its processes has done since."""
    workers = tuple(
        replace(each, **changes) if each.pid == number else each for each in FPM.sample.workers
    )
    return replace(FPM, sample=replace(FPM.sample, workers=workers))


@each_row(
    ("looks", "expected"),
    [
        ([FPM], ()),
        ([FPM, later(41, voluntary_switches=1)], ("php@jobs",)),
        ([FPM, FPM, later(43, user_s=0.01)], ("php@www",)),
        ([FPM, later(43, pid=44)], ("php@www",)),
        ([FRONT, FRONT], ()),
    ],
)
def test_a_pool_whose_workers_all_slept_is_unused(looks, expected):
    assert unused([[look] for look in looks]) == expected
