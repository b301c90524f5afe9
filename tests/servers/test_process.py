import itertools
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from httpdyno.errors import AdapterError
from httpdyno.servers.adapter import Place
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run import live_process
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run.live_process import (
    MARK,
    end_all,
    live_processes,
    marked_processes,
    process_info,
)
from httpdyno.servers.run.record import mark_of

DEADLINE_S = 10
ENVIRONMENT = {"PATH": "/bin:/usr/bin"}
# Prints a line when all is set up, so that tests need not guess.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for leaves_session in (False, True):
    if os.fork() == 0:
        if leaves_session:
            os.setsid()
        print("up", flush=True)
        time.sleep(600)
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture
def place():
    with new_run_root() as root:
        yield root.new_place("x")


def spawned(place, *command):
    return ServerProcess.spawn(
        command, place=place, environment=ENVIRONMENT, log=place.folder / "log"
    )


def wait_for(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_it_leads_its_own_session_and_group(place):
    process = spawned(place, "sleep", "600")
    assert os.getsid(process.pid) == os.getpgid(process.pid) == process.pid
    process.stop()


def test_it_stands_in_the_record_before_it_runs(place):
    process = spawned(place, "sleep", "600")
    assert f'"leader": {process.pid}' in (place.folder.parent / "owner.jsonl").read_text()
    process.stop()


def test_what_has_to_be_done_before_it_runs_is_done_before(place):
    process = ServerProcess.spawn(
        ["cat", "said"],
        place=place,
        environment=ENVIRONMENT,
        log=place.folder / "log",
        meanwhile=lambda: (place.folder / "said").write_text("in time"),
    )
    assert process.wait(DEADLINE_S)
    assert process.last_words() == "in time"
    process.stop()


@pytest.mark.parametrize("error", [LookupError("none"), KeyboardInterrupt()])
def test_what_fails_before_it_runs_is_raised_and_nothing_has_run(place, error):
    def fails():
        raise error

    with pytest.raises(type(error)):
        ServerProcess.spawn(
            ["touch", "was-run"],
            place=place,
            environment=ENVIRONMENT,
            log=place.folder / "log",
            meanwhile=fails,
        )
    assert [path.name for path in place.folder.iterdir()] == ["log"]
    assert not marked_processes(mark_of(place, place.folder / "log"))
    assert "leader" not in (place.folder.parent / "owner.jsonl").read_text()


def test_output_and_errors_go_to_the_log_and_the_exit_code_is_kept(place):
    process = spawned(place, "sh", "-c", "echo out; echo err >&2; exit 7")
    assert process.wait(DEADLINE_S)
    assert process.exit_code == 7
    assert process.last_words() == "out\nerr\n"
    assert not process.is_alive()
    process.stop()


def test_output_can_be_kept_apart_from_errors(place):
    process = ServerProcess.spawn(
        ["sh", "-c", "echo out; echo err >&2"],
        place=place,
        environment=ENVIRONMENT,
        log=place.folder / "log",
        output_to=place.folder / "output",
    )
    assert process.wait(DEADLINE_S)
    assert process.last_words() == "err\n"
    assert (place.folder / "output").read_text() == "out\n"
    process.stop()


def test_it_gets_the_environment_it_was_given_and_the_mark_alone(place):
    process = spawned(place, "env")
    assert process.wait(DEADLINE_S)
    mark = mark_of(place, place.folder / "log").text
    expected = {*(f"{k}={v}" for k, v in ENVIRONMENT.items()), f"{MARK}={mark}"}
    assert {
        line for line in process.last_words().splitlines() if not line.startswith("LC_CTYPE")
    } == (expected)
    process.stop()


def test_it_inherits_no_open_file_but_the_standard_ones(place):
    with (place.folder / "mine").open("w") as mine:
        os.set_inheritable(mine.fileno(), True)
        process = spawned(place, "ls", "/proc/self/fd")
        assert process.wait(DEADLINE_S)
    # The last one is of the folder that `ls` lists.
    assert process.last_words().split() == ["0", "1", "2", "3"]
    process.stop()


def test_a_program_that_is_not_there_says_so_in_the_log(place):
    process = spawned(place, "/no/such/program")
    assert process.wait(DEADLINE_S)
    assert process.last_words() == "cannot run /no/such/program: No such file or directory\n"
    assert process.exit_code == 127
    process.stop()


def test_it_is_not_started_where_it_cannot_be_recorded(tmp_path):
    place = Place(folder=tmp_path, memory_folder=tmp_path)
    with pytest.raises(AdapterError, match="in no run folder with a record"):
        spawned(place, "sh", "-c", "echo started > started")
    assert not (tmp_path / "started").exists()


def test_stopping_asks_first(place):
    process = spawned(
        place, "sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done"
    )
    wait_for(lambda: process.last_words() == "up\n")
    process.stop()
    assert process.last_words() == "up\nbye\n"
    assert process.exit_code == 0


def test_it_may_run_in_another_folder_and_be_asked_to_end_by_another_signal(place, tmp_path):
    (tmp_path / "their").mkdir()
    says = "trap 'echo two; exit 2' INT; trap '' TERM; pwd; while :; do sleep 0.01; done"
    process = ServerProcess.spawn(
        ["sh", "-c", says],
        place=place,
        environment=ENVIRONMENT,
        log=place.folder / "log",
        folder=str(tmp_path / "their"),
        stop_signal=signal.SIGINT,
    )
    wait_for(process.first_words)
    process.stop()
    assert process.first_words().splitlines() == [str(tmp_path / "their"), "two"]
    assert process.exit_code == 2


def test_a_folder_that_is_not_there_says_so_in_the_log(place):
    process = ServerProcess.spawn(
        ["true"],
        place=place,
        environment=ENVIRONMENT,
        log=place.folder / "log",
        folder="/nowhere/at/all",
    )
    assert process.wait(DEADLINE_S)
    process.stop()
    assert "cannot run true in /nowhere/at/all: No such file" in process.last_words()


def test_what_does_not_listen_is_killed_with_all_that_came_from_it(place):
    process = spawned(place, sys.executable, "-c", STUBBORN)
    wait_for(lambda: process.last_words().count("up") == 3)
    members = process.members()
    assert len(members) == 3
    process.request_stop()
    process.finish_stop(graceful_s=0.05)
    assert [each for each in members if process_info(each.pid)] == []
    assert process.exit_code == -signal.SIGKILL


def test_a_child_that_left_the_session_is_found_by_its_mark_after_its_parent_died(place):
    process = spawned(place, sys.executable, "-c", STUBBORN)
    wait_for(lambda: process.last_words().count("up") == 3)
    members = process.members()
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(DEADLINE_S)
    assert len(process.members()) == 1, "the one that left is no descendant any more"
    process.stop()
    assert [each for each in members if process_info(each.pid)] == []
    assert marked_processes(mark_of(place, place.folder)) == []


SLOW_TO_END = """
import signal, time
def end(*_):
    time.sleep(0.4)
    raise SystemExit
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
time.sleep(600)
"""


def test_one_that_is_ending_is_waited_for_though_nothing_shows_whose_it_is(place):
    process = spawned(place, sys.executable, "-c", SLOW_TO_END)
    wait_for(lambda: process.last_words().count("up") == 1)
    found = iter([process.members()])
    assert end_all(lambda: next(found, [])) == []
    assert process_info(process.pid) is None
    process.stop()


def test_stopping_is_idempotent_and_works_from_many_threads(place):
    process = spawned(place, "sleep", "600")
    threads = [threading.Thread(target=process.stop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    process.stop()
    assert process.exit_code == -signal.SIGTERM


def test_stopping_one_leaves_the_others_of_the_same_place(place):
    one = spawned(place, "sleep", "600")
    other = ServerProcess.spawn(
        ["sleep", "600"], place=place, environment=ENVIRONMENT, log=place.folder / "log-2"
    )
    one.stop()
    assert other.is_alive()
    other.stop()


def test_a_killed_child_leaves_no_zombie(place):
    process = spawned(place, "sleep", "600")
    os.kill(process.pid, signal.SIGKILL)
    process.stop()
    assert not Path(f"/proc/{process.pid}").exists()


ESCAPING = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("{cwd}")
        os.closerange(0, 100)
        os.execve("/bin/sh", ["sh", "-c", "exec {keep} sleep 600"], {{}})
    os._exit(0)
os.wait()
print("up", flush=True)
time.sleep(600)
"""


def sleepers():
    """Return the sessions' leaders that an escaped process of these tests could be in."""
    return {
        process.pid
        for process in live_processes()
        if command_of(process.pid) == b"sleep\x00600\x00"
    }


def command_of(pid):
    """Return what a process was started with; nothing where it has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_one_that_left_session_parent_environment_and_folder_is_ended(place):
    before = sleepers()
    process = spawned(place, sys.executable, "-c", ESCAPING.format(cwd="/", keep=""))
    wait_for(lambda: process.last_words() == "up\n" and sleepers() - before)
    escaped = sleepers() - before
    assert not escaped & {each.pid for each in process.members()}
    process.stop()
    assert not escaped & sleepers()


def test_stopping_looks_at_no_other_process_of_this_machine(place, monkeypatch):
    process = spawned(place, sys.executable, "-c", STUBBORN)
    wait_for(lambda: process.last_words().count("up") == 3)
    n_looks = itertools.count()

    def look():
        next(n_looks)
        return live_processes()

    monkeypatch.setattr(live_process, "live_processes", look)
    process.stop()
    assert next(n_looks) == 0


def test_one_that_is_stopped_before_it_became_its_program_tells_its_exit(place):
    process = spawned(place, "sleep", "600")
    process.stop()
    assert process.exit_code == -signal.SIGTERM


def test_it_inherits_no_signal_that_is_blocked_or_ignored_here(place):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    try:
        process = spawned(place, "grep", "Sig[BI]", "/proc/self/status")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert process.wait(DEADLINE_S)
    masks = [int(line.split()[1], 16) for line in process.last_words().splitlines()]
    process.stop()
    # The C library keeps two for itself and lets nobody change them; `make` may leave them ignored.
    ours = sum(1 << (number - 1) for number in signal.valid_signals())
    assert [mask & ours for mask in masks] == [0, 0]
