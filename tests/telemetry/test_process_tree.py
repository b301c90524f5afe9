"""With real processes that burn a known amount of CPU time."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from threading import Thread
from typing import NamedTuple

import pytest

from httpdyno.host import procfs
from httpdyno.telemetry.account import ProcessTree, Usage

DEADLINE_S = 20
TICKS_S = 0.02
"""What the kernel's reaped time can hide: user and system time, each cut to a tick."""

# Obeys commands, one a line, and says how much CPU time it and its children, living or reaped, have
# used: the kernel knows that to the microsecond, but tells it only to the process itself. It may be
# more than they were told to burn: what the host takes while they run can be in their account, too.
ROOT = """
import os, resource, struct, sys, threading, time

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

not_reaped_s = {}

def child(seconds, stays):
    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        burn(seconds)
        os.write(go, struct.pack("d", time.process_time()))
        if stays:
            time.sleep(600)
        os._exit(0)
    (not_reaped_s[pid],) = struct.unpack("d", os.read(ready, 8))
    os.close(ready)
    os.close(go)
    if not stays:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

print(os.getpid(), flush=True)
for line in sys.stdin:
    command, _, argument = line.strip().partition(" ")
    if command == "burn":
        burn(float(argument))
    elif command == "thread":
        thread = threading.Thread(target=burn, args=(float(argument),))
        thread.start()
        thread.join()
    elif command == "child":
        child(float(argument), stays=True)
    elif command == "zombie":
        child(float(argument), stays=False)
    elif command == "reap":
        for _ in range(int(argument)):
            not_reaped_s.pop(os.wait()[0], None)
    elif command == "forker":
        def fork_and_stay():
            child(0.0, stays=True)
            time.sleep(600)
        threading.Thread(target=fork_and_stay, daemon=True).start()
    elif command == "line":
        ready, go = os.pipe()
        if os.fork() == 0:
            child(float(argument), stays=True)
            os.write(go, b"x")
            time.sleep(600)
        os.read(ready, 1)
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    reaped_s = reaped.ru_utime + reaped.ru_stime
    print("done", time.process_time() + reaped_s + sum(not_reaped_s.values()), flush=True)
"""


class Root:
    """A process that does as it is told."""

    def __init__(self, process):
        self._process = process
        self.pid = int(process.stdout.readline())

    def does(self, command):
        """Have it done; return the CPU time that it and its children had used by then."""
        self.is_told(command)
        return self.said()

    def is_told(self, commands):
        self._process.stdin.write(commands + "\n")
        self._process.stdin.flush()

    def said(self):
        word, cpu_s = self._process.stdout.readline().split()
        assert word == "done"
        return float(cpu_s)


