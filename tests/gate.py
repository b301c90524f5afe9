"""Run the linters and all tests, and say at the end how many passed, failed and were skipped.

What only computes or compiles goes in two lanes side by side, one for Rust and one for Python; what
looks at time, starts servers or loads them has the machine for itself afterwards. All of it runs,
also after something failed. Arguments go to pytest.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic

from tests import rust
from tests.verdict import Counts

REPOSITORY = Path(__file__).parent.parent
PYTEST = (sys.executable, "-m", "pytest", "--durations=10")
CALM = ("tests/stats", "tests/report", "tests/model")
"""Tests that compute: how long they take says nothing, nor does what runs beside them."""
NO_TESTS = 5
"""Pytest's exit status where the arguments chose none."""

MAKE = ("make", "--silent")
TO_COMPILE = (
    ("cargo", "build", "--locked", "-p", "httpdyno-oracle"),
    ("cargo", "test", "--workspace", "--locked", "--no-run"),
)


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
        self.steps: list[Step] = []

    def run(self) -> int:
        """Run everything and return the exit status."""
        with ThreadPoolExecutor(2) as lanes:
            for lane in [lanes.submit(self.rust_lane), lanes.submit(self.python_lane)]:
                lane.result()
        self.rust_tests()
        others = [f"--ignore={folder}" for folder in CALM]
        self.pytest("the other Python tests", others, is_shown=True)
        return self.end()

    def rust_lane(self) -> None:
        """Lint and compile."""
        for command in ((*MAKE, "lint-rust"), *TO_COMPILE):
            self.command(" ".join(command), command)

    def python_lane(self) -> None:
        """Lint, and test what only computes."""
        command = (*MAKE, "lint-python")
        self.command(" ".join(command), command)
        self.pytest("the Python tests that compute", CALM)

    def rust_tests(self) -> None:
        """Run the Rust tests."""
        began_s = monotonic()
        status, counts = rust.outcome(rust.run, print)
        self.steps.append(Step("the Rust tests", status, monotonic() - began_s, counts))

    def pytest(self, name: str, chosen: Sequence[str], *, is_shown: bool = False) -> None:
        """Run a part of the Python tests."""
        file = self._folder / name
        command = (*PYTEST, f"--count-into={file}", *chosen, *self._arguments)
        self.command(name, command, count_file=file, is_shown=is_shown)

    def command(
        self,
        name: str,
        command: Sequence[str],
        *,
        count_file: Path | None = None,
        is_shown: bool = False,
    ) -> None:
        """Run a command; what it says is shown as it comes, or whole when it has ended."""
        began_s = monotonic()
        done = subprocess.run(
            command,
            cwd=REPOSITORY,
            check=False,
            stdout=None if is_shown else subprocess.PIPE,
            stderr=None if is_shown else subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        status = 0 if count_file and done.returncode == NO_TESTS else done.returncode
        counts = Counts.read(count_file) if count_file else Counts()
        with self._printing:
            self.steps.append(Step(name, status, monotonic() - began_s, counts))
            print(f"==> {name}\n{done.stdout or ''}", end="", flush=True)

    def end(self) -> int:
        """Say how long each step took and how it all ended."""
        for step in self.steps:
            what = "" if step.status == 0 else f": failed with exit status {step.status}"
            print(f"{step.took_s:7.1f} s  {step.name}{what}")
        status = int(any(step.status for step in self.steps))
        print(sum((step.counts for step in self.steps), Counts()).ending(status), flush=True)
        return status


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="httpdyno-gate-") as _folder:
        sys.exit(Gate(Path(_folder), sys.argv[1:]).run())
