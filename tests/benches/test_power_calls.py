"""Programs of checkouts, as the bench of what a budget proves calls them."""

import json
import sqlite3
import sys
import time
from _thread import interrupt_main
from contextlib import closing
from threading import Thread

import pytest
from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY
from benches.power import latency, origin_run
from benches.power.figure import THIS, Setting
from benches.power.program import (
    Ended,
    call,
    checkout,
    commit,
    engine,
    first_ready_s,
    python,
    run,
)

from httpdyno.model import Method

# Checkouts


def with_program(tree, first_line):
    program = tree / ".venv" / "bin" / "httpdyno"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{first_line}\n")
    return tree


def test_a_checkout_has_a_program(tmp_path):
    with pytest.raises(BenchError, match="make setup"):
        checkout(tmp_path)
    with pytest.raises(BenchError, match="cannot be run"):
        checkout(with_program(tmp_path, "/nowhere/python"))


def test_a_program_that_runs_another_checkout_is_none(tmp_path):
    # As where an environment was copied: it still runs what it was made for.
    copied = with_program(tmp_path, sys.executable)
    with pytest.raises(BenchError, match=r"runs `.*/httpdyno/__init__\.py`: `make"):
        checkout(copied)


def test_a_checkout_that_runs_itself_is_one_and_its_engine_has_a_name(tmp_path):
    whole = tmp_path / "whole"
    native = whole / "httpdyno" / "_native.py"
    native.parent.mkdir(parents=True)
    (native.parent / "__init__.py").touch()
    native.write_text("1")
    with_program(whole, f"{sys.executable} -S")
    assert checkout(whole) == whole
    before = engine(whole)
    assert len(before) == 12
    native.write_text("2")
    assert engine(whole) != before


def test_no_other_interpreter_stands_in_for_a_checkouts(tmp_path):
    with pytest.raises(BenchError, match="has no interpreter"):
        python(tmp_path)


def test_what_git_does_not_know_has_no_version(tmp_path):
    assert commit(tmp_path) == "unknown"


# Programs


def playing(tmp_path, script):
    """Return a setting in which `httpdyno` is a shell script; $5 is the file for its JSON."""
    program = with_program(tmp_path, f"/bin/sh\n{script}") / ".venv" / "bin" / "httpdyno"
    program.chmod(0o755)
    return Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1)


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        ("""echo '{"status": "complete"}' > $3""", ""),
        ("""echo '{"status": "comp' > $3; echo error: killed >&2""", "error: killed"),
        ("echo [1] > $3; echo error: odd >&2", "error: odd"),
        ("echo error: 20 s is too short >&2; exit 2", "refused: error: 20 s is too short"),
        ("echo error: no room >&2; exit 3", "error: no room"),
    ],
)
def test_what_a_program_did_not_find_is_told_in_its_words(tmp_path, script, trouble):
    assert call(playing(tmp_path, script), THIS, ["x"], longest_s=20.0).trouble == trouble


def test_what_servers_took_to_come_up_is_that_of_the_newest_runs_first_start(tmp_path):
    setting = Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1)
    assert first_ready_s(setting, THIS) == 0
    with closing(sqlite3.connect(tmp_path / f"{THIS}.db")) as store:
        store.execute("CREATE TABLE runs (id)")
        store.execute("CREATE TABLE starts (run_id, comparison, start, payload)")
        store.execute("INSERT INTO runs VALUES (1), (2)")
        store.commit()
        assert first_ready_s(setting, THIS) == 0
        rows = [(1, 1, 0, [9.0, 9.0]), (2, 1, 1, [8.0]), (2, 1, 0, [0.3, 0.5]), (2, 2, 0, [7.0])]
        told = [(*key, json.dumps({"ready_s": ready_s})) for *key, ready_s in rows]
        store.executemany("INSERT INTO starts VALUES (?, ?, ?, ?)", told)
        store.commit()
    assert first_ready_s(setting, THIS) == 0.5


def test_an_origin_that_says_nothing_is_not_waited_for(monkeypatch, tmp_path):
    silent = tmp_path / "oracle"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    monkeypatch.setattr(latency, "oracle", lambda: silent)
    monkeypatch.setattr(latency, "UP_S", 0.1)
    with pytest.raises(BenchError, match="did not come up"), latency.origin(["--service", "x"]):
        pass


SAYING = """
from benches.power.origin_run import loaded
real = loaded(Path({real!r}))
Case, Turnstile = real.Case, real.Turnstile
def measured(case, origins, turnstile, arguments):
    turnstile.enter(case.rate_per_s)
    sides = zip(case.kinds, case.latencies_ms)
    return {{"addresses": [origins.address(*side) for side in sides], "users": case.users,
             "s": real.duration_s(arguments.budget), "n": arguments.blocks, "name": str(case),
             "counts_ends": arguments.count_ends}}
"""
"""`benches/windows`, but that it says what it was asked for in place of measuring that."""


def test_a_checkout_is_asked_to_compare_origins_in_the_words_of_its_own_bench(
    monkeypatch, tmp_path, capsys
):
    file = tmp_path / "windows"
    real = str(REPOSITORY / "benches" / "windows")
    file.write_text("from pathlib import Path\n" + SAYING.format(real=real))
    job = {
        "windows": str(file),
        "kinds": ["lock"] * 2,
        "latencies_ms": [96.0, 119.8],
        "addresses": ["127.0.0.1:1", "127.0.0.1:2"],
        "users": 8,
        "seed": 1,
        "budget": "60s",
    }
    monkeypatch.setattr(sys, "argv", ["origin_run", json.dumps(job)])
    monkeypatch.setitem(sys.modules, "windows", None)
    assert origin_run.main() == 0
    assert json.loads(capsys.readouterr().out) == {
        "addresses": ["127.0.0.1:1", "127.0.0.1:2"],
        "users": 8,
        "s": 60.0,
        "n": Method().blocks_per_start,
        "name": f"lock 96.0 ms → lock 119.8 ms, 8 users, window {Method().window_s} s",
        "counts_ends": False,
    }


TIDY = """
import pathlib, signal, sys, time
def end(*_):
    pathlib.Path("put back").touch()
    sys.exit(0)
signal.signal(signal.SIGINT, end)
pathlib.Path("ready").touch()
time.sleep(60)
"""
"""A program that puts back what it changed when it is asked to end."""


def test_a_program_that_is_not_through_in_time_is_asked_to_end(tmp_path):
    ended = run([sys.executable, "-S", "-c", TIDY], patience_s=3.0, folder=tmp_path)
    assert (tmp_path / "put back").exists()
    assert ended.complaint == "error: it did not end within 3 s"


def test_an_interruption_waits_for_what_the_program_puts_back(tmp_path):
    def interrupt():
        deadline_s = time.monotonic() + 20
        while not (tmp_path / "ready").exists() and time.monotonic() < deadline_s:
            time.sleep(0.01)
        interrupt_main()

    watcher = Thread(target=interrupt)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        run([sys.executable, "-S", "-c", TIDY], patience_s=60.0, folder=tmp_path)
    watcher.join()
    assert (tmp_path / "put back").exists()


def test_a_complaint_is_the_error_and_not_what_went_before():
    said = Ended(
        stdout="", stderr="1 of 3\nerror: no room\n\nhint: free some\n", took_s=1, stolen_cores=0
    )
    assert said.complaint == "error: no room"
