import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.servers.left import left_by

from httpdyno.reason import Reason
from httpdyno.report.shared.message import text
from httpdyno.servers.limits import control_group
from httpdyno.servers.limits.control_group import (
    CONTROLLERS,
    Parent,
    end_group,
    is_group_of,
    limit_parents,
    make_group,
    parent_group,
    remove_group,
    usable_limit_parents,
    usable_parent,
)
from httpdyno.servers.run.leftovers import reap_leftovers

DEADLINE_S = 10.0


def mounts(folder, root="/"):
    return (
        f"24 1 0:22 / /proc rw - proc proc rw\n"
        f"30 1 0:26 {root} {folder} rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
    )


def test_groups_are_made_in_our_own_group(tmp_path):
    (tmp_path / "user").mkdir()
    (tmp_path / "user/cgroup.subtree_control").write_text("\n")
    found = usable_parent(mounts(tmp_path), "3:cpuset:/\n0::/user\n")
    assert found == tmp_path / "user"


def test_a_mount_of_a_part_of_the_tree_is_understood(tmp_path):
    (tmp_path / "user").mkdir()
    assert usable_parent(mounts(tmp_path, "/slice"), "0::/slice/user\n") == tmp_path / "user"
    assert usable_parent(mounts(tmp_path, "/other"), "0::/slice/user\n") is None


def test_where_a_group_would_get_a_share_of_its_own_none_is_made(tmp_path):
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    assert usable_parent(mounts(tmp_path), "0::/\n") is None


@pytest.mark.parametrize("own", ["", "3:cpuset:/\n"])
def test_without_the_second_version_there_is_none(tmp_path, own):
    assert usable_parent(mounts(tmp_path), own) is None
    assert usable_parent("", "0::/\n") is None


OWN_V1 = "4:memory:/box\n1:cpu,cpuacct:/\n0::/\n"


def mounts_v1(folder):
    return (
        f"31 1 0:27 / {folder}/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        f"32 1 0:28 / {folder}/memory rw - cgroup cgroup rw,memory\n"
        f"33 1 0:29 / {folder}/unified rw - cgroup2 cgroup2 rw\n"
    )


def test_in_version_1_limits_are_set_in_this_process_own_groups(tmp_path):
    for name in ("cpu", "memory/box"):
        (tmp_path / name).mkdir(parents=True)
    found = usable_limit_parents(mounts_v1(tmp_path), OWN_V1, CONTROLLERS)
    assert found == {
        "memory": Parent(folder=tmp_path / "memory/box", version=1),
        "cpu": Parent(folder=tmp_path / "cpu", version=1),
    }


def test_a_group_that_is_not_there_or_not_ours_is_said(tmp_path):
    (tmp_path / "cpu").mkdir()
    found = usable_limit_parents(mounts_v1(tmp_path), OWN_V1, ["memory"])
    assert isinstance(found, Reason)
    assert text(found) == f"no group for memory may be made in `{tmp_path}/memory/box`"


def hands_on(folder, controllers):
    folder.mkdir(exist_ok=True)
    (folder / "cgroup.subtree_control").write_text(f"{controllers}\n")
    (folder / "cgroup.procs").write_text("")


def test_in_version_2_it_is_the_nearest_that_hands_all_of_them_on(tmp_path):
    hands_on(tmp_path, "cpu io memory")
    hands_on(tmp_path / "user", "memory pids")
    hands_on(tmp_path / "user/session", "")
    own = "0::/user/session\n"
    found = usable_limit_parents(mounts(tmp_path), own, ["memory"])
    assert found == {"memory": Parent(folder=tmp_path / "user", version=2)}
    both = Parent(folder=tmp_path, version=2)
    assert usable_limit_parents(mounts(tmp_path), own, CONTROLLERS) == {
        "memory": both,
        "cpu": both,
    }


