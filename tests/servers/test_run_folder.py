import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from httpdyno.errors import AdapterError
from httpdyno.servers import root_folder, run_folder
from httpdyno.servers.adapter import Place
from httpdyno.servers.control_group import parent_group
from httpdyno.servers.root_folder import disk_root, memory_root_or
from httpdyno.servers.run_folder import claim, reap_leftovers, remove_place
from httpdyno.servers.session import child_pids, process_info

DEADLINE_S = 10
OWNER = """
import sys
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run_folder import claim
root = claim()
processes = []
for label in sys.argv[1:]:
    place = root.new_place(label)
    (place.memory_folder / "state").write_text("x")
    log = place.folder / "log"
    processes += [
        ServerProcess.spawn(["/bin/sleep", "600"], place=place, environment={}, log=log)
    ]
    print(processes[-1].pid)
print(root.folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def owner():
    """A process that claimed a run folder and started two servers."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, "one", "two"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()
    reap_leftovers()


def facts(owner):
    one, two, folder = (owner.stdout.readline().strip() for _ in range(3))
    return [int(one), int(two)], Path(folder)


def mentions(words):
    """Reap; return whether that says something of these words. Others' leftovers are no matter."""
    return any(words in sentence for sentence in reap_leftovers())


def test_places_are_new_private_and_on_disk_and_in_memory():
    with claim() as root:
        one, other = root.new_place("a b/c"), root.new_place("a b/c")
        assert one != other
        assert "a-b-c" in one.folder.name
        assert one.folder.parent == root.folder
        for folder in (one.folder, one.memory_folder):
            assert folder.stat().st_mode & 0o777 == 0o700
        for folder in (root.folder, root.memory_folder):
            assert folder.stat().st_mode & 0o777 == 0o755


def test_releasing_removes_everything_and_can_be_repeated():
    root = claim()
    place = root.new_place("x")
    (place.folder / "file").write_text("x")
    root.release()
    root.release()
    assert not root.folder.exists()
    assert not root.memory_folder.exists()


def test_a_place_can_be_removed_by_itself_and_again():
    with claim() as root:
        place = root.new_place("x")
        (place.memory_folder / "file").write_text("x")
        remove_place(place)
        remove_place(place)
        assert not place.folder.exists()
        assert not place.memory_folder.exists()


def test_releasing_ends_what_still_runs():
    with claim() as root:
        place = root.new_place("x")
        with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as process:
            run_folder.record_session(place, process.pid)
            root.release()
            assert process.wait(DEADLINE_S) == -signal.SIGTERM


def test_a_living_owners_folder_is_left_alone(owner):
    pids, folder = facts(owner)
    assert not mentions(folder.name)
    assert folder.exists()
    assert all(process_info(pid) for pid in pids)


def test_a_dead_owners_servers_are_ended_and_its_folders_removed(owner):
    pids, folder = facts(owner)
    memory = json.loads((folder / "owner.jsonl").read_text().splitlines()[0])["memory_folder"]
    for pid in (*pids, *child_pids(owner.pid)):
        os.kill(pid, signal.SIGSTOP)  # so that they cannot end by themselves, nor by their keepers
    owner.kill()
    owner.wait(DEADLINE_S)
    done = reap_leftovers()
    assert done[0] == f"ended 2 server processes that httpdyno process {owner.pid} had left running"
    assert str(folder) in done[1]
    assert all(process_info(pid) is None for pid in pids)
    assert not folder.exists()
    assert not Path(memory).exists()
    assert not mentions(folder.name)


def test_a_process_that_only_has_the_number_of_a_recorded_one_is_not_touched():
    root = claim()
    with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as bystander:
        entry = {"leader": bystander.pid, "started_ticks": 1}
        with (root.folder / "owner.jsonl").open("a") as record:
            record.write(json.dumps(entry) + "\n")
        root.release()
        assert bystander.poll() is None
        bystander.kill()


def test_a_folder_in_memory_whose_record_is_gone_is_removed_once_nobody_owns_it(
    owner, own_folders, monkeypatch
):
    _, folder = facts(owner)
    record = json.loads((folder / "owner.jsonl").read_text().splitlines()[0])
    memory = Path(record["memory_folder"])
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(own_folders / "another"))
    assert not mentions(folder.name)
    assert memory.exists()
    owner.kill()
    owner.wait(DEADLINE_S)
    assert mentions(f"removed `{memory}`, which no httpdyno owns")
    assert not memory.exists()
    monkeypatch.undo()


def test_where_nothing_was_left_nothing_is_made_and_nobody_is_waited_for(own_folders, monkeypatch):
    monkeypatch.setattr(root_folder, "_MEMORY", own_folders / "memory")
    assert reap_leftovers() == []
    assert not (own_folders / "run").exists()
    with claim() as root, run_folder._locked(root.folder.parent):
        monkeypatch.setattr(run_folder, "_LOCK_PATIENCE_S", 0.0)
        assert reap_leftovers() == []


