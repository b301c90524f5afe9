"""A server that is looked at again and again, on a small one that the test forks."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from tests.telemetry.forked import forked

from httpdyno.reason import Reason, because
from httpdyno.telemetry.status import Status, status
from httpdyno.telemetry.watched import Watcher, first_look, next_look

DEADLINE_S = 10.0
STATUS = status(
    "Active connections: 1 \nserver accepts handled requests\n 1 1 5 \n"
    "Reading: 0 Writing: 1 Waiting: 0 \n"
)
ORPHANS = """
import os, signal, sys
if os.fork() == 0:
    signal.pause()
print(flush=True)
signal.pause()
"""


def test_births_and_deaths_add_up_over_looks():
    with forked(1, [1, 1]) as (root_pid, pids):
        watcher = Watcher(root_pid, ())
        look = watcher.look()
        assert look is not None
        seen = first_look(look)
        os.kill(pids[0], signal.SIGKILL)
        deadline_s = time.monotonic() + DEADLINE_S
        while not seen.now.pool.zombies:
            assert time.monotonic() < deadline_s
            look = watcher.look()
            assert look is not None
            seen = next_look(seen, look)
    # One that nobody has asked how it ended is still there.
    assert (seen.n_births, seen.n_deaths) == (0, 0)
    assert seen.now.pool.zombies[0].endswith(f"({pids[0]})")
    assert seen.since_s > 0
    assert watcher.look() is None


def test_workers_that_outlive_their_parent_are_still_seen():
    command = [sys.executable, "-I", "-S", "-c", ORPHANS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        watcher = Watcher(parent.pid, ())
        look = watcher.look()
        assert look is not None
        [orphan] = [each.pid for each in look.sample.workers if each.pid != parent.pid]
        parent.kill()
        parent.wait()
        look = watcher.look()
        assert look is not None
        assert [each.pid for each in look.sample.workers] == [orphan]
        os.kill(orphan, signal.SIGKILL)
        deadline_s = time.monotonic() + DEADLINE_S
        while watcher.look() is not None:
            assert time.monotonic() < deadline_s


def test_a_server_that_says_nothing_leaves_the_reason():
    assert STATUS is not None
    late = because("servers.timed_out")
    told: Iterator[Reason | Status] = iter([late, STATUS])
    with forked(1, [1]) as (root_pid, _):
        watcher = Watcher(root_pid, (), ask=lambda: next(told))
        looks = [watcher.look(), watcher.look()]
    assert [each and each.no_status for each in looks] == [late, None]
    assert [each and each.status for each in looks] == [None, STATUS]


def test_the_rate_is_over_the_time_between_two_answers_and_not_between_two_samples(monkeypatch):
    # The page answers late, as a full pool does: 100 requests in the 4 s between its answers.
    clock = [100.0]
    answers = iter([(0.0, 5), (3.0, 106)])

    def ask():
        late_s, n_requests = next(answers)
        clock[0] += late_s
        assert STATUS is not None
        return replace(STATUS, n_requests=n_requests)

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with forked(1, [1]) as (root_pid, _):
        watcher = Watcher(root_pid, (), ask=ask)
        first = watcher.look()
        clock[0] += 1.0
        second = watcher.look()
    assert first is not None
    assert second is not None
    seen = next_look(first_look(first), second)
    assert seen.requests_per_s == 25.0


def test_a_line_of_its_log_without_an_end_is_told_at_the_last_look(tmp_path):
    log = tmp_path / "error.log"
    log.touch()
    with forked(1, [1]) as (root_pid, _):
        watcher = Watcher(root_pid, (), logs=[log])
        n_lines = []
        for text, is_last in (("first half, ", False), ("second half", True)):
            with log.open("a") as file:
                file.write(text)
            look = watcher.look(is_last=is_last)
            n_lines.append(look and look.log and look.log.n_lines)
    assert n_lines == [0, 1]
