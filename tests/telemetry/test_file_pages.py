"""Pages of files are counted once for a server, whoever else has them."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

from httpdyno.telemetry import file_pages
from httpdyno.telemetry.file_pages import file_bytes
from httpdyno.telemetry.process_tree import memory_of

FILE_BYTES = 8 << 20
SLACK_BYTES = 256 << 10
READER = """
import mmap, sys
with open(sys.argv[1], "r+b") as file:
    pages = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE)
sum(pages[::4096])
pages[: int(sys.argv[2])] = b"x" * int(sys.argv[2])
print("read", flush=True)
sys.stdin.read()
"""


@contextmanager
def reader(path, *, n_written=0):
    """Have a process that holds all of a file, with so much of it written to, for itself."""
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(path), str(n_written)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"read\n"
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


def test_what_is_not_told_is_not_guessed(path, monkeypatch):
    monkeypatch.setattr(file_pages, "_MOST_PAGES", 10)
    with reader(path) as one:
        assert file_bytes([one]) is None
        found = memory_of([one])
    assert found is not None
    assert found.pss_bytes > 0
    assert file_bytes([2**22 + 1]) == 0
