"""Pages of files are counted once for a server, whoever else has them."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from httpdyno.telemetry import file_pages
from httpdyno.telemetry.account import memory_of
from httpdyno.telemetry.file_pages import file_bytes

DEADLINE_S = 10.0
FILE_BYTES = 8 << 20
SLACK_BYTES = 256 << 10
READER = """
import ctypes, mmap, sys
# Of libraries the kernel maps what lies around a fault, as it is in the cache just then: all of
# them, so that two of one program have the same (MADV_POPULATE_READ).
madvise = ctypes.CDLL(None).madvise
for line in open("/proc/self/maps"):
    place, access, _, _, inode, *_ = line.split()
    if inode != "0" and access.startswith("r"):
        low, high = (int(each, 16) for each in place.split("-"))
        madvise(ctypes.c_void_p(low), ctypes.c_size_t(high - low), 22)
with open(sys.argv[1], "r+b") as file:
    pages = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE)
sum(pages[::4096])
pages[: int(sys.argv[2])] = b"x" * int(sys.argv[2])
print("read", flush=True)
sys.stdin.read()
"""


# The first of a namespace of its own has the number 0.
BY_NUMBER = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
assert libc.unshare(0x0800_0000) == 0
number = libc.shmget(0, ctypes.c_size_t(int(sys.argv[1])), 0o600)
libc.memset(ctypes.c_void_p(libc.shmat(number, None, 0)), 1, ctypes.c_size_t(int(sys.argv[1])))
print("read", flush=True)
sys.stdin.read()
"""
FAR = """
import mmap, os, sys
file = os.memfd_create("far")
os.truncate(file, (1 << 60) + int(sys.argv[1]))
pages = mmap.mmap(file, int(sys.argv[1]), offset=1 << 60)
pages[:] = b"x" * len(pages)
print("read", flush=True)
sys.stdin.read()
"""


def reader(path, *, n_written=0):
    """Have a process that holds all of a file, with so much of it written to, for itself."""
    return running(READER, str(path), str(n_written))


@contextmanager
def running(code, *words):
    """Have a process that holds what it says that it has read."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"read\n"
        # What it needs to wait for its end is there once it waits.
        deadline_s = time.monotonic() + DEADLINE_S
        while b") S " not in Path(f"/proc/{process.pid}/stat").read_bytes():
            assert time.monotonic() < deadline_s
            time.sleep(0.001)
        try:
            yield process.pid
        finally:
            process.kill()


@pytest.fixture
def path(tmp_path):
    (tmp_path / "data").write_bytes(b"." * FILE_BYTES)
    return tmp_path / "data"


def test_a_server_takes_as_much_when_another_one_has_the_same_files(path):
    with reader(path) as one:
        alone, of_files = memory_of([one]), file_bytes([one])
        with reader(path) as other:
            beside, together = memory_of([one]), file_bytes([one, other])
    assert alone is not None
    assert beside is not None
    assert of_files is not None
    assert together is not None
    assert of_files > FILE_BYTES
    assert beside.pss_bytes == pytest.approx(alone.pss_bytes, abs=SLACK_BYTES)
    assert together == pytest.approx(of_files, abs=SLACK_BYTES)


def test_what_was_written_to_is_no_files_any_more(path):
    n_written = FILE_BYTES // 2
    with reader(path) as one, reader(path, n_written=n_written) as other:
        read, written = file_bytes([one]), file_bytes([other])
        both = memory_of([one]), memory_of([other])
    assert read is not None
    assert written is not None
    assert read - written == pytest.approx(n_written, abs=SLACK_BYTES)
    assert both[0] is not None
    assert both[1] is not None
    assert both[1].pss_bytes == pytest.approx(both[0].pss_bytes, abs=SLACK_BYTES + (64 << 10))


def test_of_many_of_one_program_some_are_looked_at(path, monkeypatch):
    monkeypatch.setattr(file_pages, "_MOST_ALIKE", 1)
    with reader(path) as one, reader(path) as other:
        assert file_bytes([one, other]) == file_bytes([one])


def test_what_others_of_a_program_have_for_themselves_is_not_left_out(path, tmp_path, monkeypatch):
    (tmp_path / "own").write_bytes(b"." * 4 * FILE_BYTES)
    with reader(path) as one, reader(tmp_path / "own") as other:
        whole = memory_of([one, other])
        monkeypatch.setattr(file_pages, "_MOST_ALIKE", 1)
        found = memory_of([one, other])
    assert whole is not None
    assert found is not None
    # Of the program itself there is less in shares: others run it, too.
    assert whole.pss_bytes - found.pss_bytes < 2 * FILE_BYTES


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a namespace for its numbers")
def test_memory_that_is_shared_by_number_is_there_whatever_its_number():
    with running(BY_NUMBER, str(FILE_BYTES)) as pid:
        found = file_bytes([pid])
    with running("print('read', flush=True); input()") as pid:
        bare = file_bytes([pid])
    assert found is not None
    assert bare is not None
    assert found - bare > FILE_BYTES


def test_a_file_may_be_huge_if_little_of_it_is_mapped():
    with running(FAR, str(FILE_BYTES)) as pid:
        found = file_bytes([pid])
    assert found is not None
    assert found > FILE_BYTES


def test_what_is_not_told_is_not_guessed(path, monkeypatch):
    monkeypatch.setattr(file_pages, "_MOST_PAGES", 10)
    with reader(path) as one:
        assert file_bytes([one]) is None
        found = memory_of([one])
    assert found is not None
    assert found.pss_bytes > 0
    assert file_bytes([2**22 + 1]) == 0
