"""Which servers of a run are looked at, and whose system calls are counted."""

from httpdyno.experiment.bench import StartRequest
from httpdyno.experiment.looks_to_take import LooksToTake
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
