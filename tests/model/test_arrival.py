"""Stages as people write them, and what arrivals say of themselves."""

import pytest

from httpdyno.errors import UsageError
from httpdyno.model import Closed, Constant, Poisson, RateStage, Replay, Sessions, Stages
from httpdyno.model.arrival import (
    is_open,
    length_s,
    n_expected,
    rate_at_most_per_s,
    stages_from,
)

RAMP = (
    RateStage(duration_s=10.0, from_per_s=0.0, to_per_s=500.0),
    RateStage(duration_s=30.0, from_per_s=500.0, to_per_s=500.0),
    RateStage(duration_s=10.0, from_per_s=500.0, to_per_s=0.0),
)
ENDLESS = (RateStage(from_per_s=5.0, to_per_s=5.0),)


@pytest.mark.parametrize(
    "text",
    [
        "10s: 0/s..500/s, 30s: 500/s, 10s: 500/s..0/s",
        "10s:0..500,30s:500,10s:500..0",
        "10 s: 0 .. 30000/m, 0.5m: 500/s..500/s, 10000ms: 500/s .. 0",
    ],
)
def test_stages_are_times_and_rates(text):
    assert stages_from(text) == RAMP


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the stage `` is not a time and a rate"),
        ("500/s", "the stage `500/s` is not a time and a rate"),
        ("10s: 5/s,", "the stage `` is not a time and a rate"),
        ("10: 5/s", "in the stage `10: 5/s` `10` is not a duration"),
        ("10s: fast", "in the stage `10s: fast` `fast` is not a rate"),
        ("10s: 0..", "in the stage `10s: 0..` `` is not a rate"),
        ("10s: -5/s", "`-5/s`"),
        ("0s: 5/s", "the stage `0s: 5/s` takes no time"),
    ],
)
def test_what_is_no_stage_is_quoted(text, words):
    with pytest.raises(UsageError) as caught:
        stages_from(text)
    assert words in str(caught.value)
    assert "`10s: 0/s..500/s, 30s: 500/s`" in caught.value.hint


def test_stages_know_how_many_come_and_how_long_they_take():
    assert n_expected(RAMP) == pytest.approx(2500 + 15_000 + 2500)
    assert n_expected(ENDLESS) == float("inf")
    assert n_expected((RateStage(from_per_s=0.0, to_per_s=0.0),)) == 0
    assert length_s(Stages(stages=RAMP)) == 50.0
    assert length_s(Sessions(stages=ENDLESS)) is None
    assert length_s(Constant(rate_per_s=5.0)) is None


@pytest.mark.parametrize(
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
