"""Windows that are chosen from cycles: long enough, no longer, and without bias."""

import math
from statistics import fmean, stdev

import numpy as np
import pytest
from tests.experiment.cycles import LENGTHS, seen_cycles
from tests.rows import each_row

from httpdyno.experiment.trial.cycles import CycleMoments, choose_windows
from httpdyno.model import Cycles

LATENCIES_S = (0.005, 0.02, 0.05, 0.09, 0.11, 0.17, 0.3, 0.4, 0.9)


def moments(*lengths_s):
    return CycleMoments(
        n=len(lengths_s), sum_s=sum(lengths_s), sum_s2=sum(each**2 for each in lengths_s)
    )


def chosen(*arms, n_users=4, window_s=0.25, lead_in_s=0.1, limit_s=math.inf):
    return choose_windows(
        arms,
        n_users=n_users,
        n_blocks=4,
        window_s=window_s,
        lead_in_s=lead_in_s,
        limit_s=limit_s,
    )


def drawn_at(kind, latency_s):
    return lambda rng, n: latency_s * LENGTHS[kind](rng, n)


def test_fast_servers_get_the_windows_that_were_asked_for():
    choice = chosen(moments(*[0.001] * 100))
    assert (choice.n_blocks, choice.lead_in_s, choice.measure_s) == (4, 0.1, 0.25)
    assert choice.spread_s == pytest.approx(0.001)


def test_slow_ones_get_fewer_and_longer_ones_and_the_slowest_decides_for_all():
    choice = chosen(moments(*[0.01] * 100), moments(*[0.4] * 8))
    assert choice == chosen(moments(*[0.4] * 8), moments(*[0.01] * 100))
    assert choice.lead_in_s >= 2 * 0.4
    assert choice.measure_s >= 0.4
    assert choice.n_blocks == 1
    assert choice.n_blocks * choice.measure_s >= 4 * 0.25, "no less is measured than was asked"


def cycles(first_s=0.0, later_s=0.0, *, is_fresh=False):
    return Cycles(
        credit=16,
        n_users=16,
        begun=16,
        begun_right=16,
        begun_s=1.6,
        begun_s2=0.16,
        longest_s=0.1,
        first_s=first_s,
        later_s=later_s,
        is_fresh=is_fresh,
    )


@each_row(
    ("seen", "lead_in_s"),
    [
        ([cycles(0.5, 0.14)], 0.6),
        ([cycles(0.1, 0.14)], 0.2),
        ([cycles()], 0.2),
        # A fresh server does some things once, and kept connections say nothing.
        ([cycles(3.0, 0.14), cycles(0.5, 0.14), cycles(0.1, 0.14), cycles()], 0.6),
        # All at once, as in the warm-up, says nothing of users that come later.
        ([cycles(0.2, 0.1, is_fresh=True), cycles(0.5, 0.14)], 0.6),
    ],
)
def test_where_users_come_in_slowly_the_lead_in_lasts_until_all_are_in(seen, lead_in_s):
    known = CycleMoments.of(seen[:1]) + CycleMoments.of(seen[1:])
    assert chosen(known).lead_in_s == pytest.approx(lead_in_s)
    assert chosen(known, moments(*[0.1] * 9)).lead_in_s == pytest.approx(lead_in_s)
    assert chosen(known, lead_in_s=0.7).lead_in_s == 0.7


def test_variable_latencies_are_measured_for_longer_and_more_users_shorten_that():
    few = chosen(moments(0.01, 0.01, 0.01, 0.4), n_users=4)
    many = chosen(moments(0.01, 0.01, 0.01, 0.4), n_users=64)
    steady = chosen(moments(*[0.1075] * 4), n_users=4)
    assert few.n_blocks * few.measure_s > 2 * steady.n_blocks * steady.measure_s
    assert many.n_blocks * many.measure_s < few.n_blocks * few.measure_s / 2


def test_what_was_asked_gives_way_to_a_limit_but_not_what_cycles_demand():
    slow = moments(*[0.1] * 8)
    asked = chosen(slow, slow, window_s=3.0)
    assert (asked.n_blocks, asked.measure_s) == (4, 3.0)
    tight = chosen(slow, slow, window_s=3.0, limit_s=2 * 4 * asked.window_s - 1)
    assert (tight.n_blocks, tight.measure_s) == (1, 3.0)
    varied = moments(0.01, 0.01, 0.01, 0.4)
    assert chosen(varied, limit_s=0.1).measure_s >= 50 * varied.variation * varied.mean_s / 4


def test_nothing_known_leaves_what_was_asked():
    choice = chosen(CycleMoments())
    assert (choice.n_blocks, choice.lead_in_s, choice.measure_s) == (4, 0.1, 0.25)


@pytest.mark.parametrize("kind", LENGTHS)
@pytest.mark.parametrize("n_users", [4, 64])
def test_the_credit_of_the_chosen_windows_is_the_true_rate(kind, n_users):
    rng = np.random.default_rng(20)
    sample = LENGTHS[kind](rng, 20_000)
    errors = []
    for latency_s in LATENCIES_S:
        choice = chosen(moments(*(latency_s * sample)), n_users=n_users)
        truth = n_users / latency_s
        seen = [
            seen_cycles(rng, drawn_at(kind, latency_s), n_users, choice)[0].credit
            for _ in range(8 if n_users > 4 else 40)
        ]
        error = fmean(seen) / choice.measure_s / truth - 1
        errors.append(error)
        if kind == "constant":
            assert abs(error) < 1e-9, f"{latency_s} s"
    # Each latency is an independent estimate of the same bias.
    assert abs(fmean(errors)) < 0.01 + 3 * stdev(errors) / math.sqrt(len(errors)), errors


def test_counting_ended_answers_is_what_is_biased():
    rng = np.random.default_rng(21)
    choice = chosen(CycleMoments(), lead_in_s=0.1)
    at_once = [
        seen_cycles(rng, drawn_at("constant", latency_s), 4, choice) for latency_s in (0.11, 0.09)
    ]
    (slow, n_slow), (fast, n_fast) = at_once
    assert n_fast / n_slow == pytest.approx(2 / 3), "the wrong sign"
    assert fast.credit / slow.credit == pytest.approx(0.11 / 0.09, rel=1e-9)
