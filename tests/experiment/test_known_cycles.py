"""Where starts contradict Little's law, users settle for longer in the next ones."""

import itertools

import numpy as np
import pytest
from msgspec import structs
from tests.experiment.cycles import LENGTHS, seen_cycles, start_of

from httpdyno.experiment.trial.cycles import (
    MOST,
    CycleMoments,
    KnownCycles,
    choose_windows,
    little_check,
)

LABELS = ["workers 1", "workers 2"]
CYCLE_S = 0.1
N_USERS = 8


def moments_of(draw):
    x = CYCLE_S * draw(np.random.default_rng(2), 1_000)
    return CycleMoments(n=1_000, sum_s=float(x.sum()), sum_s2=float((x * x).sum()))


def ran(known, n_starts, *, kind="constant", rest_s=0.0, seed=3):
    """Run starts whose second arm takes half as long again in the first `rest_s` of its load."""
    rng = np.random.default_rng(seed)
    starts = []
    for number in range(n_starts):
        found = known.of(LABELS)
        choice = choose_windows(
            [found[0], found[1]], n_users=N_USERS, n_blocks=4, window_s=0.5, lead_in_s=0.05
        )
        rows = [
            [
                seen_cycles(rng, lengths(kind, late_s), N_USERS, choice)[0]
                for _ in range(choice.n_blocks)
            ]
            for late_s in (0.0, rest_s)
        ]
        starts.append(start_of(number, rows, choice.measure_s))
        known.judge(LABELS, starts[-1:])
    return starts


def lengths(kind, late_s):
    """Draw cycles round by round, since users of one begin theirs at about the same time."""
    rounds = itertools.count()

    def draw(rng, n):
        slower = 1.5 if next(rounds) * CYCLE_S < late_s else 1.0
        return CYCLE_S * slower * LENGTHS[kind](rng, n)

    return draw


def is_unsteady(starts):
    check = little_check(starts, 1)
    assert check is not None
    return check.is_unsteady


@pytest.fixture
def known():
    found = KnownCycles()
    found.add(LABELS, dict.fromkeys((0, 1), moments_of(LENGTHS["constant"])))
    return found


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", LENGTHS)
def test_a_steady_loop_is_never_given_longer_windows(kind, seed):
    known = KnownCycles()
    known.add(LABELS, dict.fromkeys((0, 1), moments_of(LENGTHS[kind])))
    ran(known, 12, kind=kind, seed=seed)
    assert [known.settling(label) for label in LABELS] == [1.0, 1.0]


def test_one_that_comes_to_rest_late_is_given_time_until_the_law_holds(known):
    starts = ran(known, 20, rest_s=0.45)
    assert is_unsteady(starts[:3])
    assert known.settling(LABELS[0]) == 1.0
    assert 2.0 <= known.settling(LABELS[1]) <= MOST
    assert not is_unsteady(starts[-5:])
    lengths = [start.windows[0].measurement.measured_s for start in starts]
    assert lengths[-1] > lengths[0]


@pytest.mark.parametrize(("earlier", "expected"), [(0, 1.0), (1, 4.0)])
def test_what_one_comparison_took_no_other_one_takes_and_a_calibration_takes_nothing(
    known, earlier, expected
):
    late = ran(known, 20, rest_s=0.45)
    again = [structs.replace(start, comparison=earlier) for start in late]
    fresh = KnownCycles()
    fresh.judge(LABELS, again[:3])
    fresh.judge(LABELS, again[:3])
    assert fresh.settling(LABELS[1]) == expected
    fresh.judge(LABELS, [structs.replace(late[0], comparison=2)])
    assert fresh.settling(LABELS[1]) == 1.0


def test_what_never_comes_to_rest_is_not_waited_for_for_ever(known):
    def credited_too_much(window):
        cycles = structs.replace(
            window.measurement.cycles, credit=window.measurement.cycles.credit * (1 + window.arm)
        )
        return structs.replace(
            window, measurement=structs.replace(window.measurement, cycles=cycles)
        )

    wrong = [
        structs.replace(start, windows=tuple(map(credited_too_much, start.windows)))
        for start in ran(known, 3)
    ]
    for _ in range(10):
        known.judge(LABELS, wrong)
    assert [known.settling(label) for label in LABELS] == [1.0, MOST]
