"""What /proc says of processes: lines that the kernel may write, and real processes."""

import ast
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.rows import each_row

import httpdyno
from httpdyno.host import procfs
from httpdyno.host.procfs import (
    ProcessStat,
    children_among,
    children_now,
    content,
    context_switches,
    ignores_children,
    of_process,
    page_table_bytes,
    process_clock,
    readable,
    stat_of,
    status_words,
    thread_ids,
    thread_state,
    walk,
)

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
STAT = b"812 (a ) (b) S 1 811 810 5 -1 4194560 700 9 3 4 250 120 75 25 20 0 7 0 4711 9000 512 1 0"
STATUS = b"Name:\tx\nUid:\t33\t33\t0\t33\nVmPTE:\t     188 kB\nNSpid:\t812\t7\nlast:\t1"
NOBODY = 4_194_304
"""One more than any process can have."""


def test_a_name_may_contain_anything():
    seen = ProcessStat(STAT)
    assert (seen.pid, seen.name, seen.state, seen.parent) == (812, "a ) (b", "sleeping", 1)
    assert (seen.session, seen.terminal, seen.n_threads) == (810, 5, 7)
    assert (seen.minor_faults, seen.major_faults) == (700, 3)
    assert (seen.reaped_minor_faults, seen.reaped_major_faults) == (9, 4)
    assert (seen.started_ticks, seen.rss_bytes) == (4711, 512 * PAGE_BYTES)
    assert (seen.user_s, seen.system_s) == (250 / TICKS_PER_S, 120 / TICKS_PER_S)
    assert seen.reaped_s == 100 / TICKS_PER_S


@each_row("name", [b"", b"\xff\xe2", b"w\n1 (x) Z 2", b") R 1 ("])
def test_no_name_is_taken_for_what_comes_after_it(name):
    seen = ProcessStat(STAT.replace(b"a ) (b", name))
    assert seen.name == name.decode(errors="replace")
    assert (seen.state, seen.parent, seen.started_ticks) == ("sleeping", 1, 4711)


@each_row(
    ("letter", "state", "has_ended"),
    [
        (b"R", "running", False),
        (b"D", "disk sleep", False),
        (b"T", "stopped", False),
        (b"Z", "zombie", True),
        (b"X", "dead", True),
        (b"x", "dead", True),
        (b"?", "unknown", False),
    ],
)
def test_a_letter_stands_for_a_state(letter, state, has_ended):
    seen = ProcessStat(STAT.replace(b") S", b") " + letter))
    assert (seen.state, seen.has_ended) == (state, has_ended)


def test_a_process_says_itself():
    seen = stat_of(os.getpid())
    assert seen is not None
    assert (seen.pid, seen.parent, seen.session) == (os.getpid(), os.getppid(), os.getsid(0))
    assert seen.state == thread_state(os.getpid(), os.getpid()) == "running"
    assert seen.n_threads == len(thread_ids(os.getpid()))


@pytest.mark.parametrize("lists_children", [True, False])
def test_of_one_who_is_gone_there_is_nothing(lists_children, monkeypatch):
    monkeypatch.setattr(procfs, "KERNEL_LISTS_CHILDREN", lists_children)
    assert (stat_of(NOBODY), of_process(NOBODY, b"status")) == (None, b"")
    assert (thread_ids(NOBODY), thread_state(os.getpid(), NOBODY)) == ((), "dead")
    for is_known in (True, False):
        assert children_now()(NOBODY, has_one_thread=is_known) == []
    assert content(b"/proc/4194304/stat") == b""
    with pytest.raises(FileNotFoundError):
        readable(b"/proc/4194304/stat")


@pytest.mark.parametrize("lists_children", [True, False])
def test_children_are_those_that_were_begun_zombies_too(lists_children, monkeypatch):
    monkeypatch.setattr(procfs, "KERNEL_LISTS_CHILDREN", lists_children)
    with (
        subprocess.Popen([sys.executable, "-S", "-c", "pass"]) as ended,
        subprocess.Popen(["/bin/sleep", "600"]) as asleep,
    ):
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert {ended.pid, asleep.pid} <= {*children_now()(os.getpid())}
        assert children_now()(asleep.pid, has_one_thread=True) == []
        asleep.kill()


def test_a_field_of_a_status_is_found_by_its_whole_name():
    assert status_words(STATUS, b"Uid") == [b"33", b"33", b"0", b"33"]
    assert status_words(STATUS, b"NSpid") == [b"812", b"7"]
    assert status_words(STATUS, b"last") == [b"1"]
    assert status_words(STATUS, b"id") == status_words(b"", b"Uid") == []


