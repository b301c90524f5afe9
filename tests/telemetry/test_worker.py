"""Real processes whose sizes are known, as the sampler sees them."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from tests.telemetry.forked import MIB, PAGE_BYTES, forked

from httpdyno.host import procfs
from httpdyno.telemetry import worker as module
from httpdyno.telemetry.observed import observed
from httpdyno.telemetry.pool import pool
from httpdyno.telemetry.worker import WorkerSampler, memory, statm_bytes

DEADLINE_S = 10.0
SHARED_MIB = 24
TOUCHED = (0, 256, 1024)


def await_true(condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def by_pid(sampler):
    return {each.pid: each for each in sampler.read().workers}


def memory_of(worker):
    assert worker.memory is not None
    return worker.memory


def test_sizes_are_what_was_shared_and_touched():
    with forked(SHARED_MIB, TOUCHED) as (parent, children):
        sample = WorkerSampler([parent]).read()
    seen, together = {each.pid: each for each in sample.workers}, pool(sample)
    assert list(seen) == [parent, *children]
    own = [memory_of(seen[pid]).uss_bytes for pid in children]
    # What else a child has of its own is the same in all of them: a few pages of the interpreter.
    for k, pages in enumerate(TOUCHED):
        assert own[k] - own[0] == pytest.approx(pages * PAGE_BYTES, abs=16 * PAGE_BYTES)
    for pid in (parent, *children):
        each = memory_of(seen[pid])
        assert each.uss_bytes <= each.pss_bytes <= each.rss_bytes
        assert each.uss_bytes + each.shared_bytes == each.rss_bytes
        assert each.rss_bytes >= SHARED_MIB * MIB
    # The shared pages are there once, and each page that was touched once more.
    least = SHARED_MIB * MIB + sum(TOUCHED) * PAGE_BYTES
    assert together.pss_bytes is not None
    assert together.uss_bytes is not None
    assert together.largest is not None
    assert least <= together.pss_bytes <= least + 16 * MIB
    assert together.rss_bytes >= 4 * SHARED_MIB * MIB
    assert together.n_workers == len(TOUCHED)
    assert together.largest_uss_bytes == max(own)
    assert together.median_uss_bytes == own[1]
    assert together.largest.pid == children[2]
    assert together.shared_bytes == together.pss_bytes - together.uss_bytes


def read_beside(parent, pid):
    """Return both words of a process, while it slept and no program came or went beside it."""

    def told():
        each = by_pid(WorkerSampler([parent]))[pid]
        return each, (each.memory, each.cpu_s, each.voluntary_switches, each.involuntary_switches)

    deadline_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline_s:
        _, before = told()
        other = psutil.Process(pid).as_dict()
        seen, after = told()
        if before == after:
            return seen, other
    pytest.fail("the machine's programs never left it alone")


def test_each_figure_is_that_of_psutil():
    with forked(SHARED_MIB, TOUCHED) as (parent, children):
        for pid in (parent, *children):
            told, other = read_beside(parent, pid)
            sizes, memory = other["memory_full_info"], memory_of(told)
            assert abs(memory.uss_bytes - sizes.uss) <= 2 * PAGE_BYTES
            assert abs(memory.pss_bytes - sizes.pss) <= 2 * PAGE_BYTES
            assert abs(memory.rss_bytes - sizes.rss) <= 64 * PAGE_BYTES
            assert memory.swap_bytes == sizes.swap
            assert (told.user_s, told.system_s) == other["cpu_times"][:2]
            assert told.n_threads == other["num_threads"]
            assert told.n_descriptors == other["num_fds"]
            assert (told.parent, told.name) == (other["ppid"], other["name"])
            assert told.state == other["status"]
            # By the clock that both count from, since when a boot was is known in whole seconds.
            began_s = time.clock_gettime(time.CLOCK_BOOTTIME) - told.age_s
            assert began_s == pytest.approx(other["create_time"] - psutil.boot_time(), abs=1.0)
            switches = (told.voluntary_switches, told.involuntary_switches)
            assert switches == tuple(other["num_ctx_switches"])


def test_a_zombie_is_there_without_memory():
    with forked(1, (0, 0)) as (parent, children):
        sampler = WorkerSampler([parent])
        os.kill(children[0], signal.SIGKILL)
        await_true(lambda: by_pid(sampler)[children[0]].is_zombie)
        sample = sampler.read()
        together = pool(sample)
        seen = {each.pid: each for each in sample.workers}
    assert seen[children[0]].memory is None
    assert seen[children[0]].hidden == ()
    assert together.zombies == (f"{seen[children[0]].name} ({children[0]})",)
    assert together.states["zombie"] == 1
    assert together.n_workers == 1
    assert together.pss_bytes is not None


def test_what_has_ended_is_not_there():
    process = subprocess.Popen([sys.executable, "-S", "-c", "pass"])
    process.wait()
    sample = WorkerSampler([process.pid]).read()
    assert sample.workers == ()
    assert pool(sample).n_workers == 0


def test_one_whose_parent_died_is_still_followed():
    code = "import os, signal\nmiddle = os.fork()\nif not middle:\n    os.fork()\nsignal.pause()\n"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as root:
        try:
            sampler = WorkerSampler([root.pid])
            await_true(lambda: len(by_pid(sampler)) == 3)
            middle = next(p for p, each in by_pid(sampler).items() if each.parent == root.pid)
            orphans = {p for p, each in by_pid(sampler).items() if each.parent == middle}
            assert orphans
            os.kill(middle, signal.SIGKILL)
            await_true(lambda: by_pid(sampler)[middle].is_zombie)
            assert orphans <= by_pid(sampler).keys()
        finally:
            os.killpg(root.pid, signal.SIGKILL)


def test_where_the_kernel_lists_no_children_all_processes_are_looked_at(monkeypatch):
    monkeypatch.setattr(procfs, "KERNEL_LISTS_CHILDREN", False)
    with forked(1, (0, 0)) as (parent, children):
        assert set(by_pid(WorkerSampler([parent]))) == {parent, *children}


def test_memory_is_read_in_turn_where_time_is_bounded():
    with forked(1, (0,) * 5) as (parent, children):
        sampler = WorkerSampler([parent], most_s=0.0)
        for n_read in range(1, 7):
            sample = sampler.read()
            assert sum(each.memory is not None for each in sample.workers) == n_read
            assert (pool(sample).pss_bytes is None) == (n_read < 6)
            assert pool(sample).n_hidden == 6 - n_read
        # From here on the oldest is read anew, and each says how old it is.
        for _ in range(6):
            sample = sampler.read()
            ages = [each.memory_age_s or 0.0 for each in sample.workers]
            assert ages.count(0.0) == 1
            assert len(set(ages)) == 1 + len(children)
            assert pool(sample).memory_age_s == max(ages)


@pytest.mark.parametrize(
    ("most_s", "rest_s", "n_read"),
    [
        # Of the first sample nobody knows yet what the rest takes: 0.1 s of each memory.
        (1.05, 0.4, (11, 7)),
        (0.55, 0.4, (6, 2)),
        # A fifth of the bound is left in any case, and one is read in any case.
        (0.85, 0.8, (9, 2)),
        (0.15, 0.4, (2, 1)),
    ],
)
def test_memory_gets_what_the_rest_leaves_of_a_bound(monkeypatch, most_s, rest_s, n_read):
    clock = [0.0]
    monkeypatch.setattr("httpdyno.telemetry.worker.time.thread_time", lambda: clock[0])

    def slow(function, seconds):
        def slowed(*arguments):
            clock[0] += seconds
            return function(*arguments)

        return slowed

    monkeypatch.setattr(module, "_memory", slow(module._memory, 0.1))
    monkeypatch.setattr(module, "_descriptors", slow(module._descriptors, rest_s / 20))
    with forked(1, (0,) * 19) as (parent, _):
        sampler = WorkerSampler([parent], most_s=most_s)
        known = 0
        for n in n_read:
            sample = sampler.read()
            now_known = sum(each.memory is not None for each in sample.workers)
            assert now_known - known == n
            known = now_known


def test_what_may_not_be_seen_is_none_and_named():
    code = (
        "import os, subprocess, sys\n"
        "from httpdyno.telemetry.pool import pool\n"
        "from httpdyno.telemetry.worker import WorkerSampler\n"
        "if os.geteuid() == 0:\n    os.setgroups([])\n    os.setgid(65534)\n    os.setuid(65534)\n"
        "sample = WorkerSampler([int(sys.argv[1])]).read()\n"
        "one, together = sample.workers[0], pool(sample)\n"
        "print(one.memory, one.rss_bytes > 0, one.voluntary_switches > 0, one.hidden[0])\n"
        "print(together.pss_bytes, together.rss_bytes > 0, together.n_hidden > 0)\n"
        # A program that this user started is its own, and seen as root sees it.
        "with subprocess.Popen(['/bin/cat'], stdin=subprocess.PIPE) as own:\n"
        "    seen = pool(WorkerSampler([own.pid]).read())\n"
        "print(seen.pss_bytes >= seen.uss_bytes > 0, seen.n_hidden)\n"
    )
    with forked(1, (0,)) as (parent, _):
        # For an ordinary user the first process is root's.
        pid = parent if os.geteuid() == 0 else 1
        seen = subprocess.run(
            [sys.executable, "-c", code, str(pid)], check=True, capture_output=True, text=True
        )
    assert seen.stdout.splitlines() == [
        "None True True telemetry.memory(why=telemetry.not_visible())",
        "None True True",
        "True 0",
    ]


ROLLUP = b"""00400000-7ffd [rollup]
Rss:                1764 kB
Pss:                 219 kB
Shared_Clean:       1612 kB
Shared_Dirty:          4 kB
Private_Clean:        40 kB
Private_Dirty:       108 kB
Swap:                 16 kB
"""


def test_an_old_kernel_tells_no_kinds_of_pages():
    seen = memory(ROLLUP)
    assert seen is not None
    assert (seen.uss_bytes, seen.shared_bytes) == (148 << 10, 1616 << 10)
    assert (seen.anonymous_pss_bytes, seen.file_pss_bytes) == (None, None)
    assert seen.swap_bytes == 16 << 10
    newer = memory(ROLLUP + b"Pss_Anon: 7 kB\nPss_File: 5 kB\nPss_Shmem: 3 kB\nSwapPss: 8 kB\n")
    assert newer is not None
    assert (newer.anonymous_pss_bytes, newer.file_pss_bytes) == (10 << 10, 5 << 10)
    assert newer.swap_bytes == 8 << 10
    assert memory(b"") is None


def test_page_tables_are_told_of_a_process():
    [own] = [
        each for each in WorkerSampler([os.getpid()]).read().workers if each.pid == os.getpid()
    ]
    assert own.page_table_bytes is not None
    assert own.page_table_bytes > 0


def test_a_virtual_size_is_told_without_files_and_shared_memory():
    assert statm_bytes(b"8000 2500 500 1 0 3000 0\n") == 7500 * PAGE_BYTES
    assert statm_bytes(b"0 0 0 0 0 0 0\n") is None
    assert statm_bytes(b"") is None


def test_a_look_counts_by_it_what_was_shared_since_the_fork():
    with forked(SHARED_MIB, TOUCHED) as (parent, children):
        seen = observed(parent)
        assert seen is not None
        own = {each.pid: memory_of(each).uss_bytes for each in seen.workers}
    for pid in children:
        assert seen.statm_bytes[pid] > own[pid] + (SHARED_MIB - 4) * MIB
