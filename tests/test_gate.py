"""The gate's last lines and its exit status, whatever went wrong."""

import subprocess
import sys

import pytest
from tests import gate, rust
from tests.gate import Gate
from tests.verdict import Counts

FINE = (sys.executable, "-c", "")
WRONG = (sys.executable, "-c", "print('what is wrong'); raise SystemExit(3)")
RUST = (0, Counts(passed=7))
COUNTED = """
import sys
from pathlib import Path
from tests.verdict import Counts

file = next(word.partition("=")[2] for word in sys.argv if word.startswith("--count-into="))
Counts(passed=5, skipped=2, tried_again=1).write(Path(file))
"""


@pytest.fixture
def steps(monkeypatch):
    """Let each step be a program of ours, or a result."""

    def let(*, lint=FINE, tests=(sys.executable, "-c", COUNTED), of_rust=RUST):
        monkeypatch.setattr(gate, "MAKE", lint)
        monkeypatch.setattr(gate, "BUILD_ORIGIN", FINE)
        monkeypatch.setattr(gate, "BUILD_TESTS", FINE)
        monkeypatch.setattr(gate, "PYTEST", tests)
        monkeypatch.setattr(rust, "outcome", lambda *_: of_rust)

    return let


@pytest.mark.parametrize(
    ("wrong", "last"),
    [
        ({}, "22 passed, 0 failed, 6 skipped"),
        ({"lint": WRONG}, "22 passed, 1 failed, 6 skipped"),
        ({"of_rust": (101, Counts(passed=6, failed=2))}, "21 passed, 2 failed, 6 skipped"),
        ({"of_rust": (101, Counts())}, "15 passed, 1 failed, 6 skipped"),
        ({"tests": WRONG}, "7 passed, 1 failed, 0 skipped"),
    ],
)
def test_the_last_lines_and_the_status_are_right(steps, tmp_path, capfd, wrong, last):
    steps(**wrong)
    assert Gate(tmp_path, []).run() == int(bool(wrong))
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1] == last
    assert lines[-2].startswith("tests tried again: ")
    assert ("what is wrong" in lines) == (WRONG in wrong.values())


def test_arguments_go_to_pytest_and_none_of_its_tests_is_no_failure(steps, tmp_path, capfd):
    steps(tests=(sys.executable, "-c", "import sys; print(sys.argv); sys.exit(5)"))
    assert Gate(tmp_path, ["-m", "not real_server"]).run() == 0
    assert capfd.readouterr().out.count("'-m', 'not real_server'") == 3


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
        cwd=gate.REPOSITORY,
        check=False,
        capture_output=True,
    )
    assert Counts.read(file) == Counts(passed=1, failed=2, skipped=1)
    assert Counts.read(tmp_path / "nothing") == Counts()
