"""What arrivals say of themselves."""

import pytest
from tests.rows import each_row

from httpdyno.model import Closed, Constant, Poisson, RateStage, Replay, Sessions, Stages
from httpdyno.model.workload import (
    is_open,
    length_s,
    n_expected,
    rate_at_most_per_s,
)

RAMP = (
    RateStage(duration_s=10.0, from_per_s=0.0, to_per_s=500.0),
    RateStage(duration_s=30.0, from_per_s=500.0, to_per_s=500.0),
    RateStage(duration_s=10.0, from_per_s=500.0, to_per_s=0.0),
)
ENDLESS = (RateStage(from_per_s=5.0, to_per_s=5.0),)


def test_stages_know_how_many_come_and_how_long_they_take():
    assert n_expected(RAMP) == pytest.approx(2500 + 15_000 + 2500)
    assert n_expected(ENDLESS) == float("inf")
    assert n_expected((RateStage(from_per_s=0.0, to_per_s=0.0),)) == 0
    assert length_s(Stages(stages=RAMP)) == 50.0
    assert length_s(Sessions(stages=ENDLESS)) is None
    assert length_s(Constant(rate_per_s=5.0)) is None


@each_row(
    ("arrival", "opened", "rate"),
    [
        (Closed(), False, None),
        (Constant(rate_per_s=5.0), True, 5.0),
        (Poisson(rate_per_s=5.0), True, 5.0),
        (Stages(stages=RAMP), True, 500.0),
        (Sessions(stages=ENDLESS), True, 5.0),
        (Replay(log="x"), True, None),
    ],
)
def test_an_arrival_says_whether_it_waits_for_answers(arrival, opened, rate):
    assert is_open(arrival) is opened
    assert rate_at_most_per_s(arrival) == rate