def test_after_a_reboot_recorded_numbers_mean_nothing():
    dead = disk_root() / "run-1-1-abc"
    dead.mkdir()
    with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as bystander:
        info = process_info(bystander.pid)
        assert info is not None
        session = {"leader": info.pid, "started_ticks": info.started_ticks}
        lines = [{"pid": 1, "boot": "another"}, session]
        (dead / "owner.jsonl").write_text("\n".join(map(json.dumps, lines)))
        reap_leftovers()
        assert bystander.poll() is None
        bystander.kill()
    assert not dead.exists()


@pytest.mark.parametrize(
    "record",
    [
        None,
        b"",
        b'{"pid": 1, "boo',
        b'{"pid": 1}\n{"lead',
        b"\xff\xfe\x00",
        b'[]\n7\n"x"\nnull',
        b'{"pid": "one", "boot": {}, "memory_folder": 7}\n{"leader": "x", "started_ticks": null}',
        b'{"pid": 1, "memory_folder": "a\\u0000b"}\n{"leader": 1}',
        b'{"pid": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
    ],
    ids=lambda record: "none" if record is None else repr(record[:24]),
)
def test_a_record_that_was_cut_short_or_garbled_does_not_stop_the_reaping(record):
    dead = disk_root() / "run-1-1-abc"
    dead.mkdir()
    if record is not None:
        (dead / "owner.jsonl").write_bytes(record)
    assert mentions(str(dead))
    assert not dead.exists()


def test_a_damaged_record_cannot_make_it_remove_anything_else(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    dead = disk_root() / "run-1-1-abc"
    dead.mkdir()
    (dead / "owner.jsonl").write_text(json.dumps({"pid": 1, "memory_folder": str(precious)}))
    reap_leftovers()
    assert precious.exists()


def test_a_record_needs_a_claimed_folder(tmp_path):
    place = Place(folder=tmp_path / "a" / "b", memory_folder=tmp_path / "m")
    with pytest.raises(AdapterError, match="not in a claimed run folder"):
        run_folder.record_session(place, os.getpid())


def test_a_root_that_is_a_link_is_refused(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(tmp_path / "link"))
    with pytest.raises(AdapterError, match="not a folder of this user"):
        claim()


def test_without_a_ram_backed_file_system_memory_is_on_disk(own_folders, monkeypatch):
    monkeypatch.setattr(run_folder, "memory_root_or", lambda otherwise: otherwise)
    with claim() as root:
        place = root.new_place("x")
        assert place.memory_folder.is_relative_to(own_folders)
        assert place.memory_folder != place.folder
    assert not place.memory_folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's servers change user")
def test_root_refuses_a_run_folder_that_servers_users_cannot_reach(own_folders, monkeypatch):
    closed = own_folders / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(closed / "run"))
    with pytest.raises(AdapterError, match="cannot be reached by servers' users"):
        claim()


