"""Limits around a server: made, in force before it runs, hit, and gone with it."""

import os
import shutil
import sys
import time

import pytest
from tests.says import says

from httpdyno.errors import AdapterError
from httpdyno.model import ServerLimits
from httpdyno.reason import Reason, because
from httpdyno.report.shared.message import text as sentence
from httpdyno.servers.limits import limit_group
from httpdyno.servers.limits.control_group import Parent, groups_of, limit_parents
from httpdyno.servers.limits.limit_group import (
    LimitGroup,
    LimitGroups,
    limit_hit,
    limit_values,
    limits_by,
    limits_complaint,
    make_limit_groups,
)
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run.record import read_record

DEADLINE_S = 20.0
MEMORY = limit_values(ServerLimits(memory="32MiB"))
CPU = limit_values(ServerLimits(cpu="0.2", cpu_period_s=0.02))


def needs(controller):
    why = limit_parents(frozenset({controller}))
    return pytest.mark.skipif(isinstance(why, Reason), reason=str(why))


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Have groups be folders, in which one finds what was written."""

    def parents(version):
        found = {name: Parent(folder=tmp_path, version=version) for name in ("memory", "cpu")}
        monkeypatch.setattr(
            limit_group, "limit_parents", lambda wanted: {name: found[name] for name in wanted}
        )
        return tmp_path / "httpdyno-x"

    return parents


@pytest.mark.parametrize(
    ("version", "files"),
    [
        (1, {"memory.limit_in_bytes": "33554432", "memory.swappiness": "0"}),
        (1, {"memory.limit_in_bytes": "33554432", "memory.memsw.limit_in_bytes": "35651584"}),
        (2, {"memory.max": "33554432", "memory.swap.max": "0"}),
        (1, {"cpu.cfs_quota_us": "4000", "cpu.cfs_period_us": "20000"}),
        (2, {"cpu.max": "4000 20000"}),
    ],
)
def test_what_is_written_is_what_the_kernel_takes_and_swap_is_kept_out(
    kernel, monkeypatch, version, files
):
    group = kernel(version)
    # A group comes with its files.
    mkdir = type(group).mkdir

    def with_files(folder, *more, **named):
        mkdir(folder, *more, **named)
        for name in files:
            (folder / name).write_text("unlimited")

    monkeypatch.setattr(type(group), "mkdir", with_files)
    limits = CPU if any("cpu" in name for name in files) else MEMORY
    made = make_limit_groups("x", limits)
    assert {name: (group / name).read_text() for name in files} == files
    assert made.values == limits
    assert made.folders == (group,)
    assert made.whole == (group if version == 2 else None)


@needs("memory")
def test_without_a_limit_it_is_in_such_a_group_all_the_same():
    limits = limit_values(ServerLimits(memory="none"))
    with new_run_root() as root:
        process = spawned(root.new_place("x"), "import time; time.sleep(600)", limits)
        assert process.limits is not None
        assert process.limits.values == limits
        [folder] = process.limits.folders
        assert (folder / "cgroup.procs").read_text().split() == [str(process.pid)]
        assert folder in read_record(root.folder).groups
        process.stop()


def test_a_kernel_that_takes_another_limit_is_not_measured_with(kernel, monkeypatch):
    group = kernel(2)
    monkeypatch.setattr(limit_group, "remove_group", shutil.rmtree)
    monkeypatch.setattr(
        limit_group, "_write", lambda g, name, _: (g.folder / name).write_text("max")
    )
    with pytest.raises(AdapterError, check=says("of memory where no limit is in force")):
        make_limit_groups("x", MEMORY)
    assert not group.exists()


def test_where_limits_cannot_be_set_nothing_is_run(monkeypatch):
    none = because("limits.nobody_hands_on", names=["cpu"])
    monkeypatch.setattr(limit_group, "limit_parents", lambda _: none)
    assert limits_complaint([ServerLimits()]) is None
    cannot = because("limits.cannot_be_set", why=none)
    assert limits_complaint([ServerLimits(cpu="1")]) == cannot
    assert limits_by([ServerLimits(cpu="1")]) == {}
    with new_run_root() as root:
        place = root.new_place("x")
        with pytest.raises(
            AdapterError, check=says("limits cannot be set: no control group above")
        ):
            spawned(place, "import pathlib; pathlib.Path('was-run').touch()", MEMORY)
        assert not (place.folder / "was-run").exists()


@pytest.mark.parametrize(
    ("version", "text", "words"),
    [
        (1, "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", ""),
        (1, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "the kernel killed a process of it"),
        (2, "low 0\nhigh 0\nmax 4711\noom 0\noom_kill 0\n", ""),
        # By the machine's lack of memory, or that of a group above.
        (2, "low 0\nhigh 0\nmax 4711\noom 0\noom_kill 1\n", ""),
        (2, "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\n", "the kernel killed 2 processes of it"),
        (2, "low 0\nhigh 0\nmax 9\noom 3\noom_kill 0\n", "the kernel had no more for it"),
        (2, None, ""),
    ],
)
def test_files_that_fill_it_are_no_hit_and_a_killed_process_is_one(tmp_path, version, text, words):
    if text is not None:
        name = "memory.oom_control" if version == 1 else "memory.events"
        (tmp_path / name).write_text(text)
        (tmp_path / "memory.max_usage_in_bytes").write_text("33554432\n")
        (tmp_path / "memory.limit_in_bytes").write_text("33554432\n")
    group = LimitGroup(folder=tmp_path, version=version)
    found = limit_hit(LimitGroups(values=MEMORY, memory=group))
    said = "" if found is None else sentence(found)
    assert said == (words and f"it ran into its memory limit of 32.0 MiB: {words}")
    assert limit_hit(LimitGroups(values=CPU, cpu=group)) is limit_hit(None) is None


def test_who_was_killed_by_the_machines_lack_of_memory_did_not_run_into_its_limit(tmp_path):
    (tmp_path / "memory.oom_control").write_text("under_oom 0\noom_kill 1\n")
    (tmp_path / "memory.limit_in_bytes").write_text("33554432\n")
    (tmp_path / "memory.max_usage_in_bytes").write_text("30000000\n")
    groups = LimitGroups(values=MEMORY, memory=LimitGroup(folder=tmp_path, version=1))
    assert limit_hit(groups) is None
    (tmp_path / "memory.max_usage_in_bytes").write_text("33550336\n")
    assert limit_hit(groups) == because("servers.memory_limit_killed", limit_bytes=32 << 20)


def spawned(place, code, limits):
    return ServerProcess.spawn(
        [sys.executable, "-I", "-S", "-c", code],
        place=place,
        environment={"PATH": os.defpath},
        log=place.folder / "log",
        limits=limits,
    )


# Its child leaves the session and does the same: nothing that comes from it escapes.
GREEDY = """
import os
import shutil
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        held = bytearray(1 << 30)
        held[::4096] = b"x" * len(held[::4096])
        print("not limited")
    os._exit(0)
