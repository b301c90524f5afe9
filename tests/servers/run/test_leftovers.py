"""What a killed httpdyno left is ended and removed, and nothing else is touched."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.servers.left import KEY, left_by, owned_by, session_of

from httpdyno.errors import AdapterError
from httpdyno.host.process_identity import Life
from httpdyno.report.shared.message import text, texts
from httpdyno.servers.limits.control_group import parent_group
from httpdyno.servers.run import leftovers, record
from httpdyno.servers.run import root as root_folder
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run.leftovers import doubtful_folders, reap_leftovers
from httpdyno.servers.run.live_process import child_pids, process_info
from httpdyno.servers.run.record import examined, read_record, standing
from httpdyno.servers.run.root import disk_root, locked_root, memory_root_or

DEADLINE_S = 10
OWNER = """
import sys
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run.record import read_record
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


@contextmanager
def somebody(**how):
    """A process that came from no server of httpdyno's."""
    with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True, **how) as process:
        try:
            # What is closed on exec is closed before the kernel tells its words and its variables.
            wait_for(lambda: Path(f"/proc/{process.pid}/cmdline").read_bytes())
            yield process
        finally:
            process.kill()


def facts(owner):
    one, two, folder = (owner.stdout.readline().strip() for _ in range(3))
    return [int(one), int(two)], Path(folder)


def mentions(words):
    """Reap; return whether that says something of these words. Others' leftovers are no matter."""
    return any(words in sentence for sentence in texts(reap_leftovers()))


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
    done = texts(reap_leftovers())
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
    (left / "lock").write_text(json.dumps(owned_by(left / "lock")))
    assert reap_leftovers() == []
    monkeypatch.setenv("HTTPDYNO_MEMORY_DIR", str(theirs))
    assert texts(reap_leftovers()) == (f"removed `{left}`, which no httpdyno owns",)


def test_at_no_step_of_its_owners_own_removal_is_a_folder_taken_for_a_leftover(monkeypatch):
    root = new_run_root()
    place = root.new_place("one")
    (place.memory_folder / "state").write_text("x")
    unlinked, said = leftovers._is_unlinked, []

    def with_a_reaper_at_each_step(name, parent):
        monkeypatch.setattr(leftovers, "_is_unlinked", unlinked)
        said.extend(reap_leftovers())
        is_unlinked = unlinked(name, parent)
        said.extend(reap_leftovers())
        monkeypatch.setattr(leftovers, "_is_unlinked", with_a_reaper_at_each_step)
        return is_unlinked

    monkeypatch.setattr(leftovers, "_is_unlinked", with_a_reaper_at_each_step)
    root.release()
    assert not [each for each in texts(said) if root.folder.name in each]
    assert not root.folder.exists()
    assert not root.memory_folder.exists()


def test_of_a_folder_whose_lock_cannot_be_looked_at_nothing_is_known(monkeypatch):
    def opened(path, flags):
        raise OSError(errno.EMFILE, "Too many open files", f"{path}")

    with new_run_root() as root:
        monkeypatch.setattr(record, "opened_own", opened)
        assert standing(root.folder / "owner.jsonl").life is Life.IN_DOUBT
        assert standing(root.memory_folder / "lock").life is Life.IN_DOUBT
        monkeypatch.undo()


