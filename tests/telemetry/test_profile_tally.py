"""Made-up samples: how they are put together, and which locks keep from work."""

import pytest
from tests.rows import each_row

from httpdyno.telemetry.profile.sampler import ProcessState, StateCounts
from httpdyno.telemetry.profile.wait import Lock, ThreadState

IDLE, LISTENS, RUNNING = (
    ThreadState("idle"),
    ThreadState("idle", is_listening=True),
    ThreadState("running"),
)
SLEEPS, READS, UNCLEAR = (
    ThreadState("sleep"),
    ThreadState("client_read"),
    ThreadState("idle", is_unclear=True),
)
PYTHON = ThreadState("idle", lock=Lock("futex 5", scope="interpreter"), is_unclear=True)


def waits(holder=None, *, is_serving=None, key="file 1", scope="process"):
    lock = Lock(key, holder=holder, scope=scope, is_serving=is_serving)
    return ThreadState("lock", lock=lock)


def family(*children):
    """Return one sample of processes 10, 11 and so on, with a thread each."""
    return {
        10 + at: ProcessState(parent=1, threads={10 + at: each}) for at, each in enumerate(children)
    }


def threads(*each):
    return {10: ProcessState(parent=1, threads=dict(enumerate(each, 10)))}


def doing(*samples, left_out=(), worked=()):
    tally = StateCounts()
    for each in samples:
        tally.add(each)
    return dict(tally.means(left_out, worked).doing)


def test_means_are_of_all_samples():
    tally = StateCounts()
    tally.add(family(IDLE, RUNNING, ThreadState("backend", "a:1")))
    tally.add(family(RUNNING, RUNNING))
    means = tally.means((), ())
    assert means.workers == 2.5
    assert means.doing == {"idle": 0.5, "running": 1.5, "backend": 0.5}
    assert means.backends == {"a:1": 0.5}
    assert tally.served == {12}


def test_who_keeps_children_is_left_out():
    assert doing(family(IDLE, RUNNING, waits()), left_out={10, 12}) == {"running": 1.0}


def test_nothing_was_seen():
    assert doing() == {}
    assert StateCounts().means((), ()).workers == 0.0


def test_only_who_worked_in_between_may_have_waited_for_a_lock():
    tally = StateCounts()
    tally.add(threads(UNCLEAR, UNCLEAR, UNCLEAR))
    means = tally.means((), {(10, 11)})
    assert (means.doing, means.unclear) == ({"idle": 3.0}, 1.0)


@each_row(
    ("holder", "expected"),
    [
        (LISTENS, {"idle": 3.0}),
        (IDLE, {"idle": 3.0}),
        (SLEEPS, {"lock": 2.0, "sleep": 1.0}),
        (RUNNING, {"lock": 2.0, "running": 1.0}),
    ],
)
def test_a_lock_is_the_right_to_accept_if_its_holder_waits_for_a_connection(holder, expected):
    assert doing(family(holder, waits(10), waits(10))) == expected


@each_row(
    ("others", "expected"),
    [
        ([LISTENS], {"idle": 2.0}),
        ([LISTENS, LISTENS], {"idle": 2.0, "lock": 1.0}),
        ([SLEEPS], {"lock": 1.0, "sleep": 1.0}),
    ],
)
def test_where_no_holder_is_told_one_idle_sibling_is_it(others, expected):
    assert doing(family(waits(), *others)) == expected


@pytest.mark.parametrize(("is_serving", "expected"), [(True, "lock"), (False, "idle")])
def test_who_has_no_client_waits_to_get_one(is_serving, expected):
    found = doing(family(RUNNING, waits(10, is_serving=is_serving)))
    assert found == {"running": 1.0, expected: 1.0}


def test_one_chance_among_many_does_not_make_a_right():
    working = [family(RUNNING, waits(10, is_serving=True))] * 19
    assert doing(*working, family(IDLE, waits(10)))["lock"] == 1.0
    assert "lock" not in doing(*working[:8], family(IDLE, waits(10)))


def test_a_holder_outside_works():
    assert doing(family(IDLE, waits(999))) == {"idle": 1.0, "lock": 1.0}


def test_what_looks_like_a_holder_may_be_none():
    assert doing(family(IDLE, waits(999, key="futex 7"))) == {"idle": 2.0}


def test_a_mutex_of_threads_is_a_lock_whoever_is_idle():
    assert doing(threads(LISTENS, waits(key="futex 7", scope="thread"))) == {
        "idle": 1.0,
        "lock": 1.0,
    }


def test_python_s_lock_is_one_while_another_thread_runs():
    assert doing(threads(PYTHON, PYTHON, RUNNING)) == {"lock": 2.0, "running": 1.0}
    assert doing(threads(PYTHON, PYTHON)) == {"idle": 2.0}