os.wait()
held = bytearray(1 << 30)
held[::4096] = b"x" * len(held[::4096])
print("not limited")
"""


@needs("memory")
def test_who_needs_more_memory_is_killed_alone_and_it_is_known_why():
    with new_run_root() as root:
        place = root.new_place("x")
        process, beside = spawned(place, GREEDY, MEMORY), spawned(root.new_place("y"), "", MEMORY)
        limits = process.limits
        assert limits is not None
        assert limits.values == MEMORY
        assert process.wait(DEADLINE_S)
        assert process.exit_code == -9
        hit = limit_hit(limits)
        assert hit is not None
        assert hit.params["limit_bytes"] == 32 << 20
        assert limit_hit(beside.limits) is None
        assert process.last_words() == ""
        process.stop()
        beside.stop()
        assert groups_of(root.folder.name) == []


# Pages of a file that it has are taken back from it, again and again.
READING = """
import os
with open("data", "wb") as file:
    for _ in range(64):
        file.write(bytes(1 << 20))
    os.fsync(file.fileno())
"""


@needs("memory")
def test_that_it_met_its_limit_is_counted_where_files_were_taken_back():
    limits = limit_values(ServerLimits(memory="16MiB"))
    with new_run_root() as root:
        process = spawned(root.new_place("x"), READING, limits)
        assert process.limits is not None
        assert process.wait(DEADLINE_S)
        memory = process.limits.memory
        assert memory is not None
        name, key = ("memory.failcnt", "") if memory.version == 1 else ("memory.events", "max ")
        lines = (memory.folder / name).read_text().splitlines()
        [n] = [line.removeprefix(key) for line in lines if line.startswith(key)]
        assert int(n) > 0
        assert limit_hit(process.limits) is None
        process.stop()


SPINNING = "print('up', flush=True)\nwhile True: pass"


@needs("cpu")
def test_who_has_used_up_its_cpu_time_stands_still():
    with new_run_root() as root:
        process = spawned(root.new_place("x"), SPINNING, CPU)
        limits = process.limits
        assert limits is not None
        assert limits.cpu is not None
        deadline_s = time.monotonic() + DEADLINE_S
        counts: dict[str, str] = {}
        while int(counts.get("nr_throttled", 0)) < 3:
            assert time.monotonic() < deadline_s, counts
            time.sleep(0.02)
            text = (limits.cpu.folder / "cpu.stat").read_text()
            counts = dict(line.split() for line in text.splitlines())
        process.stop()
        assert not any(folder.exists() for folder in limits.folders)


@needs("memory")
def test_a_group_that_cannot_be_entered_lets_nothing_be_run(monkeypatch):
    with new_run_root() as root:
        place = root.new_place("x")
        made = make_limit_groups("gone", MEMORY)
        for folder in made.folders:
            folder.rmdir()
        monkeypatch.setattr("httpdyno.servers.process.make_limit_groups", lambda *_: made)
        with pytest.raises(AdapterError, match="cannot go into"):
            spawned(place, "import pathlib; pathlib.Path('was-run').touch()", MEMORY)
        assert not (place.folder / "was-run").exists()
