"""Shares of answers that say a word: how they are called, and which way is better."""

import pytest

from httpdyno.model.answers import answers_with, word_of_answers
from httpdyno.model.metric import (
    METRIC_NAMES,
    RATIO_NAMES,
    RATIO_OF_METRIC,
    distribution_of,
    is_counted,
    is_more_better,
    is_on_demand,
    metric_named,
)


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
    assert is_more_better(answers_with(word)) == is_hit


def test_a_word_is_told_as_the_header_has_it_and_its_ratio_by_the_same_text():
    metric = "answers_ratio of TCP_hit"
    assert metric_named(metric) == RATIO_OF_METRIC[metric] == metric
    assert METRIC_NAMES[metric] == RATIO_NAMES[metric] == "share of answers with TCP_hit"
    assert is_counted(metric)
    assert is_on_demand(metric)
    assert distribution_of(metric) == ("", "")


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
    assert word_of_answers(metric) == ""
