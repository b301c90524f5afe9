"""What a run settles on: nothing that its last word does not bear out."""

from typing import Any

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore

from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Stage
from httpdyno.model import Cycles, Knob, Level, Method
from httpdyno.report.shared.message import text


class _Watched(FakeBench):
    """Knows when the final claim is made."""

    is_final = False

    def watch(self, event):
        self.is_final |= isinstance(event, Stage) and event.name == "final"


def _run(study, bench):
    plan = make_plan(study, seed=7)
    watch = bench.watch if isinstance(bench, _Watched) else lambda _event: None
    return run_plan(plan, bench=bench, store=MemoryStore(), run_id="1", watch=watch)


def _by_tie(study):
    return structs.replace(
        study, objective=structs.replace(study.objective, tie_breaker="cpu_s_per_request")
    )


@pytest.fixture
def cheapening(study):
    """Eight knobs, each of which costs 3 % of throughput and saves 10 % of the CPU time."""
    knobs = tuple(Knob(name=f"k{n}", start=False, levels=(True,)) for n in range(8))
    return _by_tie(structs.replace(study, knobs=knobs, budget_s=1200.0))


def _on(values):
    return sum(values.values())


def test_a_tie_breaker_gives_away_no_more_than_a_tenth_in_all(cheapening):
    bench = FakeBench(
        throughput_per_s=lambda values: 400.0 * 0.97 ** _on(values),
        cpu_s_per_request=lambda values: 0.001 * 0.9 ** _on(values),
        # So noisy that no single step is proven worse.
        start_sd=0.04,
    )
    outcome = _run(cheapening, bench)
    kept = [step for step in outcome.steps if step.kept]
    assert kept
    assert 0.97 ** len(kept) >= 0.9
    assert 0.97 ** _on(outcome.configuration.values) >= 0.9
    assert all(step.comparison.decided_by for step in kept)


SPEEDS: dict[Level, float] = {0: 400.0, 1: 600.0, 2: 800.0}


class _Turning(_Watched):
    """What was better in the steps is not any more when all is proven: another time of day."""

    def measure_start(self, request, save):
        if self.is_final:
            self.throughput_per_s = self.later
            self.start_sd = self.later_sd or self.start_sd
        return super().measure_start(request, save)

    later: Any
    later_sd = 0.0


def _turning(study, later, **more):
    bench = _Turning(throughput_per_s=lambda values: SPEEDS[values["good"]], **more)
    bench.later = later
    return _run(study, bench)


@pytest.mark.parametrize(
    ("later", "verdict", "said"),
    [
        (lambda values: 400.0 * (1 - 0.2 * values["good"]), "worse", "came out worse"),
        (lambda values: 400.0, "equivalent", "made no difference"),
    ],
)
def test_a_final_that_is_not_better_settles_on_the_start_and_says_so(study, later, verdict, said):
    outcome = _turning(study, later, start_sd=0.0005, window_sd=0.001)
    assert any(step.kept for step in outcome.steps)
    assert outcome.final.verdict == verdict
    assert outcome.configuration == study.start_configuration()
    assert outcome.overlay_diff == ""
    assert text(outcome.withdrawn).startswith("the start stays: the 2 changes that were kept")
    assert said in text(outcome.withdrawn)


@pytest.mark.parametrize(("max_p99_s", "is_kept"), [(0.05, True), (0.035, False)])
def test_a_final_that_breaks_a_limit_settles_on_the_start(study, max_p99_s, is_kept):
    objective = structs.replace(study.objective, max_p99_s=max_p99_s)
    # 8 users at 200 requests per second wait for 40 ms; in the steps it was 10 ms.
    later = {0: 100.0, 1: 150.0, 2: 200.0}
    outcome = _turning(
        structs.replace(study, objective=objective), lambda values: later[values["good"]]
    )
    assert outcome.final.verdict == ("better" if is_kept else "failed")
    assert (outcome.configuration.values["good"] == 2) is is_kept
    assert (outcome.withdrawn is None) is is_kept
    assert is_kept or "breaks a limit: p99 latency is" in text(outcome.withdrawn)