@contextmanager
def told():
    with subprocess.Popen(
        [sys.executable, "-I", "-c", ROOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield Root(process)
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def root():
    with told() as found:
        yield found


class Beside(NamedTuple):
    """A reading, and what the root said just before and just after that had been used."""

    reading: Usage
    least_s: float
    most_s: float


def read_beside(root, tree):
    return Beside(least_s=root.does("burn 0"), reading=tree.read(), most_s=root.does("burn 0"))


def agree(begin, end, *, within_s):
    """What was used between two readings is what the root said. Anything may happen beside them."""
    used_s = end.reading.cpu_s - begin.reading.cpu_s
    least_s, most_s = end.least_s - begin.most_s, end.most_s - begin.least_s
    assert least_s - within_s <= used_s <= most_s + within_s
    return used_s


def test_what_a_process_uses_itself_is_exact(root):
    tree = ProcessTree(root.pid)
    before = read_beside(root, tree)
    root.does("burn 0.2")
    after = read_beside(root, tree)
    assert after.reading.n_processes == 1
    assert agree(before, after, within_s=0.001) >= 0.2


def test_threads_that_have_ended_are_counted(root):
    tree = ProcessTree(root.pid)
    before = read_beside(root, tree)
    root.does("thread 0.1")
    assert agree(before, read_beside(root, tree), within_s=0.001) >= 0.1


def test_children_are_counted_while_they_live(root):
    tree = ProcessTree(root.pid)
    before = read_beside(root, tree)
    for _ in range(3):
        root.does("child 0.05")
    after = read_beside(root, tree)
    assert after.reading.n_processes == 4
    # What they use to fall asleep they do not say.
    assert agree(before, after, within_s=0.03) >= 0.15


def test_a_child_is_counted_once_alive_dead_and_reaped(root):
    tree = ProcessTree(root.pid)
    begin = read_beside(root, tree)
    root.does("zombie 0.1")
    dead = read_beside(root, tree)
    # To end costs it something, too: all of it is known when it is reaped.
    dead = dead._replace(most_s=root.does("reap 1"))
    reaped = read_beside(root, tree)
    assert agree(begin, dead, within_s=0.001) >= 0.1
    assert agree(begin, reaped, within_s=TICKS_S) >= 0.1 - TICKS_S
    assert (begin.reading.n_processes, reaped.reading.n_processes) == (1, 1)


def test_children_that_lived_and_died_between_two_readings_are_counted(root):
    tree = ProcessTree(root.pid)
    before = read_beside(root, tree)
    for _ in range(4):
        root.does("zombie 0.05")
    root.does("reap 4")
    after = read_beside(root, tree)
    assert after.reading.n_processes == 1
    assert agree(before, after, within_s=TICKS_S) > 0.2 - TICKS_S


def test_the_error_of_reaping_does_not_add_up(root):
    tree = ProcessTree(root.pid)
    first = read_beside(root, tree)
    for _ in range(20):
        root.does("zombie 0.013")
        root.does("reap 1")
        agree(first, read_beside(root, tree), within_s=TICKS_S)


def test_a_child_of_another_thread_is_found(root):
    tree = ProcessTree(root.pid)
    assert tree.read().n_processes == 1
    root.does("forker")
    deadline = time.monotonic() + DEADLINE_S
    while tree.read().n_processes < 2:
        assert time.monotonic() < deadline


def test_one_whose_parent_ended_is_followed_and_its_time_kept(root):
    tree = ProcessTree(root.pid)
    root.does("line 0.05")
    before = tree.read()
    assert before.n_processes == 3
    parents = {pid: process.parent for pid, process in tree._known.items()}
    (middle,) = (pid for pid, parent in parents.items() if parent == root.pid)
    (last,) = (pid for pid, parent in parents.items() if parent == middle)
    os.kill(middle, signal.SIGKILL)
    root.does("reap 1")
    orphaned = tree.read()
    assert orphaned.n_processes == 2
    assert orphaned.cpu_s >= before.cpu_s - TICKS_S
    os.kill(last, signal.SIGKILL)
    deadline = time.monotonic() + DEADLINE_S
    while tree.read().n_processes > 1:
        assert time.monotonic() < deadline
    assert tree.read().cpu_s >= orphaned.cpu_s - 1e-6


def test_without_the_kernels_lists_the_tree_is_the_same(root, monkeypatch):
    root.does("child 0.02")
    root.does("child 0.02")
    listed = ProcessTree(root.pid).read()
    monkeypatch.setattr(procfs, "KERNEL_LISTS_CHILDREN", False)
    scanned = ProcessTree(root.pid).read()
    assert scanned.n_processes == listed.n_processes == 3
    assert scanned.cpu_s == pytest.approx(listed.cpu_s, abs=0.02)


def test_memory_is_that_of_the_whole_tree(root):
    tree = ProcessTree(root.pid)
    alone = tree.memory()
    root.does("child 0")
    both = tree.memory()
    assert alone is not None
    assert both is not None
    assert both.pss_bytes > 1_000_000
    # A forked child shares nearly all, so it adds little: that is what PSS is for.
    assert both.pss_bytes < 1.9 * alone.pss_bytes
    # What is still shared after the fork is neither's own any more.
    assert 0 < both.uss_bytes < both.pss_bytes


def test_a_root_that_is_gone_keeps_its_last_figure():
    with told() as root:
        tree = ProcessTree(root.pid)
        root.does("burn 0.02")
        last = tree.read()
    gone = tree.read()
    assert gone.n_processes == 0
    assert gone.cpu_s == last.cpu_s
    assert tree.memory() is None


@pytest.mark.parametrize("lists_children", [True, False])
def test_reading_while_children_come_and_go_neither_loses_nor_doubles(
    root, lists_children, monkeypatch
):
    if not lists_children:
        monkeypatch.setattr(procfs, "KERNEL_LISTS_CHILDREN", False)
    tree = ProcessTree(root.pid)
    first = read_beside(root, tree)
    n_children, before = 30, first.reading

    def listen():
        for _ in range(2 * n_children):
            root.said()

    listener = Thread(target=listen)
    listener.start()
    # Each uses more than ticks can hide.
    root.is_told("\n".join([f"zombie {1.5 * TICKS_S}\nreap 1"] * n_children))
    n_readings = 0
    while listener.is_alive():
        now = tree.read()
        assert now.cpu_s >= before.cpu_s - TICKS_S, "a child's time was lost"
        before = now
        n_readings += 1
    listener.join(DEADLINE_S)
    assert n_readings >= n_children
    agree(first, read_beside(root, tree), within_s=TICKS_S)
