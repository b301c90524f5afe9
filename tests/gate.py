"""Run the linters and all tests, and say at the end how many passed, failed and were skipped.

What compiles, what computes and what mostly waits goes in three lanes side by side; what looks at
time has the machine for itself afterwards. All of it runs, also after something failed. Arguments
go to pytest.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock
from time import monotonic

from tests import rust
from tests.verdict import Counts

REPOSITORY = Path(__file__).parent.parent
PYTEST = (sys.executable, "-m", "pytest", "--durations=10")
CALM = ("tests/stats", "tests/report", "tests/model")
"""Tests that compute: how long they take says nothing, nor does what runs beside them."""
PATIENT = (
    "tests/docs",
    "tests/benches/test_fault_inputs.py",
    "tests/benches/test_fault_resumes.py",
    "tests/servers/test_misbehaving.py",
)
"""Tests that mostly wait for what they started, and say nothing of how long it took."""
NO_TESTS = 5
"""Pytest's exit status where the arguments chose none."""

MAKE = ("make", "--silent")
# The origin with known timing is built like the tests that use it.
BUILD_ORIGIN = ("cargo", "build", "--locked", "-p", "httpdyno-oracle")
BUILD_TESTS = ("cargo", "test", "--workspace", "--locked", "--no-run")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that was run to its end."""

    name: str
    status: int
    took_s: float
    counts: Counts


class Gate:
    """What was run so far, with its counts in a folder of its own."""

    def __init__(self, folder: Path, pytest_arguments: Sequence[str]) -> None:
        self._folder = folder
        self._arguments = tuple(pytest_arguments)
        self._printing = Lock()
        self._has_origin = Event()
        self.steps: list[Step] = []

    def run(self) -> int:
        """Run everything and return the exit status."""
        with ThreadPoolExecutor(3) as lanes:
            begun = [lanes.submit(each) for each in (self.compiles, self.computes, self.waits)]
            for lane in begun:
                lane.result()
        self.rust_tests()
        others = [f"--ignore={path}" for path in (*CALM, *PATIENT)]
        self.pytest("the other Python tests", others, is_shown=True)
        return self.end()

    def compiles(self) -> None:
        """Compile, and lint what is compiled."""
        try:
            self.command(BUILD_ORIGIN)
        finally:
            self._has_origin.set()
        self.command((*MAKE, "lint-rust"))
        self.command(BUILD_TESTS)

    def computes(self) -> None:
        """Lint Python, and test what only computes."""
        self.command((*MAKE, "lint-python"))
        self.pytest("the Python tests that compute", CALM)

    def waits(self) -> None:
        """Test what needs little of the machine, and the origin."""
        self._has_origin.wait()
        self.pytest("the Python tests that wait", PATIENT)

    def rust_tests(self) -> None:
        """Run the Rust tests."""
        began_s = monotonic()
        status, counts = rust.outcome(rust.run, print)
        self.add(Step("the Rust tests", status, monotonic() - began_s, counts), "")

    def pytest(self, name: str, chosen: Sequence[str], *, is_shown: bool = False) -> None:
        """Run a part of the Python tests; what they say is shown as it comes, or at their end."""
        file = self._folder / name
        command = (*PYTEST, f"--count-into={file}", *chosen, *self._arguments)
        began_s = monotonic()
        status, output = ran(command, is_shown=is_shown)
        status = 0 if status == NO_TESTS else status
        self.add(Step(name, status, monotonic() - began_s, Counts.read(file)), output)

    def command(self, command: Sequence[str]) -> None:
        """Run a command and show what it said when it has ended."""
        began_s = monotonic()
        status, output = ran(command)
        self.add(Step(" ".join(command), status, monotonic() - began_s, Counts()), output)

    def add(self, step: Step, output: str) -> None:
        """Keep a step and show what it said, in one piece."""
        with self._printing:
            self.steps.append(step)
            print(f"==> {step.name}\n{output}", end="", flush=True)

    def end(self) -> int:
        """Say how long each step took and how it all ended."""
        for step in self.steps:
            what = "" if step.status == 0 else f": failed with exit status {step.status}"
            print(f"{step.took_s:7.1f} s  {step.name}{what}")
        status = int(any(step.status for step in self.steps))
        print(sum((step.counts for step in self.steps), Counts()).ending(status), flush=True)
        return status


def ran(command: Sequence[str], *, is_shown: bool = False) -> tuple[int, str]:
    """Run a command to its end; return its exit status, and what it said if it was not shown."""
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        check=False,
        stdout=None if is_shown else subprocess.PIPE,
        stderr=None if is_shown else subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return done.returncode, done.stdout or ""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="httpdyno-gate-") as _folder:
        sys.exit(Gate(Path(_folder), sys.argv[1:]).run())
