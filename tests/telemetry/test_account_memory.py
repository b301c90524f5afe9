"""Major faults and memory of a server's processes, by what /proc says of two of them."""

import pytest
from tests.conformance.collector import TOLD

from httpdyno.host import procfs
from httpdyno.telemetry import account as accounts
from httpdyno.telemetry import processes as table
from httpdyno.telemetry import worker
from httpdyno.telemetry.account import GroupAccount, TreeAccount, Usage
from httpdyno.telemetry.collector import AccountCollector


@pytest.fixture
def processes(monkeypatch):
    """Return processes' files by number, to be changed as time goes on: 8 is 7's child."""
    files = {(7, "stat"): stat(1), (8, "stat"): stat(7)}
    for pid, pss, swapped in ((7, 20, 8), (8, 30, 2)):
        text = f"55-7f ---p 0 00:00 0 [rollup]\nRss: 90 kB\nPss: {pss} kB\nSwap: 9 kB\n"
        shared = "Shared_Clean: 80 kB\nShared_Dirty: 6 kB\nPrivate_Clean: 0 kB\n"
        files[pid, "smaps_rollup"] = f"{text}{shared}SwapPss: {swapped} kB\nPrivate_Dirty: 4 kB\n"

    def content(path):
        _, _, pid, *name = path.decode().split("/")
        return files.get((int(pid), "/".join(name)), "").encode()

    def children(pid, **_known):
        return [8] if pid == 7 and (8, "stat") in files else []

    # A group's files are there, in a folder of the test.
    real = procfs.readable

    def readable(path):
        if not path.startswith(b"/proc/"):
            return real(path)
        if (found := content(path)) == b"hidden":
            raise PermissionError(path)
        if not found:
            raise FileNotFoundError(path)
        return found

    for module in (procfs, table, worker):
        monkeypatch.setattr(module, "readable", readable)
    monkeypatch.setattr(table, "children_now", lambda: children)
    monkeypatch.setattr(accounts, "_own_cpu_s", lambda _pid: 1.0)
    return files


def stat(parent, *, faults=0, reaped=0):
    """Return such a file of a process with one thread."""
    return f"1 (a (b) c) S {parent} 1 1 0 -1 0 5 6 {faults} {reaped} 0 0 0 0 20 0 1 0 99 0 0"


@pytest.fixture(params=["group", "trees"])
def account(request, tmp_path):
    """Return an account of processes 7 and 8."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "cgroup.procs").write_text("7\n")
    (tmp_path / "inner/cgroup.procs").write_text("8\n")
    return GroupAccount([tmp_path]) if request.param == "group" else TreeAccount([7])


def test_faults_and_what_is_in_swap_are_those_of_the_processes_that_count(processes, account):
    processes[7, "stat"] = stat(1, faults=40, reaped=3)
    collector = AccountCollector(account)
    collector.open()
    processes[7, "stat"] = stat(1, faults=42, reaped=4)
    processes[8, "stat"] = stat(7, faults=9)
    seen = collector.close(TOLD, is_last=True)
    assert (seen.major_faults, seen.pss_bytes, seen.swapped_bytes) == (12, 50 << 10, 10 << 10)
    # 7 has 8 below it, and so is none of the workers.
    [group] = seen.workers
    assert (group.program, group.n, group.largest_uss_bytes) == ("a (b) c", 1, 4 << 10)
    collector.open()
    # A process that no other one of the server reaped takes its faults along.
    del processes[8, "stat"]
    between = collector.close(TOLD, is_last=False)
    assert (between.major_faults, between.workers) == (0, ())


def test_of_a_keeper_only_the_faults_of_those_that_it_reaped_count(processes):
    account = TreeAccount([8], [7])
    processes[7, "stat"] = stat(1, faults=40, reaped=3)
    processes[8, "stat"] = stat(7, faults=9)
    assert account.read() == Usage(cpu_s=1.0, n_processes=1, major_faults=12)


def test_where_one_of_them_may_not_be_looked_at_no_sum_is_told(processes, account):
    # As other users' workers are to a root that may trace nobody, in many containers.
    processes[8, "smaps_rollup"] = "hidden"
    assert account.memory() is None
