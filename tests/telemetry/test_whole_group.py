"""Control groups that are watched as a whole, on processes that no parent holds together."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from tests.telemetry.burner import BURNED_S, burners, worked
from tests.telemetry.test_account import grouped, has_groups

from httpdyno.telemetry.account import WholeGroup, folders_of_path, whole_group
from httpdyno.telemetry.watched import Watcher, first_look, next_look

V1 = "30 25 0:26 / /sys/fs/cgroup/{0} rw - cgroup cgroup rw,{1}"
V2 = "31 25 0:27 {0} /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
HYBRID = "\n".join([V1.format("memory", "memory"), V1.format("systemd", "name=systemd")])
LETS_GO = """
import os, sys, time
sys.stdin.readline()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(600)
    os._exit(0)
os.wait()
print("alone", flush=True)
sys.stdin.read()
"""
"""A server that begins a daemon and lets it go, when it is told to."""


@contextmanager
def letting_go():
    """Give a server that lets a daemon go when told; whoever has both in a group ends that one."""
    command = [sys.executable, "-I", "-S", "-c", LETS_GO]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def let_go(process):
    """Return the pid of the daemon."""
    process.stdin.write("\n")
    process.stdin.flush()
    words = {process.stdout.readline().strip(), process.stdout.readline().strip()}
    [pid] = words - {"alone"}
    return int(pid)


def test_a_path_is_a_folder_of_each_hierarchy_that_has_it_that_of_version_2_first():
    groups = "4:memory:/docker/box/a\n1:name=systemd:/docker/box\n0::/docker/box/a/b\n"
    assert folders_of_path("/docker/box", f"{HYBRID}\n{V2.format('/')}", groups) == [
        "/sys/fs/cgroup/unified/docker/box",
        "/sys/fs/cgroup/memory/docker/box",
        "/sys/fs/cgroup/systemd/docker/box",
    ]
    assert folders_of_path("/docker/bo", HYBRID, groups) == []
    # A container sees a part of the tree, as if that was all of it.
    assert folders_of_path("/docker/box", V2.format("/docker"), groups) == [
        "/sys/fs/cgroup/unified/box"
    ]


@has_groups
def test_a_daemon_that_was_let_go_is_watched_with_its_group_and_without_it_is_not():
    with letting_go() as server, grouped("whole", [server.pid]) as group:
        agent = let_go(server)
        alone = Watcher(server.pid, ()).look()
        assert alone is not None
        assert [each.pid for each in alone.sample.workers] == [server.pid]
        assert alone.group_cpu_s is None, "the group is not of the tree alone"
        whole = WholeGroup(group)
        look = Watcher(server.pid, (), whole=whole).look()
        assert look is not None
        assert [each.pid for each in look.sample.workers] == [server.pid, agent]
        assert [each.pid for each in look.pool.detached] == [agent]
        assert look.pool.n_workers == 1
        assert (look.pool.uss_bytes or 0) > (alone.pool.uss_bytes or 0)
        assert look.group_cpu_s is not None


@has_groups
def test_several_roots_of_a_group_are_one_sum():
    with burners(2) as (one, other), grouped("roots", [one.pid, other.pid]) as group:
        lines = Path(f"/proc/{one.pid}/cgroup").read_text().splitlines()
        path = next(line[3:] for line in lines if line.startswith("0::"))
        whole = whole_group(path, [one.pid, other.pid])
        assert whole.folder == group
        watcher = Watcher(one.pid, (), whole=whole)
        first = watcher.look()
        assert first is not None
        assert first.pool.workers_of == {one.pid: 0, other.pid: 0}
        worked([one, other])
        second = watcher.look()
        assert second is not None
        seen = next_look(first_look(first), second)
        assert seen.change is not None
        assert seen.cpu_ratio is not None
        assert seen.cpu_ratio * seen.change.elapsed_s >= 2 * BURNED_S


@has_groups
def test_a_group_that_was_removed_and_made_anew_is_another():
    with grouped("again", []) as group:
        whole = WholeGroup(group)
        group.rmdir()
        group.mkdir()
        assert whole.cpu_s() is None
        assert WholeGroup(group).cpu_s() is not None


def test_what_the_kernel_shows_nowhere_has_its_roots_and_no_members():
    whole = whole_group("/no/such/group", [os.getpid()])
    assert (whole.folder, whole.pids(), whole.cpu_s()) == (None, (), None)
    assert whole.root_pids == (os.getpid(),)


def test_a_group_that_is_gone_has_nobody(tmp_path):
    whole = WholeGroup(tmp_path / "gone")
    assert (whole.pids(), whole.cpu_s()) == ((), None)
