"""Shares of answers that say a word: how they are called, and which way is better."""

import pytest

from httpdyno.metrics import named, of_ratio
from httpdyno.metrics.table import is_among, meant_by


@pytest.mark.parametrize(
    ("word", "is_hit"),
    [
        ("HIT", True),
        ("hit", True),
        ("TCP_HIT", True),
        ("TCP_MEM_HIT", True),
        ("MISS", False),
        ("REVALIDATED", False),
        ("HITS", False),
        ("Hit-from-elsewhere", False),
    ],
)
def test_more_is_better_of_words_that_end_in_hit_and_of_no_others(word, is_hit):
    assert named(f"answers_ratio of {word}").is_more_better == is_hit


def test_a_word_is_told_as_the_header_has_it_and_its_ratio_by_the_same_text():
    metric = "answers_ratio of TCP_hit"
    assert meant_by(metric) == named(metric).ratio == metric
    assert named(metric).label == of_ratio(metric).label == "share of answers with TCP_hit"
    assert named(metric).is_counted
    assert named(metric).is_on_demand
    assert named(metric).distribution == ""


@pytest.mark.parametrize(
    "metric",
    [
        "answers_ratio",
        "answers_ratio of ",
        "answers_ratio of HIT from",
        "answers_ratio of a,b",
        "answers_ratio of " + "a" * 33,
        "lookups_per_request",
        "latency_p90_s of HIT",
    ],
)
def test_what_no_header_can_begin_with_is_no_word(metric):
    assert not is_among(metric, ["answers_ratio of WORD"])
