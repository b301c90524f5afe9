"""What the windows of starts make, and what each look at them costs."""

import pytest
from msgspec import structs
from tests.experiment.cycles import start_of

from httpdyno.experiment import evidence
from httpdyno.experiment.claim import Terms, claim
from httpdyno.model import Cycles, HistogramData, Objective
from httpdyno.stats.histogram import merge
from httpdyno.testing.record import sample_start, sample_window


def test_each_look_merges_only_what_is_new(monkeypatch):
    n_merged = 0

    def counted(parts):
        nonlocal n_merged
        known = list(parts)
        n_merged += len(known)
        return merge(known)

    monkeypatch.setattr(evidence, "merge", counted)
    objective = Objective(tie_breaker="latency_p50_s", max_error_ratio=0.1)
    starts = []
    for number in range(60):
        starts.append(sample_start(start=number, n_blocks=4))
        claim(
            starts,
            Terms(objective=objective, min_starts=6),
        )
    assert n_merged == 60 * 2 * 4, "each window once"


def test_totals_kept_are_those_of_the_very_start():
    for n_blocks in (1, 2, 3):
        start = sample_start(n_blocks=n_blocks)
        totals = evidence.arm_totals(start, 1)
        assert totals.completed == 240 * n_blocks
        assert totals is evidence.arm_totals(start, 1)


def test_the_totals_of_all_starts_are_those_of_all_windows():
    starts = [sample_start(start=number, n_blocks=1 + number) for number in range(3)]
    windows = [w for start in starts for w in start.windows if w.arm == 0]
    together = evidence.ArmTotals.sum([evidence.arm_totals(start, 0) for start in starts])
    of_windows = evidence.ArmTotals.of(windows)
    assert together.completed == of_windows.completed
    assert together.latency.counts == of_windows.latency.counts
    for name in ("throughput", "cpu_per_request", "latency_p50"):
        assert together.figures.value(name) == pytest.approx(of_windows.figures.value(name))


def starts_with(*counts):
    """Return starts whose second arm has so many latencies, and whose first one has many."""
    return [
        structs.replace(
            sample_start(start=number),
            windows=tuple(
                sample_window(start=number, arm=arm, completed=n) for arm, n in enumerate((900, n))
            ),
        )
        for number, n in enumerate(counts)
    ]


@pytest.mark.parametrize(
    ("counts", "is_carried"),
    [
        ((302,) * 6, True),
        ((298,) * 6, False),
        # Of many starts one is always thin.
        ((330,) * 29 + (280,), True),
        ((330,) * 29 + (190,), False),
        ((280,) * 4 + (900,) * 2, False),
        ((), False),
    ],
)
def test_a_percentile_is_carried_by_the_median_start_and_no_start_is_far_below(counts, is_carried):
    starts = starts_with(*counts)
    assert evidence.carries(starts, "latency_p99") == is_carried
    assert evidence.carries(starts, "throughput")


def test_one_thin_start_does_not_end_a_comparison_that_was_carried_for_long():
    objective = Objective(metric="latency_p99_s", max_error_ratio=0.1)
    terms = Terms(objective=objective, min_starts=6)
    state = claim(starts_with(*(330,) * 29, 280), terms)
    assert (state.verdict, state.n_starts) == ("equivalent", 30)
    told = claim(starts_with(*(280,) * 30), terms)
    assert told.verdict == "not_measured"
    assert "a start holds 280 requests, too few requests for its p99 latency" in told.reason


def test_throughput_is_what_cycles_credit_and_else_what_ended():
    cycles = Cycles(
        credit=7.5, n_users=4, begun=8, begun_right=8, begun_s=4.0, begun_s2=2.0, longest_s=0.5
    )
    start = start_of(0, [[cycles, cycles]], 2.0)
    assert evidence.start_figures(start, 0).throughput_per_s == pytest.approx(15 / 4)
    plain = sample_start()
    assert evidence.start_figures(plain, 0).throughput_per_s == pytest.approx(240 / 0.25)
    assert plain.windows[0].measurement.latency != HistogramData()
