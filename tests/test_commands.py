"""Commands that hang are ended with all that they started, and may clean up before."""

import os
import signal
import sys
import time

import pytest
from tests.commands import LATE, Commands, NotBegunError

from httpdyno.servers.run.live_process import process_info

HANGS = """
import subprocess, time
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
print(child.pid, flush=True)
try:
    time.sleep(600)
finally:
    print("cleaned up", flush=True)
"""
LEAVES = """
import subprocess
print(subprocess.Popen(["sleep", "600"], start_new_session=True).pid)
"""


def test_what_takes_too_long_cleans_up_and_is_ended_with_what_it_started():
    heard: list[str] = []
    done = Commands().run([sys.executable, "-c", HANGS], 2.0, hear=heard.append)
    assert done.status == LATE
    assert done.output == "".join(heard)
    pid, cleaned, *_, last = done.output.splitlines()
    assert process_info(int(pid)) is None
    assert cleaned == "cleaned up"
    assert last == "ended: it took more than 0.0333 minutes"


def test_what_a_command_leaves_behind_does_not_hold_it_up(monkeypatch):
    monkeypatch.setattr("tests.commands.REST_S", 0.5)
    began_s = time.monotonic()
    done = Commands().run([sys.executable, "-c", LEAVES], 60.0)
    assert time.monotonic() - began_s < 15
    os.kill(int(done.output), signal.SIGKILL)
    assert done.status == 0


def test_nothing_begins_after_the_end():
    commands = Commands()
    commands.end()
    with pytest.raises(NotBegunError):
        commands.run([sys.executable, "-c", ""], 60.0)
