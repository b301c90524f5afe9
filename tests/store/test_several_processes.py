"""Several processes at one store, and processes that are killed while they write."""

import sqlite3
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest
from tests.conformance.record import sample_host, sample_plan, sample_start, sample_window

from httpdyno.errors import StoreError
from httpdyno.store import Store


@pytest.fixture
def file(tmp_path):
    return tmp_path / "httpdyno.db"


@contextmanager
def writer(*arguments):
    """Start a writer that is ready to begin; killed at the end, if it has not ended itself."""
    command = [sys.executable, "-m", "tests.store.writer", *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def go(process):
    process.stdin.write("go\n")
    process.stdin.flush()


def integrity(file):
    connection = sqlite3.connect(file)
    try:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]
    finally:
        connection.close()


def test_several_processes_make_a_store_and_write_to_it_at_once(file):
    n_processes, n_starts = 4, 5
    with ExitStack() as stack:
        processes = [stack.enter_context(writer("run", file, n_starts)) for _ in range(n_processes)]
        for process in processes:
            go(process)
        ids = {process.stdout.readline().strip() for process in processes}
        assert [process.wait(30) for process in processes] == [0] * n_processes
    assert integrity(file) == "ok"
    with Store.open(str(file)) as store:
        assert {run.id for run in store.runs()} == ids
        assert len(ids) == n_processes
        for run_id in ids:
            assert store.starts(run_id) == [sample_start(start=n) for n in range(n_starts)]


@pytest.mark.parametrize("n_saved", [1, 7, 40])
def test_a_killed_process_has_lost_no_window_that_it_saved(file, n_saved):
    with writer("forever", file) as process:
        go(process)
        run_id = process.stdout.readline().strip()
        for _ in range(n_saved):
            process.stdout.readline()
        process.kill()
        # What it said between the last line read and the signal.
        n_said = n_saved + len(process.stdout.read().splitlines())
    assert integrity(file) == "ok"
    with Store.open(str(file)) as store:
        (run,) = store.runs()
        assert run.status == "interrupted"
        # One more may have been committed and not yet said.
        assert run.n_windows in {n_said, n_said + 1}
        store.take_over(run_id)
        store.save_start(run_id, sample_start())
        assert store.starts(run_id) == [sample_start()]


def test_a_write_that_was_cut_short_never_happened_and_holds_nobody_up(file):
    with Store.open(str(file)) as store:
        run_id = store.create_run(sample_plan(), sample_host())
        store.save_start(run_id, sample_start())
        with writer("uncommitted", file, run_id) as process:
            go(process)
            assert process.stdout.readline() == "written\n"
            process.kill()
            process.wait(10)
        store.save_window(run_id, sample_window(start=1))
        assert store.starts(run_id) == [sample_start()]
    assert integrity(file) == "ok"


def test_a_run_that_another_process_is_measuring_cannot_be_taken_over(file):
    with writer("hold", file) as process:
        go(process)
        run_id = process.stdout.readline().strip()
        with Store.open(str(file)) as store:
            assert store.runs()[0].status == "running"
            with pytest.raises(StoreError, match=f"process {process.pid} on") as caught:
                store.take_over(run_id)
            assert caught.value.hint
            process.kill()
            process.wait(10)
            assert store.runs()[0].status == "interrupted"
            store.take_over(run_id)
            assert store.runs()[0].status == "running"
