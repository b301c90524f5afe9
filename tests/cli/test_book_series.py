"""Series of runs of the book's experiments, and commands that are counted on a core."""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import count

import psutil
import pytest
from tests.cli.book_asked import BY_NAME, FEWEST, asked

from httpdyno.cli.book_counts import CallTime, stat
from httpdyno.cli.book_found import output_of, pinned, series_of, told
from httpdyno.errors import TargetError


def ticking(step_s):
    """Return a clock that goes on by so much at each look."""
    ticks = count()
    return lambda: next(ticks) * step_s


@pytest.mark.parametrize(
    ("values", "budget_s", "n", "word"),
    [
        # Told by the fewest, and not before.
        ([1.0] * 9, 1e9, FEWEST, "holds"),
        ([0.98, 1.02] * 9, 1e9, FEWEST, "holds"),
        # On a border of what is flat: until the time is over, but never less than the fewest.
        ([1.04, 1.06] * 99, 0.0, FEWEST, "cannot tell"),
        ([1.04, 1.06] * 99, 60.0, 20, "cannot tell"),
        ([1.051, 1.075] * 99, 1e9, 14, "no longer"),
        # What came to nothing is no ratio.
        ([0.0] * 9, 1e9, FEWEST, "no longer"),
        ([1.0, 0.0] * 9, 1e9, FEWEST, "cannot tell"),
    ],
)
def test_a_series_goes_on_until_its_word_is_told(values, budget_s, n, word):
    ask = asked("httperf-sample", budget_s)
    seen, interval = series_of(ask, lambda number: values[number], clock=ticking(1.0))
    assert len(seen) == n
    assert told(ask.each, seen, interval) == word


@pytest.mark.parametrize(
    ("name", "word"),
    [("ab-raise-load-light", "holds, larger"), ("ab-versus-pounder", "no longer")],
)
def test_nothing_in_each_run_is_less_of_what_was_less_and_none_of_what_was_more(name, word):
    assert told(BY_NAME[name], [0.0] * FEWEST, None) == word


@pytest.mark.parametrize(("n_bad", "is_had"), [(2, True), (3, False)])
def test_a_run_that_fails_is_tried_again_twice_in_all(capsys, n_bad, is_had):
    bad = iter([True] * n_bad)

    def one(_number):
        if next(bad, False):
            raise TargetError("the server has gone")
        return 1.0

    if not is_had:
        with pytest.raises(TargetError, match="has gone"):
            series_of(asked("httperf-sample"), one)
        return
    assert len(series_of(asked("httperf-sample"), one)[0]) == FEWEST
    assert capsys.readouterr().err.count("a run is tried again: the server has gone") == n_bad


def test_whoever_watches_a_series_is_told_how_long_it_may_take():
    words: list[str] = []
    ask = replace(asked("httperf-sample"), watch=words.append)
    series_of(ask, lambda _number: 1.0, clock=lambda: 0.0)
    assert words[0] == "run 1 of at least 6, at most 60 s more"
    assert len(words) == FEWEST


def test_a_shared_core_is_told_by_wall_time_and_not_by_cpu_time():
    times = {0: CallTime(4e-6, 4e-6), 1: CallTime(8e-6, 4e-6), 4: CallTime(2e-5, 4e-6)}
    found = stat(asked("stat-call-cost-under-cpu-load"), call=lambda _cpu, n: times[n])
    assert (found.word, found.figures["ratio"]) == ("holds", pytest.approx(2.0))
    assert found.figures["moved"] == (
        "CPU time of a call 1 × (1 … 1)",
        "beside 4 busy loops wall time 5 × (5 … 5), 4.95 × then: holds; "
        "CPU time of a call 1 × (1 … 1)",
    )


def test_a_pinned_command_and_what_it_begins_have_one_core():
    code = "import os, sys; print(len(os.sched_getaffinity(0)), sys.argv[1])"
    cpu = min(os.sched_getaffinity(0))
    assert output_of(pinned(cpu, (sys.executable, "-c", code, "a b"))) == "1 a b\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("sh", "-c", "echo no >&2; exit 3"), "ended with 3: no"),
        (("/nowhere/at/all",), "did not end well"),
    ],
)
def test_a_command_that_fails_is_a_sentence(command, words):
    with pytest.raises(TargetError, match=words):
        output_of(command)


BEGINS = """
import subprocess, sys
from httpdyno.cli.book_found import pinned
loop = subprocess.Popen(pinned(int(sys.argv[1]), (sys.executable, "-c", "while True: pass")))
print(loop.pid, flush=True)
loop.wait()
"""


def test_a_busy_loop_ends_with_who_began_it():
    cpu = min(os.sched_getaffinity(0))
    command = [sys.executable, "-c", BEGINS, f"{cpu}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as began:
        assert began.stdout is not None
        loop = psutil.Process(int(began.stdout.readline()))
        began.kill()
    _, alive = psutil.wait_procs([loop], timeout=30)
    for each in alive:
        each.kill()
    assert not alive
