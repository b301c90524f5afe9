"""Simulated comparisons of an arm with itself: what disturbs them, and what is counted."""

import random
from itertools import pairwise

import numpy as np
import pytest
from benches.engine.process import BenchError
from benches.power import disturbance
from benches.power.disturbance import SHAPES, Disturbance, Shape
from benches.power.figure import THIS, Setting
from benches.power.simulated import (
    BUDGET_S,
    COME_UP_S,
    SIDE_BY_SIDE,
    Simulated,
    Simulation,
    judged_simulated,
    outcome_of,
    simulating,
    sized,
    told_by,
    verdict,
    verdicts_of,
)

from httpdyno.experiment.method.session import OVERTIME_RATIO, StartDone

STILL = 1e-9


@pytest.fixture
def still(monkeypatch):
    """Starts that differ by nothing but what the shape does to them."""
    monkeypatch.setattr(disturbance, "START_SD", (STILL, STILL))
    monkeypatch.setattr(disturbance, "MOOD_SD", 0.0)


@pytest.fixture
def alike(monkeypatch):
    """Starts whose spread is 1, whatever the sequence."""
    monkeypatch.setattr(disturbance, "START_SD", (1.0, 1.0))


def of_shape(seed, **of_it):
    shape = Shape(name="a shape", **of_it)
    return Disturbance(shape, np.random.default_rng(seed), lasts_s=60.0)


def ratios(logs):
    return logs[..., 1] - logs[..., 0]


# Shapes


def test_a_drift_is_steady_and_goes_either_way():
    ends = []
    for seed in range(200):
        met = of_shape(seed, drift_log=(0.1, 0.5))
        ends.append(met.machine_log(60.0))
        assert met.machine_log(0.0) == 0
        assert met.machine_log(15.0) == pytest.approx(ends[-1] / 4)
    assert 0.1 <= min(map(abs, ends)) < max(map(abs, ends)) <= 0.5
    assert 60 < sum(end > 0 for end in ends) < 140


def test_a_step_comes_at_one_instant_of_the_run():
    at_s = []
    for seed in range(200):
        met = of_shape(seed, step_log=(0.1, 0.5))
        seen = [met.machine_log(now_s) for now_s in np.linspace(0, 60, 601)]
        changes = [n for n, (before, after) in enumerate(pairwise(seen)) if before != after]
        assert len(changes) == 1
        assert seen[0] == 0
        assert 0.1 <= abs(seen[-1]) <= 0.5
        at_s.append(changes[0] / 10)
    assert min(at_s) < 5
    assert max(at_s) > 55


@pytest.mark.parametrize("slowed", ["any", "same"])
def test_bursts_slow_one_arm_of_a_share_of_the_starts_for_a_few_batches(still, slowed):
    sides, lengths, both = [], [], 0
    for seed in range(40):
        met = of_shape(seed, burst_ratio=(0.5, 0.5), slowed=slowed)
        batches = [met.batch_log(64) for _ in range(60)]
        length = 0
        for logs in batches:
            slow = logs[np.abs(logs) > 1e-6]
            if not slow.size:
                lengths += [length] if length else []
                length = 0
                continue
            length += 1
            assert np.all(slow >= np.log(1 - 0.6))
            assert np.all(slow <= np.log(1 - 0.1))
            hit = np.abs(logs) > 1e-6
            assert np.all(hit.sum(axis=1) <= 1)
            assert 12 < hit.sum() < 52
            sides.append(bool(hit[:, 0].any()))
            both += bool(hit.any(axis=0).all())
    assert min(lengths) == 1
    # One burst may follow another at once.
    assert np.mean(np.array(lengths) <= 4) > 0.5
    assert (both == 0) is (slowed == "same")
    if slowed == "same":
        assert 0.2 < np.mean(sides) < 0.8


def test_no_burst_is_no_burst(still):
    assert np.abs(of_shape(1).batch_log(1_000)).max() < 1e-6


@pytest.mark.parametrize(
    ("tails", "beyond"), [("normal", 0.0027), ("t", 0.0138), ("lognormal", 0.0187)]
)
def test_tails_are_as_heavy_as_they_say(alike, monkeypatch, tails, beyond):
    monkeypatch.setattr(disturbance, "MOOD_SD", 0.0)
    logs = of_shape(1, tails=tails).batch_log(100_000).ravel()
    logs -= logs.mean()
    assert np.mean(np.abs(logs) > 3) == pytest.approx(beyond, rel=0.15)
    if tails == "lognormal":
        # Now and then a start is much slower than others, none is much faster.
        assert logs.min() < -6
        assert logs.max() < 1.5


def test_starts_of_a_batch_have_a_part_of_their_variance_in_common(alike):
    met = of_shape(1, shared_ratio=(0.2, 0.2))
    pairs = np.array([ratios(met.batch_log(2)) for _ in range(20_000)])
    assert pairs.var() == pytest.approx(2, rel=0.05)
    assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(0.2, abs=0.03)
    apart = of_shape(1)
    pairs = np.array([ratios(apart.batch_log(2)) for _ in range(20_000)])
    assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(0, abs=0.03)


def test_what_both_arms_have_in_common_is_not_in_their_ratio(still, monkeypatch):
    monkeypatch.setattr(disturbance, "MOOD_SD", 0.1)
    logs = of_shape(1).batch_log(10_000)
    assert logs.std() == pytest.approx(0.1, rel=0.05)
    assert np.abs(ratios(logs)).max() < 1e-6


