"""The words for what became of a finding, by table; and what must hold of all of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.book.experiment import Then
from httpdyno.book.rule import judged, judged_count

RATIOS = st.floats(0.01, 100.0)


def then(ratio, *, is_flat=False):
    return Then(says="so much", ratio=ratio, is_flat=is_flat)


@pytest.mark.parametrize(
    ("was", "low", "high", "word"),
    [
        (2.0, 1.8, 2.3, "holds"),
        (2.0, 1.01, 1.7, "holds"),
        (2.0, 1.01, 1.2, "holds, smaller"),
        (2.0, 3.0, 4.0, "holds, larger"),
        (2.0, 2.7, math.inf, "holds"),
        (2.0, 0.9, 1.2, "cannot tell"),
        (2.0, 0.97, 1.04, "no longer"),
        (2.0, 1.01, 1.04, "no longer"),
        (2.0, 0.5, 0.9, "no longer"),
        (1.02, 1.012, 1.03, "holds"),
        (1.02, 0.998, 1.009, "no longer"),
        (0.5, 0.45, 0.6, "holds"),
        (0.5, 0.1, 0.2, "holds, larger"),
        (0.5, 0.8, 0.99, "holds, smaller"),
        (0.5, 0.8, 1.2, "cannot tell"),
        (0.5, 1.1, 1.2, "no longer"),
    ],
)
def test_effects(was, low, high, word):
    assert judged(then(was), low, high) == word


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.9, 1.1, "holds"),
        (1.3, 1.9, "no longer"),
        (0.2, 0.7, "no longer"),
        (0.7, 1.1, "cannot tell"),
        (1.1, 1.4, "cannot tell"),
    ],
)
def test_that_nothing_depends_on_it(low, high, word):
    assert judged(then(0.88, is_flat=True), low, high) == word


def test_what_was_seen_instead_is_told_only_where_the_effect_is_not_there():
    assert judged(then(2.0), 0.97, 1.04, is_artefact=True) == "was an artefact"
    assert judged(then(2.0), 1.8, 2.3, is_artefact=True) == "holds"
    assert judged(then(2.0), 0.5, 2.3, is_artefact=True) == "cannot tell"


@given(was=RATIOS.filter(lambda each: abs(math.log(each)) > 0.1), now=RATIOS, width=RATIOS)
def test_the_other_way_round_is_the_same_word(was, now, width):
    low, high = now, now * max(width, 1 / width)
    assert judged(then(was), low, high) == judged(then(1 / was), 1 / high, 1 / low)


@pytest.mark.parametrize(
    ("was", "now", "word"),
    [
        (5, 5.0, "holds"),
        (5, 5.2, "holds"),
        (5, 10.0, "holds, larger"),
        (5, 1.0, "holds, smaller"),
        (5, 0.0, "no longer"),
        (0, 0.0, "holds"),
    ],
)
def test_counts(was, now, word):
    assert judged_count(was, now) == word
