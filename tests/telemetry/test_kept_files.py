"""Files of /proc that stay open, on real processes."""

import gc
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from httpdyno.host.procfs import content, readable
from httpdyno.telemetry.processes import KeptFiles, descriptors_to_keep

DEADLINE_S = 10.0
SAID = (b"stat", b"status", b"syscall")


def n_open():
    return len(list(Path("/proc/self/fd").iterdir()))


def asleep():
    """Start a process and wait until nothing changes in it any more: its program is loaded."""
    process = subprocess.Popen(["sleep", "60"])
    before, now = b"", b" "
    deadline_s = time.monotonic() + DEADLINE_S
    while before != now or b" (sleep) S " not in now:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
        before, now = now, b"".join(content(b"/proc/%d/%s" % (process.pid, name)) for name in SAID)
    return process


def end(process):
    process.kill()
    process.wait()


@pytest.fixture
def sleeping():
    process = asleep()
    yield process
    end(process)


@pytest.mark.parametrize("most", [0, 1, 10])
def test_what_is_kept_says_what_a_fresh_one_says(sleeping, most):
    files, before = KeptFiles(most), n_open()
    for name in (b"stat", b"status", b"task/%d/syscall" % sleeping.pid) * 3:
        assert files.readable(sleeping.pid, name) == content(b"/proc/%d/%s" % (sleeping.pid, name))
        assert n_open() - before <= most
    assert n_open() - before == min(most, 3)


def test_it_says_what_is_now():
    program = "import sys\nfor line in sys.stdin: print(sum(range(3_000_000)), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        files, told = KeptFiles(3), []
        for _ in range(2):
            print("go", file=process.stdin, flush=True)
            process.stdout.readline()
            told.append(int(files.content(process.pid, b"schedstat").split()[0]))
        end(process)
    assert told[1] > told[0] > 0


def test_who_has_ended_is_gone_and_nothing_of_it_stays_open(sleeping):
    other, before = asleep(), n_open()
    files = KeptFiles(10)
    assert files.content(other.pid, b"stat")
    assert files.content(sleeping.pid, b"stat")
    end(other)
    assert files.content(other.pid, b"stat") == b""
    with pytest.raises(FileNotFoundError):
        files.readable(other.pid, b"stat")
    assert n_open() - before == 1


def test_those_of_others_are_closed(sleeping):
    before, files = n_open(), KeptFiles(10)
    for name in (b"stat", b"status"):
        files.content(sleeping.pid, name)
        files.content(os.getpid(), name)
    files.keep_only({sleeping.pid})
    assert n_open() - before == 2
    assert files.content(os.getpid(), b"stat")
    del files
    gc.collect()
    assert n_open() == before


def test_a_list_that_may_be_cut_is_read_anew():
    files, name = KeptFiles(10), b"smaps"  # longer than one reading
    assert len(readable(b"/proc/self/smaps")) > 4096
    lines = [
        [line for line in text.splitlines() if b" r-xp " in line]
        for text in (files.content(os.getpid(), name), content(b"/proc/self/smaps"))
    ]
    assert lines[0] == lines[1]


def test_a_part_of_what_may_be_opened_may_be_kept(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    assert descriptors_to_keep(0.5) == 512
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert descriptors_to_keep(0.5) == 4096
