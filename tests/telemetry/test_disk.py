"""What a server's processes read and write, followed over those that come and go."""

import subprocess
import sys
import time

import pytest

from httpdyno.reason import because
from httpdyno.telemetry.profile import counters
from httpdyno.telemetry.profile.counters import DiskTransfers, Transfers
from httpdyno.telemetry.worker import Sample, Worker, WorkerSampler, not_visible

IO = b"rchar: 9\nwchar: 9\nsyscr: %d\nsyscw: 0\nread_bytes: %d\nwrite_bytes: 0\n"
PARENT, CHILD = 7, 8


def worker(pid: int, **more: object) -> Worker:
    told: dict[str, object] = {
        "pid": pid,
        "parent": 1 if pid == PARENT else PARENT,
        "name": "x",
        "state": "sleeping",
        "started_ticks": pid,
        "age_s": 1.0,
        "user_s": 0.0,
        "system_s": 0.0,
        "minor_faults": 0,
        "major_faults": 0,
        "n_threads": 1,
        "rss_bytes": 0,
    }
    return Worker(**{**told, **more})  # type: ignore[arg-type]


class Kernel:
    """What /proc tells, made up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: dict[int, int | OSError] = {}
        self.at_s = 100.0
        monkeypatch.setattr(counters, "readable", self._readable)
        monkeypatch.setattr(time, "monotonic", lambda: self.at_s)

    def _readable(self, path: bytes) -> bytes:
        told = self.read.get(int(path.split(b"/")[2]), FileNotFoundError())
        if isinstance(told, OSError):
            raise told
        return IO % (told, told)

    def sample(self, *workers: Worker) -> Sample:
        return Sample(at_s=self.at_s, root_pids=(PARENT,), workers=workers)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    return Kernel(monkeypatch)


def test_a_child_that_goes_over_to_its_parent_is_counted_once(kernel):
    transfers = DiskTransfers()
    kernel.read = {PARENT: 10, CHILD: 500}
    first = transfers.look(kernel.sample(worker(PARENT), worker(CHILD)))
    assert first is not None
    assert (first.moved, first.seconds) == (None, 0.0)
    # It read 20 more and ended after the sample was taken.
    kernel.read, kernel.at_s = {PARENT: 540}, 102.0
    seen = transfers.look(kernel.sample(worker(PARENT), worker(CHILD)))
    assert seen is not None
    assert seen.seconds == 2.0
    assert seen.moved == Transfers(read_calls=30, read_bytes=30)


@pytest.mark.parametrize("is_seen", [True, False])
def test_what_a_dead_child_read_is_not_taken_off_where_nobody_takes_it_over(kernel, is_seen):
    transfers = DiskTransfers()
    parent = worker(PARENT, ignores_children=is_seen)
    kernel.read = {PARENT: 10 if is_seen else PermissionError(), CHILD: 500, 9: 0}
    transfers.look(kernel.sample(parent, worker(CHILD), worker(9)))
    kernel.read = {PARENT: kernel.read[PARENT], 9: 40}
    kernel.at_s = 101.0
    seen = transfers.look(kernel.sample(parent, worker(9)))
    assert seen is not None
    assert seen.moved is not None
    assert seen.moved.read_bytes == 40
    assert bool(seen.hidden) is not is_seen


def test_what_may_not_be_seen_is_said_and_no_zero(kernel):
    transfers = DiskTransfers()
    kernel.read = {PARENT: PermissionError()}
    for kernel.at_s in (1.0, 2.0):
        seen = transfers.look(kernel.sample(worker(PARENT)))
    assert seen is not None
    assert seen.moved is None
    assert seen.hidden == because("telemetry.disk", why=not_visible())


def test_it_is_read_as_seldom_as_it_may_cost(kernel, monkeypatch):
    costs_s = iter([0.0, 0.002, 0.0, 0.0])
    monkeypatch.setattr(time, "thread_time", lambda: next(costs_s))
    transfers = DiskTransfers(most_ratio=0.001)
    kernel.read = {PARENT: 10}
    first = transfers.look(kernel.sample(worker(PARENT)))
    kernel.at_s = 101.9
    assert transfers.look(kernel.sample(worker(PARENT))) is first
    kernel.at_s = 102.1
    assert transfers.look(kernel.sample(worker(PARENT))) is not first


def test_what_a_process_writes_to_a_file_is_seen(tmp_path):
    code = (
        "import os, sys\n"
        "with open(sys.argv[1], 'wb') as file:\n"
        "    for line in sys.stdin:\n"
        "        file.write(b'x' * (1 << 20)); file.flush()\n"
        "        print(flush=True)\n"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(tmp_path / "written")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        sampler, transfers = WorkerSampler([process.pid]), DiskTransfers()
        transfers.look(sampler.read())
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        seen = transfers.look(sampler.read())
        process.stdin.close()
    assert seen is not None
    assert seen.moved is not None
    # In memory alone, as in tmpfs, nothing of it is for a disk.
    assert seen.moved.written_bytes == 0 or seen.moved.written_bytes >= 1 << 20
    assert seen.moved.write_calls >= 2
