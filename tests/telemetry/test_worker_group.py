"""The processes of a server by program, as a start's last edge finds them."""

import subprocess
import sys
from dataclasses import replace

import pytest
from msgspec import structs
from tests.telemetry.forked import forked
from tests.telemetry.test_pool import MIB, worker

from httpdyno.host.procfs import ZOMBIE
from httpdyno.model import OfWorkers
from httpdyno.telemetry.account import memory_of
from httpdyno.telemetry.pool import memory_bound, pool, worker_groups, zombies_by_parent
from httpdyno.telemetry.worker import Sample, WorkerSampler


def process(pid, name, parent, own=1, **more):
    return replace(worker(pid, own=own, pss=2 * own, rss=40), name=name, parent=parent, **more)


def test_a_pool_is_told_without_its_parent():
    parent = process(10, "apache2", 1, 900, age_s=50.0)
    workers = [
        process(11 + n, "apache2", 10, own, age_s=age_s, user_s=own / 100, n_descriptors=9 + n)
        for n, (own, age_s) in enumerate([(10, 4.0), (30, 2.0), (20, 40.0)])
    ]
    [seen] = worker_groups([parent, *workers])
    assert (seen.program, seen.n) == ("apache2", 3)
    assert (seen.median_uss_bytes, seen.largest_uss_bytes) == (20 * MIB, 30 * MIB)
    assert (seen.youngest_s, seen.median_age_s, seen.oldest_s) == (2.0, 4.0, 40.0)
    assert seen.pss_bytes == OfWorkers(median=40.0 * MIB, largest=60.0 * MIB)
    assert seen.user_s == OfWorkers(median=0.2, largest=0.3)
    assert seen.n_descriptors == OfWorkers(median=10.0, largest=11.0)
    assert seen.states == {"sleeping": 3.0}
    assert seen.voluntary_switches is None


def test_programs_are_told_apart_and_one_process_is_its_own_worker():
    processes = [
        process(10, "uvicorn", 1, 500),
        process(20, "postgres", 1, 90),
        process(21, "postgres", 20, 5),
        process(22, "postgres", 20, 7),
    ]
    groups = worker_groups(processes)
    assert [(each.program, each.n, each.median_uss_bytes) for each in groups] == [
        ("postgres", 2, 6 * MIB),
        ("uvicorn", 1, 500 * MIB),
    ]


def test_of_nobody_nothing_is_told():
    assert worker_groups([]) == ()


def test_who_did_nothing_while_others_of_its_name_worked_is_told_apart():
    keeper = process(10, "nginx", 1, 3)
    workers = [process(11, "nginx", 10, 20), process(12, "nginx", 10, 30)]
    manager = process(13, "nginx", 10, 2)
    resting = process(20, "postgres", 1, 5)
    nginx, postgres = worker_groups([keeper, *workers, manager, resting], idle={13, 20})
    assert (nginx.n, nginx.n_idle, nginx.median_uss_bytes) == (2, 1, 25 * MIB)
    # Nobody of its program did anything: it may be the worker.
    assert (postgres.n, postgres.n_idle) == (1, 0)


def test_as_many_fit_as_the_memory_bound_of_the_same_pool_says():
    parent = process(10, "apache2", 1, 3, page_table_bytes=MIB)
    workers = [
        process(11 + n, "apache2", 10, own, page_table_bytes=(n + 1) * MIB, n_threads=5)
        for n, own in enumerate((20, 30, 10))
    ]
    sample = Sample(at_s=0.0, root_pids=(10,), workers=(parent, *workers))
    whole = pool(sample)
    bound = memory_bound(whole, available_bytes=1 << 34, limit_bytes=1 << 30)
    assert bound is not None
    room_bytes = bound.available_bytes - bound.reserve_bytes
    [seen] = worker_groups(sample.workers, pss_bytes=whole.pss_bytes)
    assert (seen.once_bytes, seen.kernel_bytes) == (bound.once_bytes, bound.kernel_bytes)
    assert seen.n_within(room_bytes) == bound.n == 26
    # A helper is there once, as the parent is.
    [beside] = worker_groups(sample.workers, idle={13}, pss_bytes=whole.pss_bytes)
    assert beside.once_bytes == bound.once_bytes + 10 * MIB
    # Nobody can say how many of those fit that have nothing of their own.
    assert structs.replace(seen, largest_uss_bytes=0).n_within(room_bytes) is None


def test_who_has_ended_is_no_worker_and_makes_nobody_a_parent_that_keeps_some():
    ended = replace(worker(11), name="perl", state=ZOMBIE, parent=10)
    lost = replace(worker(12), name="perl", state=ZOMBIE, parent=1)
    processes = [process(10, "httpd", 1), ended, lost]
    assert [(each.program, each.n) for each in worker_groups(processes)] == [("httpd", 1)]
    assert zombies_by_parent(processes) == {"httpd": 1, "": 1}


def test_each_figure_is_what_inspect_reads_of_the_same_workers():
    with forked(8, [100, 300, 200]) as (parent, pids):
        memory = memory_of([parent, *pids])
        seen = {each.pid: each for each in WorkerSampler([parent]).read().workers}
    assert memory is not None
    [group] = worker_groups(memory.processes)
    workers = [seen[pid] for pid in pids]
    assert group.n == 3
    for name in ("n_descriptors", "n_threads", "page_table_bytes", "major_faults", "user_s"):
        told = sorted(getattr(each, name) for each in workers)
        assert getattr(group, name) == OfWorkers(median=told[1], largest=told[2]), name
    for name in ("pss_bytes", "rss_bytes", "shared_bytes", "anonymous_pss_bytes", "file_pss_bytes"):
        told = sorted(getattr(each.memory, name) for each in workers)
        assert getattr(group, name).largest == pytest.approx(told[2], rel=0.1), name


LEAVES_ONE = """
import os, sys
if (pid := os.fork()) == 0:
    os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print(pid, flush=True)
sys.stdin.read()
"""


def test_a_zombie_is_found_though_a_control_group_does_not_list_it():
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", LEAVES_ONE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        memory = memory_of([parent.pid])
        assert memory is not None
        assert [each.pid for each in memory.processes if each.is_zombie] == [pid]
        assert [*zombies_by_parent(memory.processes).values()] == [1]
        [group] = worker_groups(memory.processes)
        assert group.n == 1
        assert parent.stdin is not None
        parent.stdin.close()
