"""What a killed httpdyno left is ended and removed, and nothing else is touched."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from httpdyno import private_file
from httpdyno.errors import AdapterError
from httpdyno.private_file import is_locked, taken_over
from httpdyno.servers import removal, root_folder
from httpdyno.servers.control_group import parent_group
from httpdyno.servers.leftovers import reap_leftovers
from httpdyno.servers.live_process import child_pids, process_info
from httpdyno.servers.root_folder import disk_root, locked_root, memory_root_or
from httpdyno.servers.run_folder import new_run_root

DEADLINE_S = 10
OWNER = """
import sys
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run_folder import new_run_root
root = new_run_root()
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
    """A process that made a run folder and started two servers."""
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


def test_what_a_killed_run_left_in_memory_is_told_where_it_was_and_to_nobody_else(
    own_folders, monkeypatch
):
    name = memory_root_or(own_folders).name
    theirs = own_folders / "theirs"
    left = theirs / name / "run-1-1-abc"
    left.mkdir(parents=True)
    (left / "lock").touch(mode=0o600)
    assert reap_leftovers() == []
    monkeypatch.setenv("HTTPDYNO_MEMORY_DIR", str(theirs))
    assert reap_leftovers() == [f"removed `{left}`, which no httpdyno owns"]


def test_at_no_step_of_its_owners_own_removal_is_a_folder_taken_for_a_leftover(monkeypatch):
    root = new_run_root()
    place = root.new_place("one")
    (place.memory_folder / "state").write_text("x")
    unlinked, said = removal._is_unlinked, []

    def with_a_reaper_at_each_step(name, parent):
        monkeypatch.setattr(removal, "_is_unlinked", unlinked)
        said.extend(reap_leftovers())
        is_unlinked = unlinked(name, parent)
        said.extend(reap_leftovers())
        monkeypatch.setattr(removal, "_is_unlinked", with_a_reaper_at_each_step)
        return is_unlinked

    monkeypatch.setattr(removal, "_is_unlinked", with_a_reaper_at_each_step)
    root.release()
    assert not [sentence for sentence in said if root.folder.name in sentence]
    assert not root.folder.exists()
    assert not root.memory_folder.exists()


def test_a_folder_whose_lock_cannot_be_looked_at_is_taken_for_a_living_ones(monkeypatch):
    def opened(path, flags):
        raise OSError(errno.EMFILE, "Too many open files", f"{path}")

    with new_run_root() as root:
        monkeypatch.setattr(private_file, "opened_own", opened)
        assert is_locked(root.folder / "owner.jsonl")
        assert is_locked(root.memory_folder / "lock")
        monkeypatch.undo()


def test_of_two_reapers_one_at_most_is_at_a_folder(tmp_path):
    lock = tmp_path / "lock"
    lock.touch(mode=0o600)
    with taken_over(lock) as is_ours, taken_over(lock) as is_ours_too:
        assert is_ours
        assert not is_ours_too


def test_what_an_owner_left_who_was_killed_as_he_made_his_folder_in_memory_is_removed():
    with new_run_root() as root:
        record = (root.folder / "owner.jsonl").read_text()
        memory_root = root.memory_folder.parent
        dead = root.folder.with_name("run-1-1-abc")
        unfinished = memory_root / ".run-1-1-abc"
        dead.mkdir()
        unfinished.mkdir()
        (dead / "owner.jsonl").write_text(record.replace(root.folder.name, dead.name))
        assert mentions(f"removed `{dead}`")
        assert not unfinished.exists()


def test_where_nothing_was_left_nothing_is_made_and_nobody_is_waited_for(own_folders, monkeypatch):
    monkeypatch.setenv("HTTPDYNO_MEMORY_DIR", str(own_folders / "memory"))
    assert reap_leftovers() == []
    assert not (own_folders / "run").exists()
    with new_run_root() as root, locked_root(root.folder.parent):
        monkeypatch.setattr(root_folder, "_PATIENCE_S", 0.0)
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
    # Of one who was killed before he had written anything there is nothing to tell.
    assert mentions(str(dead)) == (record is not None)
    assert not dead.exists()


def test_a_damaged_record_cannot_make_it_remove_anything_else(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    dead = disk_root() / "run-1-1-abc"
    dead.mkdir()
    (dead / "owner.jsonl").write_text(json.dumps({"pid": 1, "memory_folder": str(precious)}))
    reap_leftovers()
    assert precious.exists()


ESCAPED = """
import os, sys, time
from httpdyno.servers import process as server_process
from httpdyno.servers.run_folder import new_run_root
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
root = new_run_root()
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
        assert mentions(str(file.parent))
        assert not dead.exists()
