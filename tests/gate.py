"""Run the linters and all tests, and say at the end how many passed, failed and were skipped.

There are three lanes. Two compile, lint and compute; then one runs the Rust tests and those of real
servers, and the other waits until it may look at time. The third starts servers and bundled
studies, all along: it leaves most of the machine to the others. All of it runs, also after
something failed; what has not ended after its limit is ended, and has failed. Arguments go to
pytest.
"""

import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from time import monotonic

from tests import rust
from tests.commands import REPOSITORY, Commands, NotBegunError, exit_on_signals
from tests.verdict import Counts

PYTEST = (sys.executable, "-m", "pytest", "--durations=10")
LOADING = (
    "tests/experiment/test_first_steps.py",
    "tests/experiment/test_load_of_arms.py",
    "tests/experiment/test_load_side_by_side.py",
    "tests/experiment/test_looking.py",
    "tests/experiment/test_looks_afterwards.py",
    "tests/experiment/test_site_bench.py",
    "tests/experiment/test_start_load.py",
    "tests/experiment/test_start_phases.py",
)
"""Tests that load something and look at what came of it."""
CALM = (
    *("tests/stats", "tests/model", "tests/metrics"),
    *("tests/advice", "tests/book", "tests/study"),
    *(f"tests/report/{name}" for name in ("inspect", "load", "shared", "turns", "watch")),
    *("tests/load/test_access_log.py", "tests/load/test_message.py"),
    *(f"tests/cli/test_{name}.py" for name in ("completion", "formula", "knobs")),
    *("tests/benches/test_power.py", "tests/benches/test_power_program.py"),
    *("tests/test_catalog.py", "tests/test_secret.py", "tests/test_repository.py"),
    *(
        name
        for file in sorted((REPOSITORY / "tests/experiment").rglob("test_*.py"))
        if (name := str(file.relative_to(REPOSITORY))) not in LOADING
    ),
)
"""Tests that compute: how long they take says nothing, nor does what runs beside them."""
PATIENT = (
    "tests/docs",
    *("tests/benches/test_fault_inputs.py", "tests/benches/test_fault_rights.py"),
    "tests/servers/test_misbehaving.py",
    "tests/servers/test_script_server.py",
)
"""Tests that mostly wait for what they started, and say nothing of how long it took."""
PRETENDING = (
    "tests/benches/test_fault_resumes.py",
    "tests/test_commands.py",
    "tests/test_gate.py",
    "tests/benches/test_power_calls.py",
    "tests/benches/test_power_simulated.py",
    *(f"tests/cli/test_{name}.py" for name in ("app", "book", "doctor", "history", "study")),
    "tests/adopt",
    *(f"tests/servers/{kind}" for kind in ("apache", "command")),
    *(f"tests/servers/{kind}" for kind in ("gunicorn", "nginx", "php_fpm", "uvicorn")),
    *("tests/store", "tests/real/test_exits.py", "tests/report/study"),
)
"""Tests of what edits, whose servers and programs are mostly made up; and of those that may have
anything beside them as many as make this lane as long as the others."""
SERVING = (
    *("tests/servers/sandbox", "tests/servers/stack", "tests/servers/discover"),
    *("tests/servers/own_network", "tests/benches/test_fault_origins.py"),
    *(
        f"tests/servers/test_{name}.py"
        for name in ("process", "ready", "template", "unit", "views")
    ),
    "tests/servers/run/test_leftovers.py",
    *(f"tests/host/test_{name}.py" for name in ("foreign_path", "interruption", "runnable")),
    *("tests/conformance/test_server_holder.py", "tests/packaging"),
    *(f"tests/cli/load/test_{name}.py" for name in ("arguments", "habit", "nonsense", "traffic")),
    *(
        f"tests/cli/test_{name}.py"
        for name in (
            *("adopt", "early_signal", "mistaken_places", "mistakes"),
            *("only_shown", "output"),
            *("standard_streams", "study_check", "study_new", "study_serve", "trusted_study"),
            "watch_group",
        )
    ),
    *(
        f"tests/real/test_{name}.py"
        for name in (
            *("apache", "apache_seats", "apache_site", "attack", "book", "cell", "census"),
            *(
                "command",
                "command_sites",
                "copied",
                "gunicorn_cost",
                "inspect",
                "inspect_perl",
                "inspect_pool",
                "inspect_stock",
            ),
            *("nginx_copy", "nginx_edits", "nginx_keepalive", "nginx_reload"),
            *("own_site", "php_fpm_seats", "pool_room", "production", "production_gunicorn"),
            *("rehearsed_answers", "rule_claims", "sealed", "site_seed", "stand_ins"),
            *("stock_rules", "stock_sites", "study_check", "uvicorn", "vary", "wall_sites"),
        )
    ),
)
"""Tests that start real servers or make copies, read and edit: none measures time."""
STUDIES = ("tests/studies",)
"""Tests that start what is bundled, and say nothing of how long it took."""
REAL = "tests/real"
"""What of it is in no list has real servers do work, and looks at what comes of it."""
NO_TESTS = 5
"""Pytest's exit status where the arguments chose none."""

# Each linter is a target, and none hides what the next one finds.
MAKE = ("make", "--silent", "--keep-going")
# Tests start hundreds of programs, of which none compiles httpdyno for the next one where the
# environment forbids to write bytecode.
COMPILE_PYTHON = (sys.executable, "-m", "compileall", "-q", "python")
# The origin with known timing comes with them: its own tests start it.
BUILD_TESTS = ("cargo", "test", "--workspace", "--locked", "--no-run")

