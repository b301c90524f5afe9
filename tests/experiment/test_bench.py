"""What is drawn for each start: that it is, evenly, and one apart from the other."""

import itertools
from collections import Counter

from httpdyno.experiment.trial.bench import block_order, line_up

STARTS = [
    {"seed": seed, "comparison": comparison, "start": start}
    for seed, comparison, start in itertools.product(range(10), range(1, 5), range(20))
]


def test_each_arm_is_spawned_first_as_often_as_the_other_whichever_is_loaded_first():
    """Of 800 draws each of the four pairs comes 200 times, give or take 5 standard deviations."""
    pairs = Counter((line_up(2, **start)[0], block_order(2, 1, **start)[0][0]) for start in STARTS)
    assert len(pairs) == 4
    assert all(140 < n < 260 for n in pairs.values())


def test_all_arms_of_a_start_are_lined_up_once():
    drawn = {line_up(3, **start) for start in STARTS}
    assert drawn == set(itertools.permutations(range(3)))


def test_the_same_plan_draws_the_same():
    assert line_up(8, **STARTS[5]) == line_up(8, **STARTS[5])
    assert len({line_up(8, **start) for start in STARTS}) > len(STARTS) / 2