def test_arms_are_alike_over_all_sequences(monkeypatch):
    monkeypatch.setattr(disturbance, "START_SD", (0.1, 0.1))
    for shape in SHAPES:
        seen = [
            ratios(Disturbance(shape, np.random.default_rng(seed), lasts_s=60).batch_log(8)).mean()
            for seed in range(2_000)
        ]
        assert abs(np.mean(seen)) < 5 * np.std(seen) / np.sqrt(len(seen)), shape.name


# Comparisons


def test_starts_come_in_batches_with_a_look_after_each():
    looks = []

    def watch(event):
        if isinstance(event, StartDone):
            looks.append((event.n_starts, event.elapsed_s))

    outcome_of(of_shape(1), of_shape(2), np.random.default_rng(1), watch)
    n_starts = [n for n, _ in looks]
    assert n_starts[:2] == [1, 6]
    batches = np.diff(n_starts)
    assert max(batches) == SIDE_BY_SIDE
    assert len(looks) > 5
    # What a batch needs to come up is paid once. Its starts have four blocks of windows, or two.
    taken_s = np.diff([elapsed_s for _, elapsed_s in looks])
    n_blocks = (taken_s - COME_UP_S) / (batches * 2 * 0.07)
    assert {*np.round(n_blocks, 6)} <= {2.0, 4.0}
    assert BUDGET_S * 0.7 < looks[-1][1] <= BUDGET_S * (1 + OVERTIME_RATIO)


class OneIsFaster(Disturbance):
    """An arm that really is 30 % faster."""

    def batch_log(self, n_starts):
        return np.tile([0.0, np.log(1.3)], (n_starts, 1))


def claims(faster, cheaper):
    """Return what is claimed of an arm whose speed or CPU is really another, and of how many."""
    rng = np.random.default_rng(1)
    time_taken, cpu = (
        (OneIsFaster if is_other else Disturbance)(SHAPES[0], rng, lasts_s=BUDGET_S)
        for is_other in (faster, cheaper)
    )
    final = outcome_of(time_taken, cpu, rng).final
    assert final is not None
    assert final.second is not None
    assert final.second.metric == "cpu_s_per_request"
    return final.verdict, final.second.verdict, final


def test_what_is_there_is_claimed_of_either_metric():
    verdict, second, final = claims(faster=True, cheaper=True)
    assert (verdict, second) == ("better", "better")
    assert final.n_starts == 6
    verdict, second, final = claims(faster=False, cheaper=True)
    assert second == "better"
    assert verdict not in {"better", "worse"}
    # What is faster by so much takes so much less.
    assert final.ratios["cpu_per_request"].ratio == pytest.approx(1 / 1.3, rel=0.05)


def test_the_metrics_err_at_times_of_their_own():
    rng = np.random.default_rng(3)
    finals = []
    for seed in range(30):
        pair = (of_shape(2 * seed), of_shape(2 * seed + 1))
        final = outcome_of(*pair, rng).final
        assert final is not None
        finals.append(
            [np.log(final.ratios[name].ratio) for name in ("throughput", "cpu_per_request")]
        )
    assert abs(np.corrcoef(np.array(finals).T)[0, 1]) < 0.5


def test_a_seed_and_a_number_say_all_of_a_sequence():
    shape = SHAPES[0]
    told = [verdict(shape, 3, number) for number in range(6)]
    assert told == [verdict(shape, 3, number) for number in range(6)]
    assert verdicts_of(shape, 3, range(6)).total() == 6
    words = {"better", "worse", "equivalent", "inconclusive"}
    assert {each.split(", ")[0] for each in told} <= words


def test_a_lot_is_simulated_whole(tmp_path):
    case = sized(Simulation(figure=1, name="n", n=8, longest_s=60.0, shape=SHAPES[0]), 30)
    assert (case.n, case.lot) == (1, 30)
    assert case.longest_s == pytest.approx(60 * 30 / 500)
    assert case.asked == 30
    assert sized(case, 0).n == 0
    setting = Setting(trees={THIS: tmp_path, "before": tmp_path}, folder=tmp_path, seed=1)
    [shown] = case.take(setting, random.Random(1))
    assert isinstance(shown, Simulated)
    assert shown.by == THIS
    assert shown.n == 30
    assert shown.words().startswith("30 sequences simulated: ")


def test_a_simulation_that_breaks_says_so():
    with simulating(SHAPES[0], -1, range(1)) as process, pytest.raises(BenchError) as broken:
        told_by(process)
    assert "a simulation ended with status 1: " in str(broken.value)


# Judging


def lot(shape, n_wrong, n=100):
    verdicts = {"better": n_wrong - n_wrong // 2, "worse": n_wrong // 2}
    return Simulated(
        figure=1,
        case=shape,
        by=THIS,
        took_s=1.0,
        stolen_cores=0.0,
        verdicts=verdicts | {"inconclusive": n - n_wrong},
    )


def test_a_claim_of_either_metric_is_one_wrong_sequence():
    verdicts = {"worse": 1, "worse, CPU better": 2, "inconclusive, CPU worse": 4, "equivalent": 8}
    both = Simulated(
        figure=1, case="calm", by=THIS, took_s=1.0, stolen_cores=0.0, verdicts=verdicts
    )
    assert (both.n, both.n_wrong) == (15, 7)


def test_a_shape_is_judged_by_itself():
    shown = [lot("calm", 0)] * 40 + [lot("stormy", 5), lot("stormy", 6)]
    calm, stormy = judged_simulated(shown)
    assert calm.is_met
    assert not stormy.is_met
    assert "stormy: 11 of 200 claim a difference (5.5%)" in stormy.words
    assert judged_simulated([lot("stormy", 5)])[0].is_met
    assert judged_simulated([]) == []
    [told] = judged_simulated([lot("one-sided", 50)])
    assert told.is_met
    assert told.words.endswith("so nothing is required of it")
