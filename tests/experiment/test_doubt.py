"""What Little's law doubts by so much widens an interval; a doubt of no size ends a claim."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.experiment.cycles import cheaper, start_of
from tests.rows import each_row

from httpdyno.experiment.decide.claim import Terms, claim, placed
from httpdyno.experiment.decide.evidence import (
    doubt_about,
    little_doubt,
    log_ratios,
    ratio_intervals,
    with_slack,
)
from httpdyno.experiment.decide.warning import is_unsteady, window_warnings
from httpdyno.experiment.method.comparison import can_be_decided
from httpdyno.experiment.method.sweep import sweep_of
from httpdyno.experiment.trial.cycles import little_check
from httpdyno.model import Cycles, Knob, Method, Objective, RatioInterval
from httpdyno.report.shared.message import joined, text
from httpdyno.stats.sequence import ratio_interval

N_USERS, MEASURED_S, PER_S = 8, 10.0, 100.0
RATES = 100.0, 190.0, 200.0
TERMS = Terms(objective=Objective(), min_starts=6)
NOISE = (0.01, -0.01, 0.0, 0.02, -0.02, 0.01, 0.0, -0.01)
"""Of the log ratios of eight starts."""


def seen(credited_per_s, factor=1.0, open_ratio=0.0):
    """Return cycles of such a credit, which is so many times what they themselves make."""
    credit, n = credited_per_s * MEASURED_S, 1000
    each_s = N_USERS / (credited_per_s / factor)
    return Cycles(
        credit=credit,
        open_credit=credit * open_ratio,
        n_users=N_USERS,
        begun=n,
        begun_right=n,
        begun_s=n * each_s,
        begun_s2=n * each_s**2,
        longest_s=1.0,
    )


def starts_of(ratio, of_a=(1.0, 0.0), of_b=(1.0, 0.0), noise=NOISE):
    """Return starts of two arms credited in that ratio; of each (credit over cycles, open)."""
    return [
        start_of(
            number, [[seen(PER_S, *of_a)], [seen(PER_S * ratio * math.exp(off), *of_b)]], MEASURED_S
        )
        for number, off in enumerate(noise)
    ]


def unfollowed(starts):
    """Return the same, but of the last window of each nobody followed the cycles."""
    return [
        structs.replace(
            start,
            windows=(
                *start.windows[:-1],
                structs.replace(
                    start.windows[-1],
                    measurement=structs.replace(start.windows[-1].measurement, cycles=None),
                ),
            ),
        )
        for start in starts
    ]


def unwidened(starts):
    return ratio_interval(log_ratios(starts, "throughput"), confidence=confidence())


def confidence():
    return TERMS.objective.confidence_of("throughput_per_s")


@each_row(
    ("factor", "open_ratio", "off_log", "words"),
    [
        (1.0, 0.0, 0.0, []),
        (1.015, 0.0, 0.0, []),
        (1.0, 0.015, 0.0, []),
        (1.1, 0.0, math.log(1.1), ["Little's law"]),
        (0.9, 0.0, -math.log(0.9), ["Little's law"]),
        (1.0, 0.1, math.log(1.1), ["might have added 10%"]),
        (0.9, 0.1, math.log(1.1) - math.log(0.9), ["might have added 10%", "Little's law"]),
    ],
)
def test_an_arm_may_be_off_by_all_that_is_wrong_with_it(factor, open_ratio, off_log, words):
    starts = starts_of(1.0, of_a=(factor, open_ratio))
    check = little_check(starts, 0)
    assert check is not None
    assert check.off_log == pytest.approx(off_log)
    assert [each for each in words if each not in joined(check.complaints)] == []
    assert bool(check.complaints) is bool(words)
    assert little_doubt(starts).slack(0, 1) == pytest.approx(off_log)


def test_both_arms_add_up_though_they_be_off_to_the_same_side():
    for of_b in (1.1, 1 / 1.1):
        doubt = little_doubt(starts_of(2.0, (1.1, 0.0), (of_b, 0.0), noise=[0.0] * 8))
        assert doubt.slack(0, 1) == pytest.approx(2 * math.log(1.1))
        assert doubt.slack_of({0: -0.5, 1: 0.5}) == pytest.approx(math.log(1.1))


@pytest.mark.parametrize(("ratio", "verdict"), [(14.0, "better"), (1 / 14, "worse")])
def test_a_few_percent_undo_no_large_ratio_and_the_interval_has_them_in_it(ratio, verdict):
    starts = starts_of(ratio, of_a=(0.945, 0.0))
    state = claim(starts, TERMS)
    assert (state.verdict, state.is_doubted) == (verdict, False)
    plain = unwidened(starts)
    assert state.interval is not None
    assert plain is not None
    assert state.interval.low == pytest.approx(plain.low * 0.945)
    assert state.interval.high == pytest.approx(plain.high / 0.945)
    assert state.interval.ratio == plain.ratio
    assert "; the interval has in it that a was credited with 100/s" in joined(state.reasons)
    assert "its users' cycles make 105.8/s (Little's law)" in joined(state.reasons)
    assert ratio_intervals(starts, TERMS.objective)["throughput"] == state.interval
    [told] = window_warnings(starts)
    assert told.code == "experiment.little"
    assert "is wider by 5.8 % to either side" in text(told.reason)
    assert not is_unsteady([told])


@pytest.mark.parametrize("ratio", [1.0, 1.04])
def test_what_the_doubt_may_explain_is_not_claimed(ratio):
    starts = starts_of(ratio, of_b=(1.05, 0.0), noise=[each / 10 for each in NOISE])
    state = claim(starts, TERMS)
    assert (state.verdict, state.is_doubted) == ("inconclusive", True)
    assert state.reasons == little_doubt(starts).complaints
    assert "Little's law" in joined(state.reasons)
    assert state.starts_needed is None, "more starts of the same kind differ alike"
    assert state.starts_at_best == 12, "or it was chance"
    assert not can_be_decided(claim(starts * 2, TERMS), 400)
    assert ratio_intervals(starts, TERMS.objective)["throughput"] == state.interval


def test_what_chance_alone_leaves_open_is_waited_for():
    """The doubt is small beside the ratio, so some more starts decide."""
    noise = [12 * each for each in NOISE]
    starts = starts_of(1.15, of_b=(1.03, 0.0), noise=noise)
    state = claim(starts, TERMS)
    assert (state.verdict, state.is_doubted) == ("inconclusive", True)
    sound = claim(starts_of(1.15, noise=noise), TERMS)
    assert state.starts_needed is not None
    assert sound.starts_needed is not None
    assert state.starts_needed > sound.starts_needed > len(starts)


@each_row("ratio", [1.0, 1.2, 14.0])
def test_a_doubt_without_a_size_lets_nothing_be_claimed(ratio):
    starts = unfollowed(starts_of(ratio, of_a=(0.945, 0.0)))
    starts = [*starts_of(ratio)[:2], *starts[2:]]
    state = claim(starts, TERMS)
    assert (state.verdict, state.is_doubted) == ("inconclusive", True)
    assert "without following" in joined(state.reasons)
    assert math.isinf(state.slack)
    assert placed(state, starts, TERMS, [1.1]) is state
    [told] = window_warnings(starts)
    assert told.code == "experiment.little_unsized"
    assert "no difference in throughput is claimed" in text(told.reason)
    assert is_unsteady([told])


@pytest.mark.parametrize(("factor", "decides"), [(0.95, True), (0.85, False)])
def test_a_tie_breaker_decides_where_the_wide_interval_proves_that_little_is_lost(factor, decides):
    objective = Objective(tie_breaker="cpu_s_per_request")
    starts = cheaper(starts_of(1.0, of_a=(factor, 0.0), noise=[each / 10 for each in NOISE]))
    state = claim(starts, Terms(objective=objective, min_starts=6))
    assert state.decided_by == ("cpu_s_per_request" if decides else "")
    assert state.verdict == ("better" if decides else "inconclusive")
    assert "a was credited with 100/s" in joined(state.reasons)
    assert state.slack == pytest.approx(-math.log(factor))


def test_a_border_is_as_far_as_the_doubt_leaves_it():
    starts = starts_of(1.3, of_b=(1.05, 0.0), noise=[4 * each for each in NOISE])
    state = claim(starts, TERMS)
    assert state.verdict == "better"
    sound = claim(starts_of(1.3, noise=[4 * each for each in NOISE]), TERMS)
    near, far = (placed(each, starts, TERMS, [1.2]) for each in (state, sound))
    assert near.starts_needed is not None
    assert far.starts_needed is not None
    assert near.starts_needed > far.starts_needed


@given(
    low=st.floats(0.01, 1.0),
    high=st.floats(1.0, 100.0),
    log=st.floats(0.0, 5.0) | st.just(math.inf),
)
def test_no_interval_becomes_narrower(low, high, log):
    plain = RatioInterval(ratio=1.0, low=low, high=high, confidence=0.95)
    wide = with_slack(plain, log)
    assert wide.low <= plain.low <= plain.ratio <= plain.high <= wide.high
    assert (wide == plain) is (log == 0 or math.isinf(log) or wide == plain)


def test_other_figures_are_not_doubted():
    starts = starts_of(14.0, of_a=(0.9, 0.0))
    assert doubt_about(starts, "cpu_per_request").complaints == ()
    assert (
        claim(starts, Terms(objective=Objective(metric="cpu_s_per_request"), min_starts=6)).slack
        == 0
    )


def biased(rng, between_sd, factors):
    """Return eight starts of two arms of the same rate, the credit of each off by its factor."""
    rows = []
    for number in range(8):
        arms = []
        for factor in factors:
            rate = PER_S * math.exp(rng.normal(0, between_sd))
            wrong = factor * math.exp(rng.normal(0, 0.003))
            arms.append([seen(rate * wrong, wrong)])
        rows.append(start_of(number, arms, MEASURED_S))
    return rows


@pytest.mark.parametrize(("between_sd", "least"), [(0.05, 0.0), (0.002, 0.04)])
def test_the_true_ratio_is_covered_as_often_as_the_confidence_says(between_sd, least):
    """The credit of either arm is off by up to a tenth; users' cycles are right.

    Where starts are all alike, what the check tolerates shows: so only larger ones are drawn.
    """
    rng = np.random.default_rng(1)
    n_trials, missed, missed_plain = 300, 0, 0
    for _ in range(n_trials):
        off = rng.uniform(least, 0.1, 2) * rng.choice([-1, 1], 2)
        starts = biased(rng, between_sd, 1 + off)
        wide, plain = ratio_intervals(starts, Objective())["throughput"], unwidened(starts)
        missed += not wide.low <= 1 <= wide.high
        missed_plain += not plain.low <= 1 <= plain.high
    assert missed <= n_trials * (1 - confidence())
    assert missed_plain > n_trials * (1 - confidence()), "without it, it would not be"


def test_levels_of_a_sweep_are_as_wide_as_each_of_them_asks(study):
    of_curve = structs.replace(
        study,
        knobs=(Knob(name="workers", start=4, levels=(1, 2, 4)),),
        method=Method(kind="sweep", knob="workers"),
    )

    def curve(*factors):
        rows = [
            [[seen(rate * math.exp(off * arm), factors[arm])] for arm, rate in enumerate(RATES)]
            for off in NOISE
        ]
        starts = [start_of(number, row, MEASURED_S) for number, row in enumerate(rows)]
        return sweep_of(starts, of_curve)

    plain, doubted = curve(1.0, 1.0, 1.0), curve(1.1, 1.0, 1.0)
    assert plain.best == doubted.best == 4

    def wider(of):
        return [
            math.log(b.high / b.low) - math.log(a.high / a.low)
            for a, b in ((of(x), of(y)) for x, y in zip(plain.points, doubted.points, strict=True))
            if a is not None and b is not None
        ]

    by = 2 * math.log(1.1)
    assert wider(lambda point: point) == pytest.approx([by, 0, 0])
    assert wider(lambda point: point.ratio_to_best) == pytest.approx([by, 0])
    assert wider(lambda point: point.next_throughput) == pytest.approx([by, 0])
