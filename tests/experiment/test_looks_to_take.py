"""Which servers of a run are looked at, whose system calls are counted, and what that takes."""

import pytest
from tests.rows import each_row

from httpdyno.experiment.trial.afterwards import COUNT_S, LookCost, LooksToTake
from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.experiment.trial.look import LOOK_S
from httpdyno.model import Configuration, Look

START = Configuration(values={"a": 0, "b": 0})
DROPPED, KEPT = START.replaced("a", 1), START.replaced("b", 1)
BOTH = KEPT.replaced("a", 1)
SEEN = Look(seconds=1.0, n_samples=9)
COUNTED = Look(seconds=1.0, n_samples=9, calls={"open": 2.0}, n_traced=20)


def request(comparison, *arms, is_alone=False):
    return StartRequest(
        comparison=comparison,
        start=0,
        arms=arms,
        order=((0, 1),),
        window_s=1.0,
        lead_in_s=0.0,
        warm_up_s=0.0,
        is_alone=is_alone,
    )


def done(looks, asked):
    """Do as it is wanted; return what was."""
    wanted = dict(looks.wanted(asked))
    looks.took(asked, {arm: COUNTED if counts else SEEN for arm, counts in wanted.items()})
    assert not looks.wanted(asked), "it is done once"
    return wanted


def test_calls_are_counted_of_the_start_and_of_what_comes_up_again():
    looks = LooksToTake(can_count=True)
    assert done(looks, request(0, START, START)) == {}
    assert done(looks, request(1, START, DROPPED)) == {0: True, 1: False}
    assert done(looks, request(2, START, KEPT)) == {1: False}
    assert done(looks, request(3, KEPT, BOTH)) == {0: True, 1: False}
    assert done(looks, request(4, START, BOTH)) == {1: True}


def test_calls_of_all_are_counted_where_no_other_comparison_comes():
    looks = LooksToTake(can_count=True)
    assert done(looks, request(0, START, DROPPED, KEPT, is_alone=True)) == dict.fromkeys(
        range(3), True
    )


def test_levels_of_a_sweep_are_looked_at_only():
    looks = LooksToTake(can_count=True)
    assert done(looks, request(0, START, DROPPED, KEPT)) == dict.fromkeys(range(3), False)


def test_what_could_not_be_counted_is_not_tried_again():
    looks = LooksToTake(can_count=True)
    looks.took(request(1, START, KEPT), {0: SEEN, 1: SEEN})
    assert looks.wanted(request(2, KEPT, BOTH)) == {1: False}
    assert LooksToTake(can_count=False).wanted(request(1, START, KEPT)) == {0: False, 1: False}


def test_who_was_not_up_is_looked_at_in_a_later_start():
    looks = LooksToTake(can_count=True)
    looks.took(request(1, START, KEPT), {0: COUNTED})
    assert looks.wanted(request(1, START, KEPT)) == {1: False}


def test_a_configuration_against_itself_is_looked_at_once():
    """It is what was asked, and no calibration."""
    looks = LooksToTake(can_count=True)
    assert done(looks, request(0, START, START, is_alone=True)) == {}
    assert done(looks, request(1, START, START, is_alone=True)) == {0: True}


START_TWICE = (START, START)
FIRST, SECOND, FINAL = (START, DROPPED), (START, KEPT), (START, KEPT)


@each_row(
    ("seen", "ahead", "is_alone", "expected_s"),
    [
        ((), [(START, START)], False, 11.0),
        ((START_TWICE,), [START_TWICE], True, 0.0),
        ((), [FIRST], False, 12.0),
        ((), [FIRST], True, 22.0),
        ((), [FIRST, SECOND], False, 13.0),
        ((), [FIRST, SECOND, FINAL], False, 24.0),
        ((), [FIRST, SECOND, (KEPT, BOTH), (START, BOTH)], False, 36.0),
        ((), [(START, DROPPED, KEPT), FINAL], False, 25.0),
        ((FIRST,), [], False, 0.0),
        ((FIRST,), [SECOND], False, 1.0),
        ((FIRST, SECOND), [FINAL], False, 11.0),
        ((FIRST, SECOND, FINAL), [FINAL], False, 0.0),
    ],
)
def test_what_looks_take_follows_from_what_is_compared(seen, ahead, is_alone, expected_s):
    """A look takes 1 s here, and to count a server's calls 10 s."""
    cost = LookCost(n_looks=2, looks_s=2.0, n_counts=1, counts_s=10.0)
    looks = LooksToTake(can_count=True, cost=cost)
    for number, arms in enumerate(seen, 1):
        done(looks, request(number, *arms))
    assert looks.expected_s(ahead, is_alone=is_alone) == pytest.approx(expected_s)
    took_s = 0.0
    for number, arms in enumerate(ahead, 10):
        wanted = done(looks, request(number, *arms, is_alone=is_alone))
        took_s += len(wanted) + 10.0 * sum(wanted.values())
    assert took_s == pytest.approx(expected_s), "it comes as it was said, whatever was asked"


def test_looks_take_what_those_before_them_took():
    assert LookCost().expected_s(2, 1) == pytest.approx(2 * LOOK_S + COUNT_S)
    looks = LooksToTake(can_count=True)
    cost = LookCost(n_looks=2, looks_s=10.0, n_counts=1, counts_s=3.0)
    looks.took(request(1, *FIRST), {0: COUNTED, 1: SEEN}, cost)
    assert looks.expected_s([SECOND]) == pytest.approx(5.0)
    assert looks.expected_s([SECOND, FINAL]) == pytest.approx(5.0 + 5.0 + 3.0)
