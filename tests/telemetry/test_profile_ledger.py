"""Made-up accounts of processes that come and go, and what the kernel's texts say."""

import math
from pathlib import Path

import pytest

from httpdyno.host.procfs import ProcessStat
from httpdyno.telemetry.kernel import cpus, hits, quota_of, quotas
from httpdyno.telemetry.profile.counters import (
    ProcessCounters,
    Transfers,
    settled,
    spawn_cpu_s,
    transferred,
)

PARENT, WORKER, NEW = (1, 10), (2, 20), (3, 30)


def account(parent=0, own_s=0.0, reaped_s=0.0, is_careless=False):
    return ProcessCounters(
        parent=parent,
        own_s=own_s,
        reaped_s=reaped_s,
        major_faults=0,
        transfers=None,
        is_careless=is_careless,
    )


def test_what_was_reaped_is_in_the_parent_s_account():
    accounts = {PARENT: account(), WORKER: account(1), NEW: account(2)}
    assert settled(accounts, [PARENT]).keys() == {PARENT}
    # A parent that is gone, too, took it nowhere.
    assert settled(accounts, [NEW]).keys() == set(accounts)
    accounts[PARENT] = account(is_careless=True)
    assert settled(accounts, [PARENT]).keys() == set(accounts)


def test_cpu_time_of_those_that_came_and_went_is_what_parents_reaped():
    first = {PARENT: account(reaped_s=1.0)}
    assert spawn_cpu_s(first, {PARENT: account(reaped_s=1.5)}, [PARENT], {}) == 0.5


def test_who_was_there_before_is_none_of_them():
    first = {PARENT: account(reaped_s=1.0), WORKER: account(1, own_s=3.0, reaped_s=0.25)}
    # The worker used 4.0 s and died; a child of it used 0.5 s within.
    last = {PARENT: account(reaped_s=5.75), WORKER: account(1, own_s=4.0, reaped_s=0.25)}
    assert spawn_cpu_s(first, last, [PARENT], {}) == 0.5
    # It was seen later than its account was taken.
    text = b"2 (w) S 1 2 2 0 -1 0 0 0 0 0 420 0 25 0 20 0 1 0 20 0 0 0"
    assert spawn_cpu_s(first, last, [PARENT], {WORKER: ProcessStat(text)}) == pytest.approx(0.3)


def test_who_ignores_children_tells_nothing_of_them():
    first = {PARENT: account(is_careless=True)}
    assert spawn_cpu_s(first, first, [PARENT], {}) is None
    assert spawn_cpu_s({}, {}, [], {}) is None


def test_the_kernel_counts_calls_and_bytes():
    text = (
        b"rchar: 9\nwchar: 8\nsyscr: 1\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 8192\n"
        b"cancelled_write_bytes: 0\n"
    )
    assert transferred(text) == Transfers(1, 2, 4096, 8192)
    assert transferred(b"") is None


def test_quotas_are_in_cpus(tmp_path):
    old, new, free = (tmp_path / each for each in ("old", "new", "free"))
    for each in (old, new, free):
        each.mkdir()
    (old / "cpu.cfs_quota_us").write_text("150000\n")
    (old / "cpu.cfs_period_us").write_text("100000\n")
    (new / "cpu.max").write_text("50000 100000\n")
    (free / "cpu.max").write_text("max 100000\n")
    (free / "cpu.cfs_quota_us").write_text("-1\n")
    (free / "cpu.cfs_period_us").write_text("100000\n")
    folders = [(str(old), 1), (str(new), 2), (str(free), 2), (str(free), 1), ("/nowhere", 2)]
    assert quotas(folders) == [1.5, 0.5]


def group(tmp_path, path, quota=""):
    """Return a control group with those above it, the nearest first."""
    (tmp_path / path).mkdir(parents=True, exist_ok=True)
    if quota:
        (tmp_path / path / "cpu.max").write_text(f"{quota} 100000\n")
    parts = Path(path).parts
    return [(str(tmp_path.joinpath(*parts[:n])), 2) for n in range(len(parts), -1, -1)]


def test_a_group_has_no_more_cpus_than_any_above_it(tmp_path):
    group(tmp_path, "slice", 150_000)
    group(tmp_path, "slice/unit", 400_000)
    inner = group(tmp_path, "slice/unit/workers", 300_000)
    assert quota_of([inner]) == quota_of([inner, inner[1:]]) == 1.5
    assert quota_of([]) == quota_of([group(tmp_path, "free")]) == math.inf


def test_groups_side_by_side_have_their_quotas_each(tmp_path):
    first, second = group(tmp_path, "a", 50_000), group(tmp_path, "b", 100_000)
    assert quota_of([first, second]) == 1.5
    assert quota_of([first, group(tmp_path, "free")]) == math.inf
    group(tmp_path, "a/up", 70_000)
    assert quota_of([first, group(tmp_path, "a/up/in")]) == 0.5
    (tmp_path / "cpu.max").write_text("120000 100000\n")
    assert quota_of([first, second]) == 1.2


def test_limits_that_were_met_are_counted_by_group(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    (old / "memory.failcnt").write_text("7\n")
    (new / "memory.events").write_text("low 0\nhigh 1\nmax 3\noom 0\n")
    groups = [(str(old), 1), (str(new), 2), ("/nowhere", 1)]
    assert hits(groups) == {str(old): 7, str(new): 3}
    # A unit beside the server, below the same slice, met its own limit.
    (new / "memory.events.local").write_text("low 0\nhigh 0\nmax 1\noom 0\n")
    assert hits(groups) == {str(old): 7, str(new): 1}


def test_nobody_has_no_cpus():
    assert cpus([]) == 0
