"""The processes of a server by program, as a start's last edge finds them."""

import os

from httpdyno.model import WorkersSeen
from httpdyno.telemetry.process_tree import ProcessSize
from httpdyno.telemetry.worker_group import worker_groups

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
BOOTED_S = 1000.0


def process(pid, name, parent, uss, age_s=1.0):
    started_ticks = round((BOOTED_S - age_s) * TICKS_PER_S)
    return ProcessSize(
        pid=pid, name=name, parent=parent, started_ticks=started_ticks, uss_bytes=uss
    )


def test_a_pool_is_told_without_its_parent():
    parent = process(10, "apache2", 1, 900, age_s=50)
    workers = [
        process(11 + n, "apache2", 10, uss, age_s)
        for n, (uss, age_s) in enumerate([(10, 4.0), (30, 2.0), (20, 40.0)])
    ]
    assert worker_groups([parent, *workers], BOOTED_S) == (
        WorkersSeen(
            program="apache2",
            n=3,
            median_uss_bytes=20,
            largest_uss_bytes=30,
            youngest_s=2.0,
            median_age_s=4.0,
            oldest_s=40.0,
        ),
    )


def test_programs_are_told_apart_and_one_process_is_its_own_worker():
    sizes = [
        process(10, "uvicorn", 1, 500),
        process(20, "postgres", 1, 90),
        process(21, "postgres", 20, 5),
        process(22, "postgres", 20, 7),
    ]
    groups = worker_groups(sizes, BOOTED_S)
    assert [(each.program, each.n, each.median_uss_bytes) for each in groups] == [
        ("postgres", 2, 6),
        ("uvicorn", 1, 500),
    ]


def test_of_nobody_nothing_is_told():
    assert worker_groups([], BOOTED_S) == ()
