"""Signals while it cleans up: real processes, because only those get signals."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from httpdyno.servers.run.live_process import child_pids, process_info

CLEANING = "cleaning up; that takes some seconds and is not broken off"
# Its servers end on KILL only, so that ending them takes half a second and more.
PROBE = """
import signal, sys, time
# As in a terminal, also where the tests run in the background, which has Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from types import ModuleType
from httpdyno.cli import app
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import new_run_root

STUBBORN = ["/bin/sh", "-c", "trap '' TERM INT HUP; echo up; while :; do sleep 0.05; done"]
sleep_s = float(sys.argv[1])

def command() -> int:
    with new_run_root() as root:
        for label in ("one", "two"):
            place = root.new_place(label)
            log = place.folder / "log"
            process = ServerProcess.spawn(STUBBORN, place=place, environment={}, log=log)
            while not log.read_text():  # the trap is set
                time.sleep(0.01)
            print(process.pid)
        print(root.folder, flush=True)
        time.sleep(sleep_s)
    print("done", flush=True)
    return 0

module = ModuleType("httpdyno.cli.probe")
vars(module).update(command=command, EXAMPLE="")
sys.modules[module.__name__] = module
app.COMMANDS["probe"] = "Hold two servers."
sys.argv[1:] = ["probe"]
app.main()
"""


def ended(sleep_s, signals, every_s=0.05):
    """Run the probe, send it the signals from when its servers are up; return what came of it."""
    with subprocess.Popen(
        [sys.executable, "-c", PROBE, str(sleep_s)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        pids = [int(process.stdout.readline()) for _ in range(2)]
        folder = Path(process.stdout.readline().strip())
        for number in signals:
            os.kill(process.pid, number)
            time.sleep(every_s)
        out, err = process.communicate(timeout=30)
    left = [pid for pid in pids if process_info(pid) is not None]
    return process.returncode, out, err, left, folder


@pytest.mark.parametrize(
    "signals",
    [
        [signal.SIGINT] * 8,
        [signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGINT],
    ],
    ids=["Ctrl-C held", "mixed"],
)
def test_further_signals_do_not_break_the_clean_up_off_and_are_answered(signals):
    code, _, err, left, folder = ended(60, signals)
    assert (code, left, folder.exists()) == (130, [], False)
    *told, last = err.splitlines()
    assert set(told) == {CLEANING}
    assert last == "interrupted"


def test_a_first_signal_amid_the_clean_up_waits_for_its_end():
    # Both servers take half a second to end after the sleep: the signals fall into that.
    code, out, err, left, folder = ended(0, [signal.SIGINT, signal.SIGINT], every_s=0.1)
    assert (code, left, folder.exists()) == (130, [], False)
    assert "done" not in out
    *told, last = err.splitlines()
    assert (set(told), last) == ({CLEANING}, "interrupted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("is_stopped_first", [False, True], ids=["running", "stopped"])
def test_a_signal_to_all_of_it_leaves_nothing(number, is_stopped_first):
    """To the command, to its keepers and to its servers, as `pkill` sends it; three times."""
    with subprocess.Popen(
        [sys.executable, "-c", PROBE, "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        servers = [int(process.stdout.readline()) for _ in range(2)]
        folder = Path(process.stdout.readline().strip())
        keepers = child_pids(process.pid)
        assert len(keepers) == len(servers)
        if is_stopped_first:
            for pid in (*keepers, *servers):
                os.kill(pid, signal.SIGSTOP)
        for _ in range(3):
            os.killpg(process.pid, number)
            for pid in (*keepers, *servers):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(0.05)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert [pid for pid in (*keepers, *servers) if process_info(pid) is not None] == []
    assert not folder.exists()