BUILD_S, TESTS_S = 1200.0, 2400.0
"""Limits of what compiles or lints and of a part of the tests, many times what they take."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something that was run to its end, or to its limit."""

    name: str
    status: int
    took_s: float
    counts: Counts


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended, and what it said that was not shown yet."""

    status: int
    counts: Counts
    output: str = ""


class Gate:
    """What was run so far, with its counts in a folder of its own."""

    def __init__(self, folder: Path, pytest_arguments: Sequence[str]) -> None:
        self._folder = folder
        self._arguments = tuple(pytest_arguments)
        self._commands = Commands()
        self._printing = Lock()
        self._chose_tests = False
        self.steps: list[Step] = []

    def run(self) -> int:
        """Run everything and return the exit status; nothing runs any more after an exception."""
        # Signals come to the main thread: it only waits, so they never fall into a beginning.
        with ThreadPoolExecutor(3) as lanes:
            try:
                lanes.submit(self.command, COMPILE_PYTHON).result()
                lanes.submit(self.command, BUILD_TESTS).result()
                serving = lanes.submit(self.serves)
                self._side_by_side(lanes, self.compiles, self.computes)
                engine = lanes.submit(self.step, "the Rust tests", self._rust)
                waiting = lanes.submit(self.waits)
                engine.result()
                asking = lanes.submit(self.asks_real_servers)
                waiting.result()
                looking = lanes.submit(self.looks_at_time)
                for each in (asking, looking, serving):
                    each.result()
                if not self._chose_tests:
                    self.step("any Python test at all", lambda: Outcome(NO_TESTS, Counts()))
            except BaseException as error:
                self._commands.end()
                self.add(Step(f"all of it: {error!r}", 1, 0.0, Counts(failed=1)), "")
                self.end()
                raise
        return self.end()

    def _side_by_side(self, lanes: ThreadPoolExecutor, *parts: Callable[[], None]) -> None:
        for begun in [lanes.submit(part) for part in parts]:
            begun.result()

    def compiles(self) -> None:
        """Lint what is compiled; then test what may have anything beside it."""
        self.command((*MAKE, "lint-rust"))
        self.pytest("the Python tests that pretend", PRETENDING)

    def computes(self) -> None:
        """Lint Python, and test what only computes."""
        self.command((*MAKE, "lint-python"))
        self.pytest("the Python tests that compute", CALM)

    def serves(self) -> None:
        """Test what leaves most of the machine to others."""
        self.pytest("the Python tests that serve", SERVING)
        self.pytest("the Python tests of bundled studies", STUDIES)

    def waits(self) -> None:
        """Test what may have the Rust tests beside it."""
        self.pytest("the Python tests that wait", PATIENT)

    def asks_real_servers(self) -> None:
        """Test real servers under load, or while they are watched."""
        named = [each for each in (*PRETENDING, *SERVING) if each.startswith(REAL)]
        ignored = [f"--ignore={path}" for path in named]
        self.pytest("the Python tests of real servers", (REAL, *ignored))

    def looks_at_time(self) -> None:
        """Test what else looks at time, and all that is in no other part."""
        named = (*CALM, *PATIENT, *PRETENDING, *SERVING, *STUDIES, REAL)
        others = [f"--ignore={path}" for path in named]
        self.pytest("the other Python tests", others, is_shown=True)

    def pytest(self, name: str, chosen: Sequence[str], *, is_shown: bool = False) -> None:
        """Run a part of the Python tests; what they say is shown as it comes, or at their end."""
        self.step(name, partial(self._pytest, self._folder / name, chosen, is_shown=is_shown))

    def command(self, command: Sequence[str]) -> None:
        """Run a command and show what it said when it has ended."""
        self.step(" ".join(command), partial(self._command, command))

    def step(self, name: str, work: Callable[[], Outcome]) -> None:
        """Do a step and keep how it ended; one that breaks has failed, and the next one comes."""
        began_s = monotonic()
        try:
            outcome = work()
        except NotBegunError:
            raise
        except Exception:
            outcome = Outcome(1, Counts(), traceback.format_exc())
        counts = outcome.counts.of_step(outcome.status)
        self.add(Step(name, outcome.status, monotonic() - began_s, counts), outcome.output)

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
        print(sum((step.counts for step in self.steps), Counts()).ending(), flush=True)
        return int(any(step.status for step in self.steps))

    def _rust(self) -> Outcome:
        return Outcome(*rust.outcome(partial(rust.run, self._commands), print))

    def _pytest(self, file: Path, chosen: Sequence[str], *, is_shown: bool) -> Outcome:
        command = (*PYTEST, f"--count-into={file}", *chosen, *self._arguments)
        done = self._commands.run(command, TESTS_S, is_direct=is_shown)
        self._chose_tests |= done.status != NO_TESTS
        is_empty = done.status == NO_TESTS and self._arguments
        return Outcome(0 if is_empty else done.status, Counts.read(file), done.output)

    def _command(self, command: Sequence[str]) -> Outcome:
        done = self._commands.run(command, BUILD_S)
        return Outcome(done.status, Counts(), done.output)


def main() -> int:
    """Run the gate, until a signal comes; return the exit status."""
    exit_on_signals()
    with tempfile.TemporaryDirectory(prefix="httpdyno-gate-") as folder:
        return Gate(Path(folder), sys.argv[1:]).run()


if __name__ == "__main__":
    sys.exit(main())
