"""What a few starts of a configuration against itself may promise."""

import math

import pytest
from scipy import stats

from httpdyno.experiment.calibration import _spread_at_most


@pytest.mark.parametrize("n", [2, 3, 6, 12])
def test_the_spread_of_a_start_is_bounded_as_few_starts_allow(n):
    ratios = [0.02 * (-1) ** index for index in range(n)]
    exact = 0.02 * math.sqrt(n / stats.chi2.ppf(0.2, n))
    assert _spread_at_most(ratios) == pytest.approx(exact, rel=0.01)


def test_two_starts_that_happen_to_agree_promise_no_more_than_what_both_strayed_by():
    # Both arms are the same, so that both starts favour one of them is noise, too.
    assert _spread_at_most([0.03, 0.03]) > 0.06
