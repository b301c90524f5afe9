"""The gate's last lines and its exit status, whatever went wrong."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from tests import commands, gate, rust
from tests.gate import Gate
from tests.verdict import Counts

from httpdyno.servers.run.live_process import process_info

FINE = (sys.executable, "-c", "")
WRONG = (sys.executable, "-c", "print('what is wrong'); raise SystemExit(3)")
NONE_CHOSEN = (sys.executable, "-c", "raise SystemExit(5)")
SLOW = (sys.executable, "-c", "import time; time.sleep(600)")
RUST = (0, Counts(passed=7))
COUNTED = """
import sys
from pathlib import Path
from tests.verdict import Counts

from httpdyno.servers.run.live_process import process_info

file = next(word.partition("=")[2] for word in sys.argv if word.startswith("--count-into="))
Counts(passed=5, skipped=2, tried_again=1).write(Path(file))
"""
# Both linters hang, each with a process that left for a session of its own.
HANGING = """
import sys
from tests import gate

hanging = f'''
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
with open("{sys.argv[1]}/pids", "a") as file:
    file.write(f"{{os.getpid()}} {{child.pid}} ")
time.sleep(600)
'''
gate.MAKE = (sys.executable, "-c", hanging)
gate.BUILD_TESTS = gate.PYTEST = (sys.executable, "-c", "")
sys.exit(gate.main())
"""


@pytest.fixture
def steps(monkeypatch):
    """Let each step be a program of ours, or a result."""

    def let(*, lint=FINE, tests=(sys.executable, "-c", COUNTED), of_rust=RUST):
        monkeypatch.setattr(gate, "MAKE", lint)
        if lint == SLOW:
            monkeypatch.setattr(gate, "BUILD_S", 2.0)
        monkeypatch.setattr(gate, "BUILD_TESTS", FINE)
        monkeypatch.setattr(gate, "PYTEST", tests)
        monkeypatch.setattr(rust, "outcome", lambda *_: of_rust)

    return let


@pytest.mark.parametrize(
    ("wrong", "last"),
    [
        ({}, "42 passed, 0 failed, 14 skipped"),
        ({"lint": WRONG}, "42 passed, 2 failed, 14 skipped"),
        ({"of_rust": (101, Counts(passed=6, failed=2))}, "41 passed, 2 failed, 14 skipped"),
        ({"of_rust": (101, Counts())}, "35 passed, 1 failed, 14 skipped"),
        ({"tests": WRONG}, "7 passed, 7 failed, 0 skipped"),
        ({"tests": NONE_CHOSEN}, "7 passed, 8 failed, 0 skipped"),
        ({"lint": WRONG, "of_rust": (101, Counts())}, "35 passed, 3 failed, 14 skipped"),
        ({"lint": ("/no/such/program",)}, "42 passed, 2 failed, 14 skipped"),
        ({"lint": SLOW}, "42 passed, 2 failed, 14 skipped"),
    ],
)
def test_the_last_lines_and_the_status_are_right(steps, tmp_path, capfd, wrong, last):
    steps(**wrong)
    assert Gate(tmp_path, []).run() == int(bool(wrong))
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1] == last
    assert lines[-2].startswith("tests tried again: ")
    assert ("what is wrong" in lines) == (WRONG in wrong.values())


def test_each_test_is_in_one_part():
    parts = [gate.CALM, gate.PATIENT, gate.PRETENDING, gate.SERVING, gate.STUDIES]
    files: list[str] = []
    for path in (commands.REPOSITORY / each for part in parts for each in part):
        assert path.exists(), path
        files += map(str, path.rglob("test_*.py") if path.is_dir() else [path])
    assert len(files) == len(set(files)), [each for each in files if files.count(each) > 1]
    assert all((commands.REPOSITORY / each).exists() for each in gate.LOADING)


def test_arguments_go_to_pytest_and_a_part_without_tests_is_no_failure(steps, tmp_path, capfd):
    some = "import sys; print(sys.argv); sys.exit(0 if 'tests/stats' in sys.argv else 5)"
    steps(tests=(sys.executable, "-c", some))
    assert Gate(tmp_path, ["-m", "not real_server"]).run() == 0
    assert capfd.readouterr().out.count("'-m', 'not real_server'") == 7


def test_arguments_that_choose_no_test_at_all_are_a_failure(steps, tmp_path, capfd):
    steps(tests=NONE_CHOSEN)
    assert Gate(tmp_path, ["-k", "misspelt"]).run() == 1
    assert capfd.readouterr().out.splitlines()[-1] == "7 passed, 1 failed, 0 skipped"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_runs_and_begins_nothing_more(tmp_path, number):
    with subprocess.Popen(
        [sys.executable, "-c", HANGING, str(tmp_path)],
        cwd=commands.REPOSITORY,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        begun = numbers_in(tmp_path / "pids", 4)
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert out.splitlines()[-1].endswith(" 1 failed, 0 skipped")
    assert not [pid for pid in begun if process_info(pid) is not None]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pids"]


def numbers_in(file, n):
    """Return n processes' numbers when they are there."""
    deadline_s = time.monotonic() + 20
    while not file.exists() or len(file.read_text().split()) < n:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    return [int(word) for word in file.read_text().split()]


def test_pytest_counts_what_it_ran(tmp_path):
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\n"
        "def test_right(): pass\n"
        "def test_wrong(): assert False\n"
        "def test_skipped(): pytest.skip('no')\n"
        "@pytest.fixture\ndef broken(): raise RuntimeError\n"
        "def test_not_begun(broken): pass\n"
    )
    file = tmp_path / "counts.json"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        f"--rootdir={tmp_path}",
    ]
    subprocess.run(
        [*command, f"--count-into={file}", str(tmp_path)],
        cwd=commands.REPOSITORY,
        check=False,
        capture_output=True,
    )
    # Whether one was tried again is this machine's doing.
    counts = replace(Counts.read(file), tried_again=0)
    assert counts == Counts(passed=1, failed=2, skipped=1)
    assert Counts.read(tmp_path / "nothing") == Counts()