def test_where_none_hands_them_on_that_is_said(tmp_path):
    hands_on(tmp_path, "pids")
    found = usable_limit_parents(mounts(tmp_path), "0::/\n", CONTROLLERS)
    assert isinstance(found, Reason)
    words = "no control group above httpdyno's hands cpu and memory on to groups in it"
    assert text(found) == words
    assert isinstance(usable_limit_parents("", "", ["cpu"]), Reason)
    assert usable_limit_parents("", "", []) == {}


def test_without_a_parent_no_group_is_made(monkeypatch):
    monkeypatch.setattr(control_group, "parent_group", lambda: None)
    assert make_group("x") is None


@pytest.mark.skipif(parent_group() is None, reason="no control group can be made here")
def test_a_group_is_ended_whole_and_removed():
    group = make_group(f"test-{os.getpid()}")
    assert group is not None
    assert is_group_of(group, "test")
    assert not is_group_of(group, "tes")
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        (group / "cgroup.procs").write_text(str(process.pid))
        end_group(group)
        assert process.wait(DEADLINE_S) == -9
    remove_group(group)
    assert not group.exists()
    end_group(group)  # gone: nothing to do


FORKED = """
import os, sys
from httpdyno.servers.becoming import forked_into
may_end, ends = os.pipe()
pid, is_in_group = forked_into(sys.argv[1])
if pid == 0:
    os.close(ends)
    os.read(may_end, 1)
    os._exit(7 if os.getpid() != os.getppid() and is_in_group == (sys.argv[2] == "in") else 8)
procs = f"{sys.argv[1]}/cgroup.procs"
held = open(procs).read().split() if os.path.exists(procs) else []
os.close(ends)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(status, is_in_group == (str(pid) in held))
"""


def forked(group, which):
    words = [sys.executable, "-c", FORKED, str(group), which]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("folder", ["none", ""])
def test_a_child_is_made_where_there_is_no_group(tmp_path, folder):
    assert forked(tmp_path / folder, "out") == ["7", "True"]


@pytest.mark.skipif(parent_group() is None, reason="no control group can be made here")
def test_a_child_is_made_in_its_group():
    group = make_group(f"test-fork-{os.getpid()}")
    assert group is not None
    try:
        assert forked(group, "in") == ["7", "True"]
    finally:
        remove_group(group)


@pytest.mark.skipif(parent_group() is None, reason="no control group can be made here")
def test_a_group_that_no_record_had_yet_goes_with_its_dead_owner():
    name = f"run-1-{os.getpid()}-abc"
    dead = left_by(name=name)
    unrecorded, of_another = make_group(f"{name}-0001-x-server.log"), make_group(f"{name}d-0001")
    assert unrecorded is not None
    assert of_another is not None
    try:
        reap_leftovers()
        assert not dead.exists()
        assert not unrecorded.exists()
        assert of_another.exists()
    finally:
        remove_group(unrecorded)
        remove_group(of_another)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_group_that_another_session_made_elsewhere_goes_with_its_dead_owner(controller):
    parents = limit_parents(frozenset({controller}))
    if isinstance(parents, Reason):
        pytest.skip(text(parents))
    # As a process has it whose own group is another one than this one's.
    theirs = parents[controller].folder / f"session-{os.getpid()}"
    name = f"run-1-{os.getpid()}-abd"
    own, of_another = (theirs / f"httpdyno-{each}-0001-x-log" for each in (name, f"{name}d"))
    try:
        for folder in (theirs, own, of_another):
            folder.mkdir()
        dead = left_by({"groups": [str(own), str(of_another), str(theirs)]}, name=name)
        reap_leftovers()
        assert not dead.exists()
        assert not own.exists()
        assert of_another.exists()
    finally:
        remove_group(theirs)


def test_a_folder_elsewhere_is_none_of_our_groups(tmp_path):
    assert not is_group_of(tmp_path / "httpdyno-x-0001", "x")
    assert not is_group_of(Path("/sys/fs/cgroup/../../../httpdyno-x-0001"), "x")
