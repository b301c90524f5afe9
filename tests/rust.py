"""Run the Rust tests; those that failed while the machine's host took the CPU, again.

The rule is that of `tests.disturbed`. Of a whole run it is not known what was taken from which
test, so one slice of it that was disturbed is enough to try those that failed again, each by
itself; then it is known.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic

from tests.disturbed import MOST_STOLEN_RATIO, N_REPETITIONS

from httpdyno.telemetry.host import steal_s

COMMAND = ("cargo", "test", "--workspace", "--locked", "--no-fail-fast")
SLICE_S = 2.0

_FAILED_TEST = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$", re.MULTILINE)
_FAILED_PROGRAM = re.compile(r"^test result: FAILED\..* (\d+) failed;", re.MULTILINE)
_FAILED_TARGETS = re.compile(r"^error: (\d+) targets? failed:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Ended:
    """A run of tests."""

    status: int
    output: str
    was_disturbed: bool

    def failed(self) -> list[str] | None:
        """Return which tests failed; None where something else did, so trying again tells nothing.

        A program that crashed or did not compile has no result, and a test of a document has no
        name that can be asked for.
        """
        names = _FAILED_TEST.findall(self.output)
        programs = [int(count) for count in _FAILED_PROGRAM.findall(self.output)]
        targets = sum(map(int, _FAILED_TARGETS.findall(self.output)))
        is_told = names and sum(programs) == len(names) and targets == len(programs)
        return sorted(set(names)) if is_told else None

    def has_passed(self, name: str) -> bool:
        """Return whether that test ran and nothing failed: one that is not found fails nothing."""
        line = rf"^test {re.escape(name)}(?: - should panic)? \.\.\. ok$"
        return self.status == 0 and re.search(line, self.output, re.MULTILINE) is not None


@dataclass(slots=True)
class Watch:
    """Sees in a thread of its own whether any slice of a run was disturbed."""

    slice_s: float = SLICE_S
    was_disturbed: bool = False
    _is_over: Event = field(default_factory=Event)

    def look(self) -> None:
        """Look until it is over."""
        while not self._is_over.is_set():
            began_s, before_s = monotonic(), steal_s()
            self._is_over.wait(self.slice_s)
            stolen_s = steal_s() - before_s
            self.was_disturbed |= stolen_s > MOST_STOLEN_RATIO * (monotonic() - began_s)

    def end(self) -> None:
        """Stop looking after this slice."""
        self._is_over.set()


def run(command: Sequence[str]) -> Ended:
    """Run it to its end and show what it says."""
    watch = Watch()
    looking = Thread(target=watch.look)
    looking.start()
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            sys.stdout.write(line)
            sys.stdout.flush()
    watch.end()
    looking.join()
    return Ended(process.returncode, "".join(lines), watch.was_disturbed)


def status(attempt: Callable[[Sequence[str]], Ended], say: Callable[[str], object]) -> int:
    """Return the exit status of the tests after those that were disturbed were tried again."""
    whole = attempt(COMMAND)
    names = whole.failed()
    if whole.status == 0 or not whole.was_disturbed or names is None:
        return whole.status
    for name in names:
        for _ in range(N_REPETITIONS):
            say(
                f"tried again: {name}; it failed while the machine's host took more than "
                f"{MOST_STOLEN_RATIO:.0%} of a core"
            )
            again = attempt((*COMMAND, "--", "--exact", name))
            if again.has_passed(name) or not again.was_disturbed:
                break
        if not again.has_passed(name):
            return again.status or whole.status
    return 0


if __name__ == "__main__":
    sys.exit(status(run, print))
