"""What a server's processes used: by its control group and by its trees, against what they say."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conformance.collector import TOLD, CollectorCase, CollectorConformance
from tests.rows import each_row
from tests.telemetry.burner import BURNED_S, burners, ended, worked
from tests.telemetry.test_process_tree import TICKS_S, agree, read_beside, told

from httpdyno.host.procfs import ignores_children
from httpdyno.model import Telemetry
from httpdyno.reason import because
from httpdyno.servers import process as server_process
from httpdyno.servers.limits.control_group import make_group, parent_group, remove_group
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import new_run_root
from httpdyno.telemetry.account import (
    GroupAccount,
    MemoryTotal,
    ProcessTree,
    TreeAccount,
    Usage,
    account_found,
    account_of,
    lone_group,
)
from httpdyno.telemetry.collector import AccountCollector
from httpdyno.telemetry.profile.profiler import Profiler
from httpdyno.telemetry.watched import Watcher

has_groups = pytest.mark.skipif(parent_group() is None, reason="no control group can be made here")
FIGURES = frozenset(
    {
        "cpu_s",
        "n_processes",
        "pss_bytes",
        "uss_bytes",
        "workers",
        "zombies",
        "misses_cpu",
        "swapped_bytes",
        "major_faults",
    }
)
NOBODY = 1 << 22
"""No process has this number or a higher one."""

# Burns CPU time in ways that trees lose, or not, and says when it is done.
SERVER = f"""
import os, signal, sys, time

def burn():
    until = time.process_time() + {BURNED_S}
    while time.process_time() < until:
        pass

def unwaited():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if os.fork() == 0:
        burn()
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        pass  # it returns when the last one has ended

def detached():
    ready, go = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            burn()
            os.write(go, b"x")
            time.sleep(600)
        os._exit(0)
    os.wait()
    os.read(ready, 1)

print("done", flush=True)
for line in sys.stdin:
    {{"unwaited": unwaited, "detached": detached}}[line.strip()]()
    print("done", flush=True)