ESCAPED = """
import os, sys, time
from httpdyno.servers import process as server_process
from httpdyno.servers.run_folder import claim
net, shell = sys.argv[1:]
if net != "group":
    server_process.make_group = lambda name: None
escaping = '''
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.chdir(sys.argv[1])
        os.closerange(0, 100)
        os.execve("/bin/sh", ["sh", "-c", sys.argv[2]], {})
    os._exit(0)
os.wait()
time.sleep(600)
'''
root = claim()
place = root.new_place(net)
folder = place.folder if net == "folder" else "/"
process = server_process.ServerProcess.spawn(
    [sys.executable, "-c", escaping, str(folder), shell.replace("RUN", str(place.folder))],
    place=place, environment={}, log=place.folder / "log",
)
while not process.last_words().endswith("\\n"):
    time.sleep(0.005)
print(process.last_words().strip())
print(os.getpgid(process._kept.keeper_pid), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("net", "shell"),
    [
        ("folder", "exec sleep 600"),
        ("file", "exec sleep 600 5>RUN/open"),
        pytest.param(
            "group",
            "exec sleep 600",
            marks=pytest.mark.skipif(parent_group() is None, reason="no control group here"),
        ),
    ],
)
def test_what_escaped_is_ended_also_where_its_keeper_was_killed_with_its_owner(net, shell):
    before = _groups()
    with subprocess.Popen(
        [sys.executable, "-c", ESCAPED, net, shell],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        escaped, keeper = (int(owner.stdout.readline()) for _ in range(2))
        wait_for(lambda: Path(f"/proc/{escaped}/cmdline").read_bytes().startswith(b"sleep"))
        owner.send_signal(signal.SIGSTOP)
        os.kill(keeper, signal.SIGKILL)
        owner.kill()
    groups = _groups() - before
    was_alive = process_info(escaped) is not None
    reap_leftovers()
    assert was_alive
    assert len(groups) == (net == "group")
    wait_for(lambda: process_info(escaped) is None)
    assert not groups & _groups()


def _groups():
    parent = parent_group()
    return set(parent.glob("httpdyno-*-0001-group-log*")) if parent else set()


def test_nothing_is_left_soon_after_a_kill_though_no_other_command_came(owner):
    pids, folder = facts(owner)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)  # it cannot follow a signal to end
    owner.kill()
    wait_for(lambda: not any(process_info(pid) for pid in pids))
    assert folder.exists(), "files stay for the next command"


def wait_for(condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


def test_a_place_with_folders_deeper_than_pythons_stack_is_removed():
    with claim() as root:
        place = root.new_place("x")
        here = Path.cwd()
        try:
            os.chdir(place.folder)
            for _ in range(sys.getrecursionlimit() + 100):
                Path("a").mkdir()
                os.chdir("a")
        finally:
            os.chdir(here)
        remove_place(place)
        assert not place.folder.exists()


def test_a_place_that_cannot_be_made_is_said_in_one_sentence(monkeypatch):
    with claim() as root:

        def full(*_args, **_options):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(Path, "mkdir", full)
            with pytest.raises(AdapterError, match="cannot be made: no space left on device"):
                root.new_place("x")


@pytest.mark.parametrize("name", ["lock", "run-1-1-abc/owner.jsonl"])
def test_a_fifo_of_ours_where_a_record_or_lock_belongs_holds_nobody(name):
    file = disk_root() / name
    file.parent.mkdir(exist_ok=True)
    os.mkfifo(file)
    dead = disk_root() / "run-2-2-abc"
    dead.mkdir()
    if name == "lock":
        with pytest.raises(AdapterError, match=r"`.*lock` cannot be used: not a regular file"):
            reap_leftovers()
    else:
        assert mentions(str(dead))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders that are another's")
def test_folders_of_another_user_are_neither_used_nor_waited_for(own_folders, monkeypatch):
    monkeypatch.delenv("HTTPDYNO_RUN_DIR")
    for variable in ("_DISK", "_MEMORY"):
        common = own_folders / variable
        common.mkdir()
        common.chmod(0o1777)
        monkeypatch.setattr(root_folder, variable, common)
        foreign = common / f"httpdyno-{os.geteuid()}"
        (foreign / "run-1-1-abc").mkdir(parents=True)
        for name in ("lock", "run-1-1-abc/owner.jsonl", "run-1-1-abc/lock"):
            os.mkfifo(foreign / name)
        for each in (foreign, foreign / "run-1-1-abc"):
            os.chown(each, 65534, 65534)
    assert reap_leftovers() == []
    with claim() as root:
        place = root.new_place("x")
        assert place.folder.parent.parent == own_folders / "_DISK" / "httpdyno-0-1"
        assert place.memory_folder.parent.parent == own_folders / "_MEMORY" / "httpdyno-0-1"
    assert (own_folders / "_MEMORY" / "httpdyno-0" / "run-1-1-abc").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders that are another's")
def test_where_all_names_in_memory_are_taken_the_disk_does(own_folders, monkeypatch):
    monkeypatch.setattr(root_folder, "_MEMORY", own_folders)
    for name in ("httpdyno-0", *(f"httpdyno-0-{number}" for number in range(1, 4))):
        (own_folders / name).mkdir()
        os.chown(own_folders / name, 65534, 65534)
    assert memory_root_or(Path("/elsewhere")) == Path("/elsewhere")


def test_a_folder_for_all_keeps_its_mode_and_ours_is_made_in_it(own_folders, monkeypatch):
    common = own_folders / "common"
    common.mkdir()
    common.chmod(0o1777)
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(common))
    assert disk_root() == common / f"httpdyno-{os.geteuid()}"
    assert common.stat().st_mode & 0o7777 == 0o1777


def test_a_lock_that_is_not_let_go_says_who_holds_it(monkeypatch):
    monkeypatch.setattr(run_folder, "_LOCK_PATIENCE_S", 0.05)
    with run_folder._locked(disk_root()), pytest.raises(AdapterError) as caught:
        claim()
    assert f"process {os.getpid()} holds `{disk_root() / 'lock'}`" in str(caught.value)


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_root_that_others_can_replace_is_refused(own_folders, monkeypatch, mode):
    shared = own_folders / "shared"
    shared.mkdir()
    shared.chmod(mode)
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(shared / "run"))
    with pytest.raises(AdapterError, match=f"others can replace what is in `{shared}`"):
        claim()
    shared.chmod(mode | 0o1000)
    with claim() as root:
        assert root.folder.is_relative_to(shared)
