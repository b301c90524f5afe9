"""What a few starts of a configuration against itself may promise."""

import math

import pytest
from msgspec import structs
from scipy import stats
from tests.conformance.record import sample_start, sample_window
from tests.rows import each_row

from httpdyno.experiment.method.stages import _spread_at_most, calibrated, start_cost
from httpdyno.model import Objective, SystemCalls
from httpdyno.report.shared.message import text


@each_row("n", [2, 3, 6, 12])
def test_the_spread_of_a_start_is_bounded_as_few_starts_allow(n):
    ratios = [0.02 * (-1) ** index for index in range(n)]
    exact = 0.02 * math.sqrt(n / stats.chi2.ppf(0.2, n))
    assert _spread_at_most(ratios) == pytest.approx(exact, rel=0.01)


def test_two_starts_that_happen_to_agree_promise_no_more_than_what_both_strayed_by():
    # Both arms are the same, so that both starts favour one of them is noise, too.
    assert _spread_at_most([0.03, 0.03]) > 0.06


@pytest.mark.parametrize(("looks_s", "n_blocks"), [(0.0, 4), (20.0, 4), (30.0, 3), (500.0, 1)])
def test_what_is_looked_at_leaves_less_time_for_windows(study, looks_s, n_blocks):
    """A start of two arms takes 2 s and 0.7 s for each block; two comparisons have six each."""
    windows = tuple(sample_window(arm=arm, block=block) for block in (0, 1) for arm in (0, 1))
    load_s = sum(window.measurement.total_s for window in windows)
    start = structs.replace(sample_start(), windows=windows, duration_s=2.0 + load_s)
    budget_s = (2 * 6 * (2.0 + 4 * load_s / 2) + start.duration_s + 25.0) / 0.92
    cost = start_cost(
        [start], structs.replace(study, budget_s=budget_s), n_comparisons=2, looks_s=looks_s
    )
    assert cost.n_blocks == n_blocks


def test_what_a_first_start_counts_once_is_no_cost_of_each_start(study):
    """It is planned for with what is looked at: once in each comparison."""
    plain = structs.replace(sample_start(), duration_s=5.0)
    counting = structs.replace(plain, duration_s=25.0, looked_s=20.0)
    costs = [
        start_cost([first, plain, plain], study, n_comparisons=1, looks_s=looks_s)
        for first, looks_s in ((plain, 40.0), (counting, 20.0))
    ]
    assert costs[0].first_s == pytest.approx(costs[1].first_s)


@pytest.mark.parametrize("is_alike", [True, False])
def test_counts_that_never_differed_do_not_promise_that_nothing_is_too_small(study, is_alike):
    def start(number):
        counts = 100.0, 100.0 if is_alike else 100.0 + number
        found = tuple(SystemCalls(per_request=n, n_answers=20) for n in counts)
        # The throughput of their windows differs, which is nothing to what is counted.
        windows = tuple(
            structs.replace(seen, measurement=structs.replace(seen.measurement, measured_s=1 + n))
            for n, seen in enumerate(sample_start().windows)
        )
        return structs.replace(sample_start(), windows=windows, system_calls=found)

    counted = structs.replace(study, objective=Objective(metric="calls_per_request"))
    cost = start_cost([start(number) for number in range(3)], counted, n_comparisons=1)
    words = text(calibrated(cost, budget_s=60.0))
    assert ("detectable_ratio" in cost.figures) is not is_alike
    assert ("or more can be proven in" in words) is not is_alike
    assert words.endswith("how small a difference can be proven") is is_alike


@pytest.mark.parametrize("metric", ["ready_s", "pss_bytes", "cpu_s_per_request"])
def test_windows_whose_throughput_strays_say_nothing_of_what_is_none(study, metric):
    """What can be proven of time until it is ready, or of memory, is what its starts stray by."""

    def start(number, stray):
        of_arm = 1.0, 1.0 + number / 1e4
        windows = tuple(
            structs.replace(
                seen,
                block=block,
                measurement=structs.replace(seen.measurement, measured_s=1 + stray * block * arm),
                telemetry=structs.replace(
                    seen.telemetry, pss_bytes=round(1e6 * of_arm[arm]), cpu_s=of_arm[arm]
                ),
            )
            for block in range(4)
            for arm in (0, 1)
            for seen in [sample_window(arm=arm, block=block)]
        )
        return structs.replace(sample_start(), windows=windows, came_up_s=of_arm)

    asked = structs.replace(study, objective=Objective(metric=metric))
    calm, stray = (
        start_cost([start(n, by) for n in range(3)], asked, n_comparisons=1).figures
        for by in (0.0, 0.5)
    )
    assert stray["between_windows_sd"] > calm["between_windows_sd"]
    assert stray["detectable_ratio"] == pytest.approx(calm["detectable_ratio"], rel=1e-9)
    assert stray["detectable_ratio"] < 1.002