def test_a_final_that_is_better_stands(study):
    outcome = _turning(study, lambda values: 400.0 * (1 + 0.5 * values["good"]))
    assert outcome.withdrawn is None
    assert outcome.configuration.values["good"] == 2


@pytest.fixture
def sweep_study(study):
    return structs.replace(
        study,
        knobs=(Knob(name="workers", start=16, levels=(1, 8, 16)),),
        method=Method(kind="sweep", knob="workers", window_s=0.5, blocks_per_start=2),
    )


@pytest.mark.parametrize(
    ("start_sd", "verdict", "workers"),
    [(0.001, "equivalent", 8), (0.02, "inconclusive", 8), (0.15, "inconclusive", 16)],
)
def test_a_knee_with_fewer_stands_where_it_is_proven_to_lose_little(
    sweep_study, start_sd, verdict, workers
):
    rates: dict[Level, float] = {1: 200.0, 8: 800.0, 16: 800.0}
    bench = _Turning(throughput_per_s=lambda values: rates[values["workers"]], start_sd=0.001)
    bench.later, bench.later_sd = bench.throughput_per_s, start_sd
    outcome = _run(structs.replace(sweep_study, budget_s=300.0), bench)
    assert outcome.sweep.knee == 8
    assert outcome.final.verdict == verdict
    assert outcome.configuration.values == {"workers": workers}
    assert (outcome.withdrawn is None) is (workers == 8)


class _Contradicting(_Watched):
    """In the final, users' cycles say another throughput than what was credited."""

    def measure_start(self, request, save):
        start = super().measure_start(request, save)
        if not self.is_final:
            return start
        windows = (
            structs.replace(w, measurement=structs.replace(w.measurement, cycles=_by_a_tenth(w)))
            for w in start.windows
        )
        return structs.replace(start, windows=tuple(windows))


def _by_a_tenth(window):
    seen = window.measurement
    n = seen.measured_completed
    return Cycles(
        credit=float(n),
        n_users=8,
        begun=n,
        begun_right=n,
        begun_s=8 * seen.measured_s / 1.1,
        begun_s2=0.0,
        longest_s=0.1,
    )


def test_a_knee_with_fewer_does_not_stand_by_figures_that_contradict_each_other(sweep_study):
    bench = _Contradicting(
        throughput_per_s=lambda values: 200.0 if values["workers"] == 1 else 800.0, start_sd=0.001
    )
    outcome = _run(structs.replace(sweep_study, budget_s=300.0), bench)
    assert outcome.sweep.knee == 8
    interval = outcome.final.ratios["throughput"]
    assert interval.ratio == pytest.approx(1, abs=0.01)
    assert interval.low == pytest.approx(1 / 1.1**2, abs=0.02), "both may be off by a tenth"
    assert outcome.configuration.values == {"workers": 16}
    assert "Little's law" in text(outcome.withdrawn)


def test_a_knee_that_is_worse_than_the_start_on_fresh_starts_is_not_settled_on(sweep_study):
    bench = _Turning(throughput_per_s=lambda _values: 800.0, start_sd=0.001, window_sd=0.001)
    bench.later = lambda values: 600.0 if values["workers"] < 16 else 800.0
    outcome = _run(sweep_study, bench)
    assert outcome.sweep.knee == 1
    assert outcome.final.verdict == "worse"
    assert outcome.configuration.values == {"workers": 16}
    assert "the curve's knee, came out worse" in text(outcome.withdrawn)


def test_a_start_that_is_no_level_that_will_do_leaves_the_knee_without_a_ratio(sweep_study):
    bench = FakeBench(
        throughput_per_s=lambda values: 800.0 if values["workers"] == 8 else 100.0,
        status=lambda values: "refused" if values["workers"] == 16 else "complete",
    )
    outcome = _run(sweep_study, bench)
    assert outcome.final is None
    assert outcome.configuration.values == {"workers": 8}
    assert "experiment.start_is_no_level" in {caveat.code for caveat in outcome.warnings}
