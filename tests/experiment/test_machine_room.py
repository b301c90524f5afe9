"""What a process may have: of a machine, and of the control groups that it is in."""

import math

import pytest

from httpdyno.experiment.trial.memory import group_room, machine_room

MIB = 1 << 20
V2 = "30 24 0:26 {top} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
V1 = """\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
35 31 0:33 {top} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
38 31 0:34 {top} /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
39 31 0:36 {top} /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids"""


def _machine(root, mounts, own, files):
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(mounts + "\n", encoding="ascii")
    (root / "proc/self/cgroup").write_text(own + "\n", encoding="ascii")
    for name, content in files.items():
        file = root / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n", encoding="ascii")
    return group_room(root)


def test_this_machine_has_room():
    room = machine_room()
    assert room.memory_bytes > MIB
    assert room.n_processes > 1
    assert room.n_descriptors > 1


def test_a_machine_without_groups_limits_nothing(tmp_path):
    assert group_room(tmp_path) == (math.inf, math.inf)


def test_each_group_from_its_own_to_the_top_limits(tmp_path):
    files = {
        "memory.stat": "inactive_file 1",
        "a.slice/memory.max": 900 * MIB,
        "a.slice/memory.current": 700 * MIB,
        "a.slice/memory.stat": f"anon 5\ninactive_file {50 * MIB}",
        "a.slice/b.service/memory.max": "max",
        "a.slice/b.service/memory.current": 600 * MIB,
        "a.slice/b.service/pids.max": 100,
        "a.slice/b.service/pids.current": 30,
    }
    seen = _machine(tmp_path, V2.format(top="/"), "0::/a.slice/b.service", files)
    assert seen == (250 * MIB, 70)


@pytest.mark.parametrize(
    ("top", "own"),
    [("/", "/"), ("/docker/1f", "/docker/1f"), ("/", "/docker/1f"), ("/../..", "/../../x")],
)
def test_a_container_has_its_groups_at_the_top(tmp_path, top, own):
    """It may see its own path, the one on its host, or one that leads out of what it has."""
    files = {"memory.max": 64 * MIB, "memory.current": 60 * MIB, "pids.max": "max"}
    assert _machine(tmp_path, V2.format(top=top), f"0::{own}", files) == (4 * MIB, math.inf)


def test_version_1_has_a_tree_for_each_controller(tmp_path):
    own = "9:name=systemd:/x\n8:pids:/jobs\n4:memory:/jobs/one\n1:cpu:/jobs\n0::/"
    files = {
        "memory/memory.limit_in_bytes": 9223372036854771712,
        "memory/memory.usage_in_bytes": 5,
        "memory/jobs/one/memory.limit_in_bytes": 100 * MIB,
        "memory/jobs/one/memory.usage_in_bytes": 80 * MIB,
        "memory/jobs/one/memory.stat": f"inactive_file 1\ntotal_inactive_file {8 * MIB}",
        "pids/jobs/pids.max": 12,
        "pids/jobs/pids.current": 12,
    }
    assert _machine(tmp_path, V1.format(top="/"), own, files) == (28 * MIB, 0)


def test_a_group_that_is_over_its_limit_has_nothing_left(tmp_path):
    files = {"memory.max": 4096, "memory.current": 8192}
    assert _machine(tmp_path, V2.format(top="/"), "0::/", files) == (0, math.inf)
