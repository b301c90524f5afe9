"""Ends of processes are counted from sample to sample, and not where many may have been missed."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.telemetry.exit_watch import ExitTally, ExitWatch

ONE, TWO, THREE, AGAIN = (10, 1), (20, 1), (30, 1), (10, 9)


def tally_of(*samples):
    """Return the tally of samples, each of who is alive, or of that and of who has ended."""
    tally = ExitTally()
    for alive, ended in samples:
        tally.see(set(alive), set(ended))
    return tally


@pytest.mark.parametrize(
    ("samples", "n"),
    [
        ([([ONE, TWO], []), ([ONE, TWO], [])], 0),
        ([([ONE, TWO], []), ([ONE], [])], 1),
        # It waits for its parent to ask how it ended, and then is gone: that is one end.
        ([([ONE, TWO], []), ([ONE], [TWO]), ([ONE], [TWO]), ([ONE], [])], 1),
        # Another process has its number.
        ([([ONE, TWO], []), ([AGAIN, TWO], [])], 1),
        # Who had ended when the watch began ended before it.
        ([([ONE], [TWO]), ([ONE], [TWO]), ([ONE], [])], 0),
        # Who came and ended between two samples is one, once.
        ([([ONE], []), ([ONE], [THREE]), ([ONE], [THREE]), ([ONE], [])], 1),
    ],
)
def test_each_end_is_counted_once(samples, n):
    assert tally_of(*samples).n == n


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 40)), max_size=30))
def test_lives_that_samples_saw_are_all_counted(lives):
    """Whoever was there in some sample, and in no later one, has ended."""
    n_samples = 120
    tally = ExitTally()
    for now in range(n_samples):
        tally.see(
            {(n, since) for n, (since, long) in enumerate(lives) if since <= now < since + long}
        )
    assert tally.n == len(lives)
    n_brief = sum(long <= 2 and since > 0 for since, long in lives)
    assert tally.n_brief == n_brief
    assert bool(tally.trouble) is (n_brief > 0.05 * len(lives))


def test_lives_too_brief_to_be_followed_are_no_count():
    lives: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]
    lives = [([ONE, (n, n)], []) for n in range(30, 60)]
    waiting = [([ONE], [(m, m) for m in range(n, n + 4)]) for n in range(30, 60)]
    assert (tally_of(*waiting).n, tally_of(*waiting).trouble) == (29, "")
    assert tally_of(*lives).trouble == (
        "28 of 29 processes that ended had been there so briefly that as many may have come and "
        "gone unseen"
    )
    assert tally_of(([ONE], []), ([ONE], [])).trouble == "the server was seen too seldom"


PARENT = """
import os, sys, time
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        time.sleep(0.15)
        os._exit(0)
    os.wait()
sys.stdout.write("done\\n")
sys.stdout.flush()
sys.stdin.read()
"""


def test_children_of_a_process_that_end_are_seen():
    """Each child lives for 0.15 s, and the next one comes after it."""
    n = 6
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PARENT, str(n)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        watch = ExitWatch([parent.pid])
        watch.start()
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"done\n"
        seen = watch.stop()
        assert parent.stdin is not None
        parent.stdin.close()
    # The first may be there before the watch is, and between two samples none can hide.
    assert (seen.n in {n - 1, n}, seen.trouble) == (True, "")
