"""What measured pairs say: what respawning costs, what unsharing comes to and what leaks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.advice.formula import formulas
from httpdyno.advice.formula.evaluate import work_out
from httpdyno.errors import UsageError

# The mod_perl tutorial handout (2000), 2.22.1: 1,000 requests, 50 at a time, 50 children at most.
HANDOUT_RATES = {5: 2.83, 10: 5.47, 20: 8.92, 5000: 28.01}

# Eight mod_perl children that touch the pages they share, private memory by smaps_rollup.
TOUCHED = "0=0.35MB,25=8.6MB,150=19.3MB,525=20.4MB"


def worked(formula, seen, **more):
    return work_out(formulas()[formula], {"seen": seen, **more})


def figures(found):
    return {each.name: each.value for each in found.figures}


def pairs(figures_by_count, unit=""):
    return [f"{n}={figure}{unit}" for n, figure in figures_by_count.items()]


def test_the_handouts_table_follows_one_line():
    found = worked("respawn", pairs(HANDOUT_RATES))
    values = figures(found)
    assert values["serve"] == pytest.approx(0.0353, rel=0.01)
    assert values["spawn"] == pytest.approx(1.535, rel=0.01)
    assert values["at_one"] == pytest.approx(0.637, rel=0.01)
    for n, rate in HANDOUT_RATES.items():
        fitted = 1 / (values["serve"] + values["spawn"] / n)
        assert fitted == pytest.approx(rate, rel=0.04)
    assert found.fitted["spawn_low"] < values["spawn"] < found.fitted["spawn_high"]


@given(st.floats(0.001, 1), st.floats(0.01, 10), st.integers(1, 50))
def test_the_limit_loses_just_the_share_that_may_be_lost(serve, spawn, loss):
    seen = {n: 1 / (serve + spawn / n) for n in (1, 10, 100, 10_000)}
    values = figures(worked("respawn", pairs(seen), loss=f"{loss}%"))
    most = 1 / serve
    assert values["most"] == pytest.approx(most, rel=1e-3)
    at_limit = 1 / (serve + spawn / values["limit"])
    assert at_limit >= most * (1 - loss / 100) * (1 - 1e-3)
    if values["limit"] > 100:
        assert at_limit == pytest.approx(most * (1 - loss / 100), rel=2e-2)


def test_pairs_may_be_given_one_by_one_or_with_commas():
    one_by_one = worked("respawn", ["5=2.83", "10=5.47/s", "5000=28"])
    assert one_by_one == worked("respawn", ["5=2.83,10=5.47", "5000=28"])


def test_two_pairs_give_no_interval_and_say_so():
    found = worked("respawn", "5=2.83,5000=28")
    assert found.fitted["serve_low"] is None
    assert any("no interval" in each for each in found.warnings)


@each_row(
    ("seen", "words"),
    [
        ("", "`--seen` is missing"),
        ("5=2.83", "at two limits or more"),
        ("5=2.83,5=2.9", "at two limits or more"),
        ("0=2.83,5=2.9", "at two limits or more"),
        ("5=2.83,10", "is not a pair"),
        ("5=2.83,x=3", "`x` is not a count"),
        ("5=2.83,10=x", "`x` is not a rate"),
        ("5=30,5000=20", "the rate does not rise"),
        ("5=2,10=5", "no time is left"),
    ],
)
def test_rates_that_show_nothing_are_refused(seen, words):
    with pytest.raises(UsageError, match=words) as refused:
        worked("respawn", seen)
    assert refused.value.hint


def test_touched_pages_are_unshared_and_then_no_more():
    found = worked("unsharing", TOUCHED)
    values = figures(found)
    assert values["start"] == pytest.approx(0.35e6, rel=0.2)
    assert values["level"] == pytest.approx(20.3e6, rel=0.01)
    assert values["n_scale"] == pytest.approx(47, rel=0.05)
    assert found.fitted["level_low"] < 20.4e6 < found.fitted["level_high"]
    # "For the greater part after 150 requests."
    assert values["done"] == pytest.approx(143, abs=5)
    assert values["leak"] == 0
    assert "is unknown: that takes five counts" in found.answer


COUNTS = (0, 10, 25, 50, 100, 150, 300, 525, 1000)


def child(leak_kb, *, noise_kb=100.0, counts=COUNTS, rise_kb=20_000):
    rng = np.random.default_rng(5)
    return [
        f"{n}={350 + rise_kb * (1 - np.exp(-n / 48)) + leak_kb * n + rng.normal(0, noise_kb):.3f}kB"
        for n in counts
    ]


def test_a_leak_beside_unsharing_is_told_apart():
    # The case that was made by hand leaks 20 kB with each request.
    found = worked("unsharing", child(20), limit="6000")
    assert figures(found)["leak"] == pytest.approx(20e3, rel=0.05)
    assert found.fitted["leak_low"] < 20e3 < found.fitted["leak_high"]
    assert figures(found)["level"] == pytest.approx(20.35e6, rel=0.02)
    assert figures(found)["at_limit"] == pytest.approx(20.35e6 + 6000 * 20e3, rel=0.05)
    assert found.answer.startswith("it leaks")


def test_without_a_leak_none_is_claimed_and_how_small_it_must_be_is_said():
    found = worked("unsharing", child(0))
    assert figures(found)["leak"] == 0
    assert found.fitted["leak_low"] < 0 < found.fitted["leak_high"] < 2e3
    assert "no leak is proven" in found.answer
    assert figures(found)["at_limit"] == figures(found)["level"]


@pytest.mark.parametrize("rise_kb", [0, 20_000])
def test_before_the_bend_growth_is_neither_leak_nor_unsharing(rise_kb):
    counts = (0, 2, 4, 6, 8, 10)
    found = worked("unsharing", child(20, noise_kb=1, counts=counts, rise_kb=rise_kb))
    assert "not known which yet" in found.answer or "is unknown" in found.answer
    assert found.fitted["leak_low"] is None


@pytest.mark.parametrize(
    ("seen", "words"),
    [("0=1MB,5=2MB,9=3MB", "at 4 counts"), ("0=0B,5=2MB,9=3MB,20=3MB", "has a figure of 0")],
)
def test_sizes_that_show_nothing_are_refused(seen, words):
    with pytest.raises(UsageError, match=words):
        worked("unsharing", seen)


def test_private_memory_that_stays_the_same_is_said_to():
    found = worked("unsharing", "0=2MB,10=2MB,100=2MB,1000=2MB,2000=2MB")
    assert figures(found)["leak"] == 0
    assert found.answer == "it has not grown by 2,000 requests: 2 MB"


@pytest.mark.parametrize(
    ("seen", "most"),
    [
        # Up or down by chance, and down.
        ("0=2MB,100=1.99MB,200=2MB,300=1.99MB,400=2.02MB", 2.02e6),
        ("0=2MB,100=1.9MB,200=1.8MB,300=1.7MB,400=1.6MB", 2e6),
    ],
)
def test_growth_that_is_none_or_chance_is_not_claimed(seen, most):
    found = worked("unsharing", seen)
    assert found.answer.startswith("no growth is proven by 400 requests: -")
    assert figures(found)["leak"] == 0
    assert figures(found)["at_limit"] == pytest.approx(most)


def test_pools_on_a_line_say_what_is_there_once_and_what_each_worker_adds():
    found = worked("pool-line", ["4=54.1MB", "16=101.8MB", "64=294MB"], workers="256")
    values = figures(found)
    assert values["once"] == pytest.approx(38e6, rel=0.01)
    assert values["each"] == pytest.approx(4e6, rel=0.01)
    assert values["size"] == pytest.approx(values["once"] + 256 * values["each"])
    assert found.fitted["each_low"] < 4e6 < found.fitted["each_high"]


def test_two_pools_make_a_line_without_an_interval():
    found = worked("pool-line", "4=54MB,16=102MB")
    assert figures(found)["each"] == pytest.approx(4e6)
    assert found.fitted["each_low"] is None
    assert "two pairs give a line and no interval" in found.warnings


@each_row(
    ("seen", "words"),
    [
        ("4=54MB", "at two numbers of workers"),
        ("4=54MB,4=55MB", "at two numbers of workers"),
        ("4=0B,16=55MB", "has a figure of 0"),
        ("4=60MB,16=55MB", "more workers take no more memory"),
    ],
)
def test_pools_that_show_no_line_are_refused(seen, words):
    with pytest.raises(UsageError, match=words) as refused:
        worked("pool-line", seen)
    assert refused.value.hint
