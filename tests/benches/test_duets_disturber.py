"""The process that burns a core while duets are measured."""

import os
import signal
import subprocess
import sys
import time

import psutil
from benches.duets.disturber import Disturber

DEADLINE_S = 20.0


def known(found):
    assert found is not None
    return found


def until(condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_the_disturber_burns_when_it_is_told_and_rests_when_it_is_told():
    with Disturber(1, sorted(os.sched_getaffinity(0))) as disturber:
        process = psutil.Process(disturber.pid)
        disturber.set(is_on=True)
        before_s = process.cpu_times().user
        until(lambda: process.cpu_times().user > before_s + 0.1)
        disturber.set(is_on=False)
        until(lambda: process.status() == psutil.STATUS_SLEEPING)
        rested_s = process.cpu_times().user
        time.sleep(0.4)
        assert process.cpu_times().user <= rested_s + 0.02
    assert not psutil.pid_exists(process.pid)


WITH_DISTURBER = """\
import sys, time
from benches.duets.disturber import Disturber
with Disturber(1, [0]) as disturber:
    disturber.set(is_on=True)
    print(disturber.pid, flush=True)
    time.sleep(60)
"""


def test_the_disturber_ends_with_who_started_it_even_by_kill():
    command = [sys.executable, "-c", WITH_DISTURBER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(known(parent.stdout).readline())
        parent.send_signal(signal.SIGKILL)
    until(lambda: not psutil.pid_exists(pid))