"""


@contextmanager
def grouped(name, pids):
    """A control group of some processes."""
    group = make_group(f"test-{name}-{os.getpid()}")
    assert group is not None
    for pid in pids:
        (group / "cgroup.procs").write_text(str(pid))
    try:
        yield group
    finally:
        (group / "cgroup.kill").write_text("1")
        remove_group(group)


@dataclass(frozen=True)
class Known:
    """A server that is none."""

    groups: tuple[Path, ...]
    root_pids: tuple[int, ...] = (1,)
    keeper_pids: tuple[int, ...] = ()


class Served:
    """A server of one process, as experiments start it, that does as it is told."""

    def __init__(self, process, folder):
        self._input = (folder / "input").open("w")
        self._output = (folder / "output").open()
        self.root_pids = (process.pid,)
        self.keeper_pids = (process.keeper_pid,)
        self.groups = () if process.group is None else (process.group,)

        self._is_through()

    def does(self, command):
        self._input.write(f"{command}\n")
        self._input.flush()
        self._is_through()

    def _is_through(self):
        assert self._output.readline() == "done\n"

    def close(self):
        self._input.close()
        self._output.close()


@contextmanager
def served(tmp_path):
    for name in ("input", "output"):
        subprocess.run(["mkfifo", tmp_path / name], check=True)
    (tmp_path / "server.py").write_text(SERVER)
    run = f"exec {sys.executable} -S {tmp_path}/server.py <{tmp_path}/input >{tmp_path}/output"
    with new_run_root() as root:
        place = root.new_place("own")
        process = ServerProcess.spawn(
            ["/bin/sh", "-c", run], place=place, environment={}, log=place.folder / "log"
        )
        try:
            server = Served(process, tmp_path)
            yield server
            server.close()
        finally:
            process.stop()


@pytest.fixture
def group_of_files(tmp_path):
    group = tmp_path / "group"
    (group / "inner").mkdir(parents=True)
    (group / "cpu.stat").write_text("usage_usec 1250000\nuser_usec 1000000\nsystem_usec 250000\n")
    (group / "cgroup.procs").write_text(f"{NOBODY}\n{NOBODY + 1}\n")
    (group / "inner/cgroup.procs").write_text(f"{NOBODY + 2}\n")
    return group


def test_a_groups_figures_are_those_of_its_files(group_of_files):
    account = GroupAccount([group_of_files])
    assert account.read() == Usage(cpu_s=1.25, n_processes=3)
    assert not account.misses_children()


def test_a_group_that_is_gone_keeps_its_last_figure(group_of_files):
    account = GroupAccount([group_of_files])
    account.read()
    shutil.rmtree(group_of_files)
    assert account.read() == Usage(cpu_s=1.25, n_processes=0)
    assert account.memory() is None


def test_all_groups_of_a_server_count(group_of_files, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(group_of_files, other)
    assert GroupAccount([group_of_files, other]).read() == Usage(cpu_s=2.5, n_processes=6)


def test_where_a_group_has_no_figure_the_trees_are_read(group_of_files, tmp_path):
    assert isinstance(account_of(Known(groups=(group_of_files,))), GroupAccount)
    assert isinstance(account_of(Known(groups=(group_of_files, tmp_path))), TreeAccount)
    assert isinstance(account_of(Known(groups=())), TreeAccount)


def test_a_group_that_the_kernel_did_not_move_the_server_to_is_not_its_own(
    group_of_files, tmp_path, monkeypatch
):
    monkeypatch.setattr(server_process, "make_group", lambda _name: group_of_files)
    with served(tmp_path) as server:
        assert server.groups == ()


def test_reaped_time_cut_to_ticks_never_makes_a_window_negative(monkeypatch):
    readings = [Usage(cpu_s=each, n_processes=3) for each in (1.0, 0.99)]
    monkeypatch.setattr(ProcessTree, "read", lambda _tree: readings.pop(0))
    collector = AccountCollector(TreeAccount([1]))
    collector.open()
    assert collector.close(TOLD, is_last=False).cpu_s == 0.0


def test_memory_is_read_after_the_last_window_only(group_of_files, monkeypatch):
    monkeypatch.setattr(
        "httpdyno.telemetry.account.memory_of", lambda pids: MemoryTotal(len(pids), 0, 0)
    )
    collector = AccountCollector(GroupAccount([group_of_files]))
    for is_last, expected in ((False, None), (True, 3)):
        collector.open()
        assert collector.close(Telemetry(cpu_s=0.0), is_last=is_last).pss_bytes == expected


class TestTrees(CollectorConformance):
    @pytest.fixture
    def case(self):
        with burners(2) as workers:
            yield CollectorCase(
                make=lambda: AccountCollector(TreeAccount([each.pid for each in workers])),
                fields=FIGURES,
                work=lambda: worked(workers),
                moved="cpu_s",
                end=lambda: ended(workers),
            )

    def test_a_process_that_did_nothing_in_a_starts_windows_is_no_worker(self):
        with burners(3) as workers:
            collector = AccountCollector(TreeAccount([each.pid for each in workers]))
            worked(workers)
            collector.open()
            worked(workers[:1])
            assert collector.close(TOLD, is_last=False).workers == ()
            collector.open()
            worked(workers[1:2])
            [group] = collector.close(TOLD, is_last=True).workers
            assert (group.n, group.n_idle) == (2, 1)
            # With nothing to do all of them may be workers.
            collector.open()
            [group] = collector.close(TOLD, is_last=True).workers
            assert (group.n, group.n_idle) == (3, 0)

    def test_all_trees_of_a_server_count(self):
        with burners(2) as workers:
            collector = AccountCollector(TreeAccount([each.pid for each in workers]))
            collector.open()
            worked(workers)
            seen = collector.close(TOLD, is_last=True)
            alone = ProcessTree(workers[0].pid).memory()
        assert seen.cpu_s >= 2 * BURNED_S
        assert seen.n_processes == 2
        assert seen.pss_bytes is not None
        assert alone is not None
        assert seen.pss_bytes > alone.pss_bytes > 0


@has_groups
class TestGroups(CollectorConformance):
    @pytest.fixture
    def case(self):
        with burners(2) as workers, grouped("case", [each.pid for each in workers]) as group:
            yield CollectorCase(
                make=lambda: AccountCollector(GroupAccount([group])),
                fields=FIGURES,
                work=lambda: worked(workers),
                moved="cpu_s",
                end=lambda: ended(workers),
            )


@has_groups
@pytest.mark.parametrize(
    "commands", [["burn 0.1"], ["thread 0.1"], ["child 0.1"], ["zombie 0.1", "reap 1"]]
)
def test_what_a_group_counts_is_what_its_processes_say(commands):
    with told() as root, grouped("exact", [root.pid]) as group:
        account = GroupAccount([group])
        before = read_beside(root, account)
        for command in commands:
            root.does(command)
        after = read_beside(root, account)
        # To end, or to fall asleep, costs a child something that it does not say.
        within_s = 0.001 if len(commands) == 1 and "child" not in commands[0] else TICKS_S
        assert agree(before, after, within_s=within_s) >= 0.1


@has_groups
@pytest.mark.parametrize("way", ["unwaited", "detached"])
def test_a_servers_group_has_what_its_tree_loses(tmp_path, way):
    with served(tmp_path) as server:
        account = account_of(server)
        assert isinstance(account, GroupAccount)
        assert account.groups() == server.groups == TreeAccount(server.root_pids).groups()
        before = account.read()
        server.does(way)
        after = account.read()
        assert after.cpu_s - before.cpu_s >= BURNED_S
        assert after.n_processes == (2 if way == "detached" else 1)
        assert not account.misses_children()


def test_without_a_group_the_keeper_has_what_left_the_tree(tmp_path, monkeypatch):
    monkeypatch.setattr(server_process, "make_group", lambda _name: None)
    with served(tmp_path) as server:
        account = account_of(server)
        assert isinstance(account, TreeAccount)
        before, alone = account.read(), account.memory()
        server.does("detached")
        after, both = account.read(), account.memory()
        assert after.cpu_s - before.cpu_s >= BURNED_S
        assert (before.n_processes, after.n_processes) == (1, 2)
        assert alone is not None
        assert both is not None
        assert both.pss_bytes > alone.pss_bytes


def test_without_a_group_it_is_told_that_children_are_missed(tmp_path, monkeypatch):
    monkeypatch.setattr(server_process, "make_group", lambda _name: None)
    with served(tmp_path) as server:
        account = account_of(server)
        collector = AccountCollector(account)
        collector.open()
        assert not collector.close(TOLD, is_last=True).misses_cpu
        server.does("unwaited")
        assert not collector.close(TOLD, is_last=False).misses_cpu, "this is slow to read"
        seen = collector.close(TOLD, is_last=True)
        assert seen.misses_cpu
        assert seen.cpu_s < BURNED_S / 2, "it is not missed any more: nothing is to be told"


@pytest.mark.parametrize("has_group", [pytest.param(True, marks=has_groups), False])
def test_a_look_takes_the_same_account(tmp_path, monkeypatch, has_group):
    if not has_group:
        monkeypatch.setattr(server_process, "make_group", lambda _name: None)
    with served(tmp_path) as server:
        onlooker = Profiler(server.root_pids, account=account_of(server))
        onlooker.start()
        server.does("unwaited")
        seen = onlooker.stop()
    is_told = because("telemetry.missed_cpu") in seen.hidden
    assert (seen.cpu_s >= BURNED_S, is_told) == (has_group, not has_group)


@each_row(
    ("ignored", "expected"),
    [({signal.SIGCHLD}, True), ({signal.SIGPIPE, signal.SIGHUP}, False), (set(), False)],
)
def test_who_ignores_children_is_known_by_its_status(ignored, expected):
    mask = sum(1 << (number - 1) for number in ignored)
    text = f"Name:\tx\nSigBlk:\t{0:016x}\nSigIgn:\t{mask:016x}\nSigCgt:\t{1 << 16:016x}\n"
    assert ignores_children(text.encode()) == expected
    assert not ignores_children(b"")


@has_groups
def test_a_server_that_ran_before_has_a_group_where_it_is_alone_in_it():
    with burners(2) as (server, other), grouped("found", [server.pid]) as group:
        assert lone_group(server.pid) == group
        assert isinstance(account_found([server.pid]), GroupAccount)
        assert isinstance(account_found([server.pid, other.pid]), TreeAccount)
        look = Watcher(server.pid, ()).look()
        assert look is not None
        assert look.group_cpu_s is not None
        (group / "cgroup.procs").write_text(str(other.pid))
        assert lone_group(server.pid) is None


def test_nobody_is_alone_in_the_group_of_this_process():
    with burners(1) as (server,):
        assert lone_group(server.pid) is None
