"""Which Rust tests are tried again, and that nothing else that fails is passed over."""

import sys
import threading
from itertools import chain

import pytest
from tests import rust
from tests.commands import Commands, NotBegunError
from tests.rows import each_row
from tests.rust import COMMAND, Ended, Watch, outcome, run
from tests.verdict import Counts

END = "0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
FINE = f"test a::late ... ok\ntest result: ok. 1 passed; 0 failed; {END}"
NONE = f"test result: ok. 0 passed; 0 failed; {END}"
ONE_FAILED = (
    "test a::fine ... ok\n"
    "test a::late ... FAILED\n"
    f"test result: FAILED. 1 passed; 1 failed; {END}"
    "error: 1 target failed:\n    `-p a --lib`\n"
)
DID_NOT_COMPILE = "error: could not compile `a`\n"
CRASHED_BESIDES = ONE_FAILED.replace("1 target failed:", "2 targets failed:")
OF_A_DOCUMENT_BESIDES = (
    "test src/lib.rs - a::f (line 3) ... FAILED\n"
    f"test result: FAILED. 0 passed; 1 failed; {END}"
    + ONE_FAILED.replace("1 target failed:", "2 targets failed:")
)
JUDGED = ONE_FAILED + "thread 'a::late' (7) panicked at a.rs:1:2:\nundisturbed: 3 of 4, after []\n"
QUIET, DISTURBED = False, True
PASSED = Ended(0, FINE, QUIET)
AGAIN = (*COMMAND, "--", "--exact", "a::late")


@each_row(
    ("runs", "expected"),
    [
        ([PASSED], 0),
        ([Ended(0, FINE, DISTURBED)], 0),
        ([Ended(101, ONE_FAILED, QUIET)], 101),
        ([Ended(101, ONE_FAILED, DISTURBED), PASSED], 0),
        ([Ended(101, ONE_FAILED, DISTURBED), Ended(0, NONE, QUIET)], 101),
        ([Ended(101, ONE_FAILED, DISTURBED), Ended(101, ONE_FAILED, QUIET)], 101),
        ([Ended(101, ONE_FAILED, DISTURBED)] * 2 + [PASSED], 0),
        ([Ended(101, ONE_FAILED, DISTURBED)] * 3, 101),
        ([Ended(101, DID_NOT_COMPILE, DISTURBED)], 101),
        ([Ended(101, CRASHED_BESIDES, DISTURBED)], 101),
        ([Ended(101, OF_A_DOCUMENT_BESIDES, DISTURBED)], 101),
        ([Ended(101, JUDGED, DISTURBED)], 101),
    ],
)
def test_what_failed_is_tried_again_only_where_the_host_took_the_cpu(runs, expected):
    left, asked = iter(runs), []
    said: list[str] = []

    def attempt(command):
        asked.append(command)
        return next(left)

    assert outcome(attempt, said.append)[0] == expected
    assert asked == [COMMAND, *[AGAIN] * (len(runs) - 1)]
    assert len(said) == len(runs) - 1


def test_all_that_failed_are_tried_again_until_one_fails_undisturbed():
    two = ONE_FAILED.replace(
        "test a::late ... FAILED\n", "test a::late ... FAILED\ntest b::worse ... FAILED\n"
    ).replace("1 failed", "2 failed")
    worse = Ended(101, ONE_FAILED.replace("a::late", "b::worse"), QUIET)
    runs = iter([Ended(101, two, DISTURBED), PASSED, worse])
    asked = []

    def attempt(command):
        asked.append(command[-1])
        return next(runs)

    code, counts = outcome(attempt, str)
    assert code == 101
    assert counts == Counts(passed=2, failed=1, tried_again=2)
    assert asked == ["--no-fail-fast", "a::late", "b::worse"]


@pytest.mark.parametrize(
    ("stolen_s", "was_disturbed"),
    [([0.0, 0.0, 0.0], False), ([0.0, 1.0, 0.0], True), ([0.0, 0.0, 1.0], True)],
)
def test_one_slice_that_was_disturbed_is_enough(monkeypatch, stolen_s, was_disturbed):
    watch = Watch(slice_s=0.0)
    taken_s = chain.from_iterable((0.0, each) for each in stolen_s)
    left = 2 * len(stolen_s)

    def steal_s():
        nonlocal left
        left -= 1
        if left == 0:
            watch.end()
        return next(taken_s)

    monkeypatch.setattr(rust, "steal_s", steal_s)
    watch.look()
    assert watch.was_disturbed is was_disturbed


def test_what_a_program_says_is_shown_and_kept(capsys):
    ended = run(Commands(), [sys.executable, "-c", "import sys; print('out'); sys.exit('err')"])
    assert (ended.status, sorted(ended.output.split())) == (1, ["err", "out"])
    assert sorted(capsys.readouterr().out.split()) == ["err", "out"]


def test_the_watch_ends_where_the_tests_are_broken_off():
    commands, before = Commands(), threading.active_count()
    commands.end()
    with pytest.raises(NotBegunError):
        run(commands, COMMAND)
    assert threading.active_count() == before


def test_what_tests_say_of_themselves_is_counted():
    output = (
        "test b::alone ... skipped: b::alone: no namespace without root\n"
        "test b::alone ... ok\n"
        "tried again: a::late: 3 of 4 (the host took 0.20 cores)\n"
        "tried again: a::late: 2 of 4 (other programs used 1.20 cores)\n"
        "test a::late ... ok\n"
        f"test result: ok. 5 passed; 0 failed; {END}"
        "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 16 filtered out\n" + ONE_FAILED
    )
    counts = Ended(101, output, QUIET).counts()
    assert counts == Counts(passed=5, failed=1, skipped=1, tried_again=1)


def test_a_test_that_was_mended_counts_as_passed_and_as_tried_again():
    runs = iter([Ended(101, ONE_FAILED, DISTURBED), PASSED])
    assert outcome(lambda _: next(runs), str) == (0, Counts(passed=2, tried_again=1))
