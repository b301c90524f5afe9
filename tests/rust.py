"""Run the Rust tests; those that failed while the machine's host took the CPU, again.

The rule is that of `tests.disturbed`. Of a whole run it is not known what was taken from which
test, so one slice of it that was disturbed is enough to try those that failed again, each by
itself; then it is known. Tests that look after that themselves (`crates/load/tests/rig/tries.rs`)
have said so, and what they say stands.
"""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Thread
from time import monotonic

from tests.commands import Commands, exit_on_signals
from tests.disturbed import MOST_STOLEN_RATIO, N_REPETITIONS
from tests.verdict import Counts

from httpdyno.telemetry.kernel import steal_s

COMMAND = ("cargo", "test", "--workspace", "--locked", "--no-fail-fast")
SLICE_S = 2.0
LIMIT_S = 900.0
"""They take two minutes; one that hangs must not hold up what comes after."""

_FAILED_TEST = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$", re.MULTILINE)
_FAILED_PROGRAM = re.compile(r"^test result: FAILED\..* (\d+) failed;", re.MULTILINE)
_FAILED_TARGETS = re.compile(r"^error: (\d+) targets? failed:", re.MULTILINE)
# Tests that run this program again for one test have its result in what they say.
_RESULT = re.compile(r"^test result: .*?(\d+) passed; (\d+) failed;.* 0 filtered out", re.MULTILINE)
_JUDGED = re.compile(r"panicked at .*\n(?:undisturbed: |disturbed in each )", re.MULTILINE)
_SAID = r"\b{}: (\S+): "


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

    def may_be_tried_again(self) -> bool:
        """Return whether the host may have made tests fail that do not look after it themselves."""
        return self.was_disturbed and _JUDGED.search(self.output) is None

    def has_passed(self, name: str) -> bool:
        """Return whether that test ran and nothing failed: one that is not found fails nothing."""
        line = rf"^test {re.escape(name)}(?: - should panic)? \.\.\. ok$"
        return self.status == 0 and re.search(line, self.output, re.MULTILINE) is not None

    def counts(self) -> Counts:
        """Return how many tests there were; one that says that it was skipped has not passed."""
        results = [(int(passed), int(failed)) for passed, failed in _RESULT.findall(self.output)]
        skipped = self.said("skipped") - set(_FAILED_TEST.findall(self.output))
        return Counts(
            passed=sum(passed for passed, _ in results) - len(skipped),
            failed=sum(failed for _, failed in results),
            skipped=len(skipped),
            tried_again=len(self.said("tried again")),
        )

    def said(self, what: str) -> set[str]:
        """Return which tests said that of themselves."""
        return set(re.findall(_SAID.format(what), self.output))


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


def run(commands: Commands, command: Sequence[str]) -> Ended:
    """Run it to its end, or to its limit, and show what it says."""
    watch = Watch()
    looking = Thread(target=watch.look)
    looking.start()
    try:
        done = commands.run(command, LIMIT_S, hear=_show)
    finally:
        watch.end()
        looking.join()
    return Ended(done.status, done.output, watch.was_disturbed)


def _show(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


def outcome(
    attempt: Callable[[Sequence[str]], Ended], say: Callable[[str], object]
) -> tuple[int, Counts]:
    """Return the exit status, and the counts, after those that were disturbed were tried again."""
    whole = attempt(COMMAND)
    counts, names = whole.counts(), whole.failed()
    if whole.status == 0 or names is None or not whole.may_be_tried_again():
        return whole.status, counts
    for name in names:
        counts = counts.with_one_tried_again()
        for _ in range(N_REPETITIONS):
            say(
                f"tried again: {name}; it failed while the machine's host took more than "
                f"{MOST_STOLEN_RATIO:.0%} of a core"
            )
            again = attempt((*COMMAND, "--", "--exact", name))
            if again.has_passed(name) or not again.may_be_tried_again():
                break
        if not again.has_passed(name):
            return again.status or whole.status, counts
        counts = counts.with_one_mended()
    return 0, counts


if __name__ == "__main__":
    exit_on_signals()
    _status, _counts = outcome(partial(run, Commands()), print)
    print(_counts.of_step(_status).ending())
    sys.exit(_status)
