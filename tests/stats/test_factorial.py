"""Contrasts of the full design of two levels."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.stats.factorial import (
    contrast,
    effect,
    interaction,
    n_parts,
    pairs,
    risk_of_each,
    squares_gone,
)

EFFECT = st.floats(-1, 1)


def logs_of(singles, twos, shared=0.0):
    """Return the logarithm of each combination by what each knob and each pair adds."""
    n_knobs = len(singles)
    cells = [tuple(cell >> knob & 1 for knob in range(n_knobs)) for cell in range(2**n_knobs)]
    return [
        shared
        + sum(value for value, bit in zip(singles, bits, strict=True) if bit)
        + sum(value for (i, j), value in twos.items() if bits[i] and bits[j])
        for bits in cells
    ]


@given(a=EFFECT, b=EFFECT, both=EFFECT, shared=EFFECT)
def test_of_two_knobs_simple_effects_are_differences_of_two_combinations(a, b, both, shared):
    logs = logs_of((a, b), {(0, 1): both}, shared)
    assert contrast(effect(2, 0, 1, at=0), logs) == pytest.approx(logs[1] - logs[0])
    assert contrast(effect(2, 0, 1, at=1), logs) == pytest.approx(logs[3] - logs[2])
    assert contrast(effect(2, 0), logs) == pytest.approx(a + both / 2)
    assert contrast(interaction(2, 0, 1), logs) == pytest.approx(both)


@given(singles=st.lists(EFFECT, min_size=3, max_size=4), two=EFFECT, other=EFFECT, shared=EFFECT)
def test_interactions_come_out_as_they_were_put_in_whatever_all_share(singles, two, other, shared):
    n_knobs = len(singles)
    logs = logs_of(singles, {(0, 1): two, (1, 2): other}, shared)
    found = {pair: contrast(interaction(n_knobs, *pair), logs) for pair in pairs(n_knobs)}
    expected = {**dict.fromkeys(pairs(n_knobs), 0.0), (0, 1): two, (1, 2): other}
    assert found == pytest.approx(expected, abs=1e-9)
    without, beside = (contrast(effect(n_knobs, 0, 1, at=at), logs) for at in (0, 1))
    assert beside - without == pytest.approx(two, abs=1e-9)
    assert contrast(effect(n_knobs, 0), logs) == pytest.approx((without + beside) / 2, abs=1e-9)


@each_row("n_knobs", [2, 3, 4])
def test_effects_and_interactions_say_nothing_of_each_other(n_knobs):
    all_of_them = [effect(n_knobs, knob) for knob in range(n_knobs)]
    all_of_them += [interaction(n_knobs, *pair) for pair in pairs(n_knobs)]
    for one, other in product(all_of_them, repeat=2):
        assert (contrast(one, other) == 0) == (one != other)
    assert all(math.fsum(weights) == 0 for weights in all_of_them)


@each_row("n_knobs", [2, 3, 4])
def test_all_risks_add_up_to_the_whole(n_knobs):
    each, simple = risk_of_each(n_knobs, 0.05)
    n_pairs = len(pairs(n_knobs))
    assert each * (n_knobs + n_pairs) + simple * 4 * n_pairs == pytest.approx(0.05)


@given(a=EFFECT, b=EFFECT, both=EFFECT, lost=st.floats(-9, 9))
def test_what_is_gone_has_no_part_in_what_is_told_without_it(a, b, both, lost):
    logs = logs_of((a, b, 0.0), {(0, 1): both})
    logs[7] = lost
    gone = {7}
    assert contrast(interaction(3, 0, 1, gone=gone), logs) == pytest.approx(both)
    assert contrast(effect(3, 0, gone=gone), logs) == pytest.approx((3 * a + both) / 3)
    without, beside = (
        contrast(effect(3, 0, 1, at=at, gone=squares_gone(3, 0, 1, gone)), logs) for at in (0, 1)
    )
    assert beside - without == pytest.approx(both)


def test_what_cannot_be_told_is_all_zeros_and_parts_are_counted():
    assert not any(interaction(2, 0, 1, gone={0}))
    assert not any(effect(2, 0, gone={0, 3}))
    assert effect(2, 0, gone={0}) == (0, 0, -1, 1)
    assert [n_parts(effect(3, 1, gone=gone), 1) for gone in ({7}, set())] == [3, 4]
    assert [n_parts(interaction(3, 0, 2, gone=gone), 2) for gone in ({7}, set())] == [1, 2]
