"""Which Rust tests are tried again, and that nothing else that fails is passed over."""

import sys
from itertools import chain

import pytest
from tests import rust
from tests.rust import COMMAND, Ended, Watch, run, status

FINE = "test a::late ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n"
NONE = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n"
ONE_FAILED = (
    "test a::fine ... ok\n"
    "test a::late ... FAILED\n"
    "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\n"
    "error: 1 target failed:\n    `-p a --lib`\n"
)
DID_NOT_COMPILE = "error: could not compile `a`\n"
CRASHED_BESIDES = ONE_FAILED.replace("1 target failed:", "2 targets failed:")
OF_A_DOCUMENT_BESIDES = (
    "test src/lib.rs - a::f (line 3) ... FAILED\n"
    "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n"
    + ONE_FAILED.replace("1 target failed:", "2 targets failed:")
)
QUIET, DISTURBED = False, True
PASSED = Ended(0, FINE, QUIET)
AGAIN = (*COMMAND, "--", "--exact", "a::late")


@pytest.mark.parametrize(
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
    ],
)
def test_what_failed_is_tried_again_only_where_the_host_took_the_cpu(runs, expected):
    left, asked = iter(runs), []
    said: list[str] = []

    def attempt(command):
        asked.append(command)
        return next(left)

    assert status(attempt, said.append) == expected
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

    assert status(attempt, str) == 101
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
    ended = run([sys.executable, "-c", "import sys; print('out'); sys.exit('err')"])
    assert (ended.status, sorted(ended.output.split())) == (1, ["err", "out"])
    assert sorted(capsys.readouterr().out.split()) == ["err", "out"]
