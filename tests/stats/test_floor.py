import math

import numpy as np
import pytest
from tests.rows import each_row

from httpdyno.stats.sequence import is_clear, ratio_interval

N_SEQUENCES, LONGEST, FEWEST = 400, 20, 6


@each_row(
    ("differences", "floor", "clear"),
    [
        ([], 20.0, False),
        ([5.0], 20.0, True),
        ([-5.0], 20.0, False),
        ([5.0, 5.0, 5.0], 20.0, True),
        ([9.0, 10.0, 11.0], 20.0, True),
        # Its mean is three standard deviations above nothing.
        ([20.0, 30.0, 40.0], 20.0, False),
        # But so little was taken off that they differ by themselves.
        ([20.0, 30.0, 40.0], 10.0, True),
        ([660.0, 640.0, 1200.0], 9.0, True),
        # One that is not above it cannot be left out.
        ([100.0] * 50 + [-0.1], 1.0, False),
        ([0.0, 1.0], 0.1, False),
    ],
)
def test_a_difference_is_clear_where_all_are_above_and_agree_or_are_much(differences, floor, clear):
    assert is_clear(differences, [floor] * len(differences)) is clear


def _claims(rng, spread, n_sequences=N_SEQUENCES, of_floor=2.0):
    """Yield two differences to one floor with that floor, of each start, and their log ratio.

    The floor's own error is in both of a start; a start is faster or slower as a whole.

    Args:
        rng: What they are drawn from.
        spread: The standard deviation of the smaller difference, as a part of it.
        n_sequences: How many.
        of_floor: The true floor, as a part of the smaller difference.
    """
    truth = math.log(1.5)
    for _ in range(n_sequences):
        speed = np.exp(rng.normal(0, 0.05, LONGEST))
        error = rng.normal(0, spread / math.sqrt(2), LONGEST)
        a = speed * (1.0 - error + rng.normal(0, spread / math.sqrt(2), LONGEST))
        b = speed * (1.5 - error + rng.normal(0, spread / math.sqrt(2), LONGEST))
        yield truth, a, b, speed * (of_floor + error)


@pytest.mark.parametrize(
    ("spread", "of_floor"),
    [(0.02, 2.0), (0.1, 2.0), (0.2, 2.0), (0.25, 2.0), (0.3, 2.0), (0.2, 0.4), (0.3, 0.4)],
)
def test_intervals_of_ratios_of_clear_differences_keep_their_promise(spread, of_floor):
    rng = np.random.default_rng(20261125)
    missed = 0
    for truth, a, b, floor in _claims(rng, spread, of_floor=of_floor):
        for n in range(FEWEST, LONGEST + 1):
            floors = floor[:n].tolist()
            if not (is_clear(a[:n].tolist(), floors) and is_clear(b[:n].tolist(), floors)):
                break  # refused, and a comparison ends
            logs = np.log(b[:n] / a[:n]).tolist()
            interval = ratio_interval(logs, confidence=0.9)
            if interval and not math.log(interval.low) <= truth <= math.log(interval.high):
                missed += 1
                break
    # 3.5 standard errors of a true 10 %, with a peek after every start.
    assert missed <= N_SEQUENCES * 0.1 + 3.5 * math.sqrt(N_SEQUENCES * 0.1 * 0.9)


def test_what_lies_in_the_noise_of_its_floor_is_refused():
    rng = np.random.default_rng(7)
    refused = sum(
        not is_clear(a[:FEWEST].tolist(), floor[:FEWEST].tolist())
        for _, a, _b, floor in _claims(rng, 0.6, n_sequences=400)
    )
    assert refused > 400 * 0.95