def test_of_two_reapers_one_at_most_is_at_a_folder(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text(json.dumps(owned_by(lock)))
    with examined(lock) as one, examined(lock) as other:
        assert one.life is Life.GONE
        assert other.life is Life.ALIVE


@pytest.mark.parametrize("record", [None, "", '{"owner": {"pi'])
def test_what_an_owner_left_who_was_killed_as_he_made_his_folder_on_disk_is_removed(record):
    unfinished = disk_root() / ".run-1-1-abc"
    unfinished.mkdir()
    if record is not None:
        (unfinished / "owner.jsonl").write_text(record)
    assert reap_leftovers() == []
    assert not unfinished.exists()


def test_what_an_owner_left_who_was_killed_as_he_made_his_folder_in_memory_is_removed(own_folders):
    memory = memory_root_or(own_folders) / "run-1-1-abc"
    unfinished = memory.with_name(".run-1-1-abc")
    unfinished.mkdir()
    dead = left_by(head={"memory_folder": str(memory)})
    assert mentions(f"removed `{dead}`")
    assert not unfinished.exists()


def test_where_nothing_was_left_nothing_is_made_and_nobody_is_waited_for(own_folders, monkeypatch):
    monkeypatch.setenv("HTTPDYNO_MEMORY_DIR", str(own_folders / "memory"))
    assert reap_leftovers() == []
    assert not (own_folders / "run").exists()
    with new_run_root() as root, locked_root(root.folder.parent):
        monkeypatch.setattr(root_folder, "_PATIENCE_S", 0.0)
        assert reap_leftovers() == []


@pytest.mark.parametrize(
    ("change", "is_removed"),
    [({"boot": "another"}, True), ({"boot": "another", "host": "elsewhere"}, False)],
)
def test_after_a_reboot_recorded_numbers_mean_nothing(change, is_removed):
    with somebody() as bystander:
        dead = left_by(session_of(bystander), **change)
        reap_leftovers()
        assert bystander.poll() is None
    assert dead.exists() != is_removed, "another machine's, where the host is another"


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"pid_namespace": "pid:[1]"}, "cannot be seen from here"),
        ({"boot": ""}, "is of another machine"),
        ({"time_namespace": "time:[1]"}, "cannot be seen from here"),
    ],
    ids=str,
)
def test_of_an_owner_who_cannot_be_looked_for_nothing_is_ended_or_removed(
    change, doubt, monkeypatch
):
    # Root of the machine could see that there is no such pid namespace.
    monkeypatch.setattr(os, "geteuid", os.getuid)
    monkeypatch.setattr("httpdyno.host.process_identity._FIRST_PID_NAMESPACE", "not ours")
    if "boot" in change:
        change = change | {"host": "elsewhere"}
    with somebody() as bystander:
        dead = left_by(session_of(bystander), **change)
        assert reap_leftovers() == []
        assert bystander.poll() is None
    assert doubt in text(doubtful_folders()[dead])
    assert (dead / "owner.jsonl").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees all pid namespaces")
def test_a_folder_whose_owners_pid_namespace_has_ended_is_removed_and_nothing_ended():
    with somebody() as bystander:
        dead = left_by(session_of(bystander), pid_namespace="pid:[1]")
        assert mentions(f"removed `{dead}`")
        assert bystander.poll() is None


@pytest.mark.parametrize("way", ["copy", "rewritten", "damaged", "writable", "another's", "none"])
def test_a_record_that_is_not_its_owners_own_ends_nothing_and_is_told(way):
    with somebody() as bystander:
        dead = left_by(session_of(bystander))
        record = dead / "owner.jsonl"
        if way == "copy":
            shutil.copytree(dead, dead.with_name("run-2-2-abc"))
            shutil.rmtree(dead)
            dead = dead.with_name("run-2-2-abc")
        elif way == "rewritten":
            beside = dead / "new"
            beside.write_text(record.read_text())
            beside.replace(record)
        elif way == "damaged":
            record.write_text(record.read_text()[1:])
        elif way == "writable":
            record.chmod(0o622)
        elif way == "another's" and os.geteuid() == 0:
            os.chown(record, 65534, 65534)
        else:
            record.rename(dead / "elsewhere")
        assert reap_leftovers() == []
        assert bystander.poll() is None
    assert list(doubtful_folders()) == [dead]
    assert "owner.jsonl" in text(doubtful_folders()[dead])


@pytest.mark.parametrize(
    "who",
    ["a shell there", "a reader", "a program of it", "the mark alone", "another key", "a shell's"],
)
@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "ended"])
def test_whoever_only_looks_into_a_run_folder_or_copied_a_mark_is_let_be(
    who, is_killed, own_folders
):
    root = None if is_killed else new_run_root()
    folder = root.folder if root else left_by()
    file = folder / "sleep"
    shutil.copy("/bin/sleep", file)
    key = read_record(folder).key
    mark = {"the mark alone": "", "another key": ":0123", "a shell's": f":{key}"}.get(who)
    command = ["/bin/sleep", "600"]
    if who == "a program of it":
        command = [str(file), "600"]
    if who == "a shell's":  # with a server's environment, in a session that is not marked
        export = f"HTTPDYNO_INSTANCE={folder}/log{mark}"
        command = ["/bin/sh", "-c", f"/usr/bin/env {export} /bin/sleep 600 & wait"]
    environment = {} if mark is None else {"HTTPDYNO_INSTANCE": f"{folder}/log{mark}"}
    with (
        file.open() as opened,
        subprocess.Popen(
            command,
            start_new_session=True,
            cwd=folder if who == "a shell there" else "/",
            stdin=opened if who == "a reader" else subprocess.DEVNULL,
            env={} if who == "a shell's" else environment,
        ) as process,
    ):
        try:
            if who == "a shell's":
                wait_for(lambda: child_pids(process.pid))
            looking = [process.pid, *child_pids(process.pid)]
            assert root or mentions(f"removed `{folder}`")
            if root:
                root.release()
            assert all(process_info(pid) for pid in looking)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert not folder.exists()


