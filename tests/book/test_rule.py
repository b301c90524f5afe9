"""The words for what became of a finding, by table; and what must hold of all of them."""

import math
import random

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.book.experiment import GONE, HOLDING, Then, experiments
from httpdyno.book.rule import borders, judged, judged_count
from httpdyno.stats.sequence import ratio_interval
from httpdyno.stats.verdict import holds_border

RATIOS = st.floats(0.01, 100.0)
EFFECTS = RATIOS.filter(lambda each: abs(math.log(each)) > 0.005)
JUST = 1e-6
FEWEST, MOST, SPREAD = 6, 40, 0.04
"""Of starts; and how the log ratios of single ones spread, as on a busy machine."""
FLAT_EFFECT = 0.3


def then(ratio, *, is_flat=False):
    return Then(says="so much", ratio=ratio, is_flat=is_flat)


@each_row(
    ("was", "low", "high", "word"),
    [
        (2.0, 1.8, 2.3, "holds"),
        (2.0, 1.08, 1.7, "holds"),
        (2.0, 1.06, 1.7, "cannot tell"),
        (2.0, 1.01, 1.7, "cannot tell"),
        (2.0, 1.08, 1.2, "holds, smaller"),
        (2.0, 1.01, 1.2, "cannot tell"),
        (2.0, 3.0, 4.0, "holds, larger"),
        (2.0, 2.7, math.inf, "holds"),
        (2.0, 0.9, 1.2, "cannot tell"),
        (2.0, 0.97, 1.04, "no longer"),
        (2.0, 1.01, 1.06, "no longer"),
        (2.0, 0.5, 0.9, "no longer"),
        (2.0, 0.5, 1.04, "no longer"),
        (1.02, 1.012, 1.03, "holds"),
        (1.02, 1.005, 1.03, "cannot tell"),
        (1.02, 0.998, 1.009, "no longer"),
        (0.5, 0.45, 0.6, "holds"),
        (0.5, 0.1, 0.2, "holds, larger"),
        (0.5, 0.8, 0.92, "holds, smaller"),
        (0.5, 0.8, 0.99, "cannot tell"),
        (0.5, 0.8, 1.2, "cannot tell"),
        (0.5, 1.1, 1.2, "no longer"),
        (40.8, 0.86, 1.29, "no longer"),
        (40.8, 1.3, 1.6, "cannot tell"),
        (40.8, 9.0, 19.0, "holds, smaller"),
        (40.8, 21.0, 80.0, "holds"),
        (40.8, 85.0, 135.0, "holds, larger"),
    ],
)
def test_effects(was, low, high, word):
    assert judged(then(was), low, high) == word


@each_row(
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


def test_a_part_that_is_lost_is_no_longer_all():
    answered = Then(says="so much", ratio=0.989, is_flat=True, within=1.05)
    assert judged(answered, 0.97, 1.0) == "holds"
    assert judged(answered, 0.8, 0.9) == "no longer"


def test_what_was_seen_instead_is_told_only_where_the_effect_is_not_there():
    assert judged(then(2.0), 0.97, 1.04, is_artefact=True) == "was an artefact"
    assert judged(then(2.0), 1.8, 2.3, is_artefact=True) == "holds"
    assert judged(then(2.0), 0.5, 2.3, is_artefact=True) == "cannot tell"


@given(was=RATIOS.filter(lambda each: abs(math.log(each)) > 0.1), now=RATIOS, width=RATIOS)
def test_the_other_way_round_is_the_same_word(was, now, width):
    low, high = now, now * max(width, 1 / width)
    # At a border it is how 1 / x is rounded that decides.
    if any(
        math.isclose(end, edge, rel_tol=JUST) for end in (low, high) for edge in borders(then(was))
    ):
        return
    assert judged(then(was), low, high) == judged(then(1 / was), 1 / high, 1 / low)


@given(was=EFFECTS, is_flat=st.booleans(), now=RATIOS, width=st.floats(1.0, 50.0), part=st.floats())
def test_what_holds_no_border_is_told_and_all_within_it_has_the_same_word(
    was, is_flat, now, width, part
):
    each = then(was, is_flat=is_flat)
    low, high = now, now * width
    if any(low * (1 - JUST) < edge < high * (1 + JUST) for edge in borders(each)):
        return
    word = judged(each, low, high)
    assert word != "cannot tell"
    inside = low * width ** (abs(part) % 1 if math.isfinite(part) else 0.5)
    assert judged(each, inside, inside) == word


@given(was=EFFECTS, is_flat=st.booleans(), now=RATIOS, widths=st.tuples(*[st.floats(1, 3)] * 2))
def test_a_narrower_interval_never_takes_back_that_an_effect_is_there_or_gone(
    was, is_flat, now, widths
):
    each = then(was, is_flat=is_flat)
    wide = judged(each, now / widths[0], now * widths[1])
    narrow = judged(each, now, now)
    if wide != "cannot tell":
        assert (wide in HOLDING) == (narrow in HOLDING)
        assert (wide in GONE) == (narrow in GONE)


def told_after(each, truth, draw, is_over):
    """Return the word of a run of at most 40 starts that goes on until it is over."""
    logs = []
    for _ in range(MOST):
        logs.append(draw.gauss(math.log(truth), SPREAD))
        found = ratio_interval(logs, confidence=0.95) if len(logs) >= FEWEST else None
        if found is not None and is_over(found, each):
            break
    assert found is not None
    return judged(each, found.low, found.high)


def holds_none(found, each):
    return not holds_border(found, borders(each))


def leaves_out_1(found, _each):
    return found.low > 1 or found.high < 1


def differing(is_over):
    """Return the parts of pairs of runs that have two words, and that turn about.

    Of truths that lie evenly by their logarithms over half of the effect the other way to twice
    the effect, borders among them.
    """
    draw, n_pairs, n_differ, n_turn = random.Random(7), 0, 0, 0
    for each in [e.then for e in experiments() if e.then.ratio is not None] * 12:
        effect = FLAT_EFFECT if each.is_flat else math.log(each.ratio or 1.0)
        truth = math.exp(effect * draw.uniform(-0.5, 2.0))
        words = {told_after(each, truth, draw, is_over) for _ in range(2)}
        n_pairs, n_differ = n_pairs + 1, n_differ + (len(words) > 1)
        n_turn += bool(words & {*HOLDING}) and bool(words & {*GONE})
    return n_differ / n_pairs, n_turn / n_pairs


def test_two_runs_that_are_aimed_at_the_word_differ_less_and_do_not_turn_about():
    aimed, turned = differing(holds_none)
    chance, _ = differing(leaves_out_1)
    assert aimed < 0.75 * chance
    assert aimed * 36 < 3.0
    assert turned < 0.005


@each_row(
    ("was", "now", "word"),
    [
        (5, 5.0, "holds"),
        (5, 5.2, "holds"),
        (5, 10.0, "holds, larger"),
        (5, 1.0, "holds, smaller"),
        (5, 0.0, "no longer"),
        (0, 0.0, "holds"),
        (0, 1.0, "no longer"),
    ],
)
def test_counts(was, now, word):
    assert judged_count(was, now) == word
