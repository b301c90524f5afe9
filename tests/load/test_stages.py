"""Rates that change, as people write them."""

import pytest
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.load.traffic import stages_from
from httpdyno.model import RateStage

RAMP = (
    RateStage(duration_s=10.0, from_per_s=0.0, to_per_s=500.0),
    RateStage(duration_s=30.0, from_per_s=500.0, to_per_s=500.0),
    RateStage(duration_s=10.0, from_per_s=500.0, to_per_s=0.0),
)


@each_row(
    "text",
    [
        "10s: 0/s..500/s, 30s: 500/s, 10s: 500/s..0/s",
        "10s:0..500,30s:500,10s:500..0",
        "10 s: 0 .. 30000/m, 0.5m: 500/s..500/s, 10000ms: 500/s .. 0",
    ],
)
def test_stages_are_times_and_rates(text):
    assert stages_from(text) == RAMP


@each_row(
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