def test_a_marked_session_is_ended():
    dead = left_by()
    with somebody(env={"HTTPDYNO_INSTANCE": f"{dead}/0001-x/log:{KEY}"}) as server:
        done = texts(reap_leftovers())
        assert any("ended 1 server processes" in each for each in done), done
        assert server.wait(DEADLINE_S) == -signal.SIGTERM


@pytest.mark.parametrize("is_marked", [True, False])
def test_of_a_session_whose_leader_is_gone_only_marked_members_are_ended(is_marked):
    # All of ours may have ended, and the number be another's, who has ended as well.
    mark = {"HTTPDYNO_INSTANCE": f"{disk_root()}/run-1-1-abc/0001-x/log:{KEY}"}
    with subprocess.Popen(
        ["/bin/sh", "-c", "/bin/sleep 600 >/dev/null & echo $!"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        env=mark if is_marked else {},
    ) as leader:
        assert leader.stdout is not None
        member = int(leader.stdout.readline())
    left_by({"leader": leader.pid, "started_ticks": 1})
    reap_leftovers()
    was_ended = process_info(member) is None
    if not was_ended:
        os.kill(member, signal.SIGKILL)
    assert was_ended == is_marked


@pytest.mark.parametrize(
    "line",
    [
        b'{"lead',
        b"\xff\xfe\x00",
        b'[]\n7\n"x"\nnull',
        b'{"leader": "x", "started_ticks": null}',
        b'{"leader": 1}',
        b'{"leader": ' + b"9" * 5000 + b', "started_ticks": 1}',
        b'{"leader": 1, "started_ticks": 1, "groups": ["a\\u0000b", 7]}',
        b"[" * 100_000,
    ],
    ids=lambda line: repr(line[:24]),
)
def test_a_line_that_was_cut_short_or_garbled_does_not_stop_the_reaping(line):
    dead = left_by(head={"memory_folder": "a\0b", "key": 7})
    with (dead / "owner.jsonl").open("ab") as record:
        record.write(line)
    assert mentions(f"removed `{dead}`")
    assert not dead.exists()


def test_an_empty_folder_of_one_who_was_killed_as_he_removed_it_goes_without_a_word():
    dead = disk_root() / "run-1-1-abc"
    dead.mkdir()
    assert reap_leftovers() == []
    assert not dead.exists()


def test_a_damaged_record_cannot_make_it_remove_anything_else(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    dead = left_by(head={"memory_folder": str(precious)})
    reap_leftovers()
    assert precious.exists()
    assert not dead.exists()


ESCAPED = """
import os, sys, time
from httpdyno.servers import process as server_process
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run.record import read_record
net = sys.argv[1]
if net != "group":
    server_process.make_group = lambda name: None
escaping = '''
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.chdir("/")
        os.closerange(0, 100)
        os.execve("/bin/sleep", ["sleep", "600"], {} if sys.argv[1] == "group" else os.environ)
    os._exit(0)
os.wait()
time.sleep(600)
'''
root = new_run_root()
place = root.new_place(net)
process = server_process.ServerProcess.spawn(
    [sys.executable, "-c", escaping, net], place=place, environment={}, log=place.folder / "log"
)
while not process.last_words().endswith("\\n"):
    time.sleep(0.005)
print(process.last_words().strip())
print(os.getpgid(process._kept.keeper_pid), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    "net",
    [
        "mark",
        pytest.param(
            "group",
            marks=pytest.mark.skipif(parent_group() is None, reason="no control group here"),
        ),
    ],
)
def test_what_left_its_session_is_ended_also_where_its_keeper_was_killed_with_its_owner(net):
    before = _groups()
    with subprocess.Popen(
        [sys.executable, "-c", ESCAPED, net],
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
        assert reap_leftovers() == []
        assert "not a regular file" in text(doubtful_folders()[file.parent])
        assert not dead.exists()
