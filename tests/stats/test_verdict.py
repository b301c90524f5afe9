import math

import pytest
from tests.rows import each_row

from httpdyno.model import Level, RatioInterval
from httpdyno.stats.verdict import (
    distance_to_border,
    distance_to_decision,
    holds_border,
    knee,
    verdict,
)


def _interval(low, high):
    return RatioInterval(ratio=(low * high) ** 0.5, low=low, high=high, confidence=0.95)


@each_row(
    ("low", "high", "more_is_better", "word"),
    [
        (1.02, 1.30, True, "better"),
        (1.02, 1.30, False, "worse"),
        (0.70, 0.98, True, "worse"),
        (0.70, 0.98, False, "better"),
        (0.98, 1.30, True, "inconclusive"),
        (0.995, 1.005, True, "equivalent"),
        (1.001, 1.009, True, "equivalent"),
        (0.990, 1.020, True, "inconclusive"),
    ],
)
def test_the_verdict_follows_from_the_interval_alone(low, high, more_is_better, word):
    interval = _interval(low, high)
    assert verdict(interval, margin_ratio=0.01, more_is_better=more_is_better) == word


def test_no_interval_is_no_verdict():
    assert verdict(None, margin_ratio=0.01, more_is_better=True) == "inconclusive"


def test_a_large_effect_is_decided_by_a_wide_interval_and_none_by_a_narrow_one():
    assert distance_to_decision(_interval(1.9, 2.1), margin_ratio=0.01) > 0.6
    assert distance_to_decision(_interval(0.99, 1.01), margin_ratio=0.01) < 0.011


@each_row(
    ("ratio", "error", "wanted"),
    [
        (1.20, 0.05, math.log(1.20) + 0.05),
        (1 / 1.20, 0.05, math.log(1.20) + 0.05),
        (1.008, 0.005, math.log(1.008) + 0.005),
        (1.008, 0.0, math.log(1.008)),
        # Nothing is nearer to `equivalent` than no difference at all.
        (1.002, 0.004, math.log(1.01)),
        (1.0, 0.0, math.log(1.01)),
    ],
)
def test_an_error_brings_a_decision_nearer_and_never_farther(ratio, error, wanted):
    interval = RatioInterval(ratio=ratio, low=ratio / 2, high=ratio * 2, confidence=0.95)
    distance = distance_to_decision(interval, margin_ratio=0.01, error=error)
    assert distance == pytest.approx(wanted)
    assert distance >= distance_to_decision(interval, margin_ratio=0.01)


def test_the_knee_is_the_smallest_level_that_touches_the_best():
    ratios: dict[Level, RatioInterval] = {
        1: _interval(0.10, 0.12),
        2: _interval(0.5, 0.6),
        4: _interval(0.95, 1.01),
        16: _interval(0.97, 1.01),
    }
    assert knee([1, 2, 4, 8, 16], ratios, best=8) == 4
    assert knee([1, 2, 8, 16], ratios, best=8) == 8


def test_the_knee_passes_over_levels_that_could_not_run():
    assert knee([1, 2, 4], {2: _interval(0.9, 1.1)}, best=4) == 2


def test_an_interval_holds_a_border_that_lies_inside_it():
    interval = RatioInterval(ratio=1.2, low=1.1, high=1.3, confidence=0.95)
    assert holds_border(interval, (0.5, 1.2))
    assert not holds_border(interval, (0.5, 1.1, 1.3))
    assert not holds_border(interval, ())


@each_row(
    ("ratio", "borders", "error", "distance"),
    [
        (1.0, (2.0,), 0.0, math.log(2)),
        (1.0, (2.0, 0.9), 0.0, -math.log(0.9)),
        (1.0, (2.0,), 0.1, math.log(2) + 0.1),
        # Away from the nearer one is towards the other.
        (1.0, (0.5, 2.0), 0.1, math.log(2)),
        (2.0, (2.0,), 0.0, 0.0),
    ],
)
def test_the_distance_to_a_border_is_the_half_width_that_is_wanted(ratio, borders, error, distance):
    found = distance_to_border(math.log(ratio), borders, error=error)
    assert found == pytest.approx(distance)
