"""What the windows of starts make, and what each look at them costs."""

import pytest
from tests.experiment.cycles import start_of

from httpdyno.experiment import evidence
from httpdyno.experiment.claim import Terms, claim
from httpdyno.model import Cycles, HistogramData, Objective
from httpdyno.stats.histogram import merge
from httpdyno.testing.record import sample_start


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


def test_throughput_is_what_cycles_credit_and_else_what_ended():
    cycles = Cycles(
        credit=7.5, n_users=4, begun=8, begun_right=8, begun_s=4.0, begun_s2=2.0, longest_s=0.5
    )
    start = start_of(0, [[cycles, cycles]], 2.0)
    assert evidence.start_figures(start, 0).throughput_per_s == pytest.approx(15 / 4)
    plain = sample_start()
    assert evidence.start_figures(plain, 0).throughput_per_s == pytest.approx(240 / 0.25)
    assert plain.windows[0].measurement.latency != HistogramData()