def test_the_clock_of_a_process_is_the_one_that_it_reads_itself():
    clock = process_clock(os.getpid())
    before_s = time.process_time()
    seen_s = time.clock_gettime(clock)
    assert before_s <= seen_s <= time.process_time()


def test_a_mask_tells_what_is_ignored():
    assert ignores_children(b"Name:\tx\nSigIgn:\t0000000000011000\nSigCgt:\t0\n")
    assert not ignores_children(b"Name:\tx\nSigIgn:\t0000000000001000\nSigCgt:\t0\n")
    assert not ignores_children(b"")


def test_page_tables_are_told_of_every_process_but_zombies():
    assert page_table_bytes(STATUS) == 188 * 1024
    assert page_table_bytes(b"Name:\tx\nState:\tZ (zombie)\n") is None


def test_switches_are_the_last_lines_of_the_status():
    text = b"Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n"
    assert context_switches(text) == (12, 3)
    assert context_switches(b"Name:\tx\n") is None


PARENTS = {2: 1, 3: 1, 4: 2, 5: 4, 6: 3, 9: 8}


def test_a_walk_meets_each_once_after_its_parent_and_in_order():
    below = children_among(PARENTS)
    assert walk([1], below) == [1, 2, 4, 5, 3, 6]
    assert walk([4, 1, 8], below) == [4, 5, 1, 2, 3, 6, 8, 9]
    assert walk([], below) == []


def test_a_walk_ends_where_each_is_below_the_other():
    assert walk([1], children_among({1: 2, 2: 1, 3: 3})) == [1, 2]


def test_a_root_is_asked_for_when_all_before_is_seen():
    seen = []
    children_of = children_among(PARENTS)

    def below(pid):
        seen.append(pid)
        return children_of(pid)

    def roots():
        yield 2
        assert seen == [2, 4, 5]
        yield 8

    assert walk(roots(), below) == seen == [2, 4, 5, 8, 9]


PROCESSES = {
    "httpdyno.host.procfs",
    "httpdyno.host.process_identity",
    "httpdyno.servers.run.live_process",
    "httpdyno.servers.discover.process",
    "httpdyno.telemetry.worker",
}
"""Where a module knows processes from."""


def modules_with(pattern):
    """Return the product's modules whose text has something, parsed, by their paths."""
    folder = Path(httpdyno.__file__).parent
    texts = {path: path.read_text() for path in folder.rglob("*.py")}
    return {
        str(path.relative_to(folder)): ast.parse(text)
        for path, text in texts.items()
        if re.search(pattern, text)
    }


def names_file(node):
    """Whether this names a file that says what a process is, or who is below it."""
    names = ("stat", "children")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return isinstance(node.right, ast.Constant) and node.right.value in names
    text = node.value if isinstance(node, ast.Constant) else None
    if isinstance(text, bytes):
        return text.decode(errors="replace").rpartition("/")[2] in names
    # The machine's is another one.
    return isinstance(text, str) and text.endswith(("/stat", "/children")) and text != "/proc/stat"


def is_walk(loop):
    """Whether a loop goes on until what it goes on for is empty, and finds more of it meanwhile."""
    if not (isinstance(loop, ast.While) and isinstance(loop.test, ast.Name)):
        return False
    more = {"append", "extend", "add", "update"}
    return any(
        (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.Attribute) and node.attr in more)
        for node in ast.walk(loop)
        if loop.test.id in (getattr(node, "id", ""), getattr(getattr(node, "value", 0), "id", ""))
    )


def test_one_place_takes_apart_what_a_process_s_stat_says():
    found = modules_with("stat[\"']|children[\"']")
    takes = {path for path, tree in found.items() if any(map(names_file, ast.walk(tree)))}
    assert takes == {"host/procfs.py"}


def test_one_place_walks_trees_of_processes():
    found = modules_with("|".join(PROCESSES))
    # What only reads a file walks no tree of them.
    knows = {path: tree for path, tree in found.items() if imported(tree) - {"content", "readable"}}
    knows |= modules_with("class ProcessStat")
    walks = {path: sum(map(is_walk, ast.walk(tree))) for path, tree in knows.items()}
    assert {path: n for path, n in walks.items() if n} == {"host/procfs.py": 1}


def imported(tree):
    """Return what a module knows of processes by others."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {each.name for node in nodes if node.module in PROCESSES for each in node.names}
