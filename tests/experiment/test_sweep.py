import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.report.plain import plain_text

from httpdyno.cli.plan_text import plan_lines
from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment.decide.warning import is_unsteady
from httpdyno.experiment.design.plan import make_plan, sweep_levels
from httpdyno.experiment.method.run import run_plan
from httpdyno.model import Constant, Cycles, Knob, Level, Method, SystemCalls
from httpdyno.report.shared.message import error_text, joined, text
from httpdyno.report.study.text import outcome_text
from httpdyno.stats.verdict import choice_rule, knee_rule

TRUTH: dict[Level, float] = {1: 200.0, 2: 390.0, 4: 700.0, 8: 800.0, 16: 796.0, 64: 500.0}


@pytest.fixture
def sweep_study(study):
    return structs.replace(
        study,
        knobs=(Knob(name="workers", start=64, levels=(1, 2, 4, 8, 16, 64)),),
        method=Method(kind="sweep", knob="workers", window_s=0.5, blocks_per_start=2),
    )


def _run(study, **bench):
    fake = FakeBench(throughput_per_s=lambda values: TRUTH[values["workers"]], **bench)
    store = MemoryStore()
    plan = make_plan(study, seed=5)
    return run_plan(plan, bench=fake, store=store, run_id="1", watch=lambda _event: None)


def test_a_sweep_finds_the_knee_and_proves_it_against_the_start(sweep_study):
    outcome = _run(sweep_study)
    sweep = outcome.sweep
    assert [point.level for point in sweep.points] == [1, 2, 4, 8, 16, 64]
    assert sweep.knee == 8
    assert outcome.configuration.values == {"workers": 8}
    interval = outcome.final.ratios["throughput"]
    assert interval.low < 1.6 < interval.high
    assert outcome.final.verdict == "better"


def test_every_level_has_an_interval_that_holds_its_throughput(sweep_study):
    points = _run(sweep_study, drift_sd=0.3).sweep.points
    shared = points[3].low / TRUTH[8]
    for point in points:
        assert point.low < point.high
        # The machine's drift is common to all levels; the curve's shape is what is claimed.
        assert point.low / TRUTH[point.level] == pytest.approx(shared, rel=0.1)


def test_a_level_that_does_not_run_is_a_point_without_a_figure(sweep_study):
    outcome = _run(
        sweep_study, status=lambda values: "refused" if values["workers"] == 4 else "complete"
    )
    point = outcome.sweep.points[2]
    assert point.arm.status == "refused"
    assert point.ratio_to_best is None
    assert point.high == 0


def test_no_level_that_runs_is_an_error_that_says_so(sweep_study):
    with pytest.raises(TargetError, match="no level of workers runs"):
        _run(sweep_study, status=lambda _values: "crashed")


def test_a_level_that_falls_silent_costs_one_round_and_no_other_level(sweep_study):
    class Silent(FakeBench):
        def measure_start(self, request, save):
            record = super().measure_start(request, save)
            if request.start != 2:
                return record
            # Level 4 hangs in the third round; what came after it was cut short.
            statuses = tuple("hung" if arm == 2 else s for arm, s in enumerate(record.statuses))
            windows = tuple(w for w in record.windows if w.arm < 2)
            return structs.replace(record, statuses=statuses, windows=windows)

    bench = Silent(throughput_per_s=lambda values: TRUTH[values["workers"]])
    plan = make_plan(sweep_study, seed=5)
    outcome = run_plan(
        plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None
    )
    assert outcome.sweep is not None
    assert outcome.sweep.points[2].arm.status == "hung"
    assert outcome.sweep.knee == 8
    assert outcome.sweep.points[3].high < 1000
    assert all(request.left_out == {2} for request in bench.requests[3:6])


def test_a_level_that_breaks_a_limit_is_neither_best_nor_knee(sweep_study):
    outcome = _run(sweep_study, error_ratio=lambda values: 0.02 if values["workers"] == 8 else 0.0)
    point = outcome.sweep.points[3]
    assert point.arm.status == "infeasible"
    assert "of requests failed; the limit is 0.1 %" in joined(point.arm.detail)
    assert outcome.sweep.best == 16
    assert outcome.sweep.knee == 16


def test_a_budget_that_cannot_hold_the_fewest_rounds_is_refused_after_the_first(sweep_study):
    with pytest.raises(UsageError, match="too short: one round of all levels takes"):
        _run(structs.replace(sweep_study, budget_s=20.0))


@pytest.mark.parametrize(("round_s", "is_enough"), [(25.0, False), (4.0, True)])
def test_a_level_that_hangs_in_round_one_does_not_hide_what_a_round_costs(
    sweep_study, round_s, is_enough
):
    """The load ends when a level falls silent, so that round is short: 2 s of 60."""

    class Hanging(FakeBench):
        def measure_start(self, request, save):
            record = super().measure_start(request, save)
            n_arms = len(record.statuses)
            if request.start > 0 or n_arms == 2:
                return structs.replace(record, duration_s=round_s * n_arms / 6)
            statuses = tuple("hung" if arm == 5 else s for arm, s in enumerate(record.statuses))
            return structs.replace(record, statuses=statuses, windows=(), duration_s=2.0)

    bench = Hanging(throughput_per_s=lambda values: TRUTH[values["workers"]])
    study = structs.replace(sweep_study, budget_s=60.0)
    study = structs.replace(study, knobs=(structs.replace(study.knobs[0], start=16),))
    store = MemoryStore()

    def run():
        plan = make_plan(study, seed=5)
        return run_plan(plan, bench=bench, store=store, run_id="1", watch=lambda _event: None)

    if is_enough:
        outcome = run()
        assert outcome.final is not None
        assert outcome.sweep.points[5].arm.status == "hung"
    else:
        with pytest.raises(UsageError, match="too short: one round of all levels takes"):
            run()
        assert bench.starts_measured == 2, "refused when the first whole round was known"
    assert sum(start.duration_s for start in store.complete) <= 60.0


def test_levels_that_fail_one_after_the_other_do_not_use_more_than_the_budget(sweep_study):
    class Dying(FakeBench):
        def measure_start(self, request, save):
            record = super().measure_start(request, save)
            statuses = tuple(
                "hung" if arm >= 5 - request.start else s for arm, s in enumerate(record.statuses)
            )
            return structs.replace(record, statuses=statuses, windows=(), duration_s=30.0)

    bench = Dying(throughput_per_s=lambda values: TRUTH[values["workers"]])
    plan = make_plan(structs.replace(sweep_study, budget_s=60.0), seed=5)
    with pytest.raises(UsageError, match="is over before one whole round of workers was measured"):
        run_plan(plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None)
    assert bench.starts_measured == 2


def test_levels_that_are_numbers_ascend_and_words_keep_their_order(sweep_study):
    assert sweep_levels(sweep_study) == (1, 2, 4, 8, 16, 64)
    knob = Knob(name="workers", start="few", levels=("many", "lots"))
    words = structs.replace(sweep_study, knobs=(knob,))
    assert sweep_levels(words) == ("few", "many", "lots")
    given = structs.replace(knob, levels=("many", "few", "lots"))
    assert sweep_levels(structs.replace(sweep_study, knobs=(given,))) == ("many", "few", "lots")
    assert any("few, many, lots" in line for line in plan_lines(make_plan(words, seed=1)))


@pytest.mark.parametrize(
    ("rates", "start", "taken"),
    [
        ({"off": 300.0, "brotli": 200.0, "deflate": 400.0}, "off", "deflate"),
        # Nothing is fewer among words: of what ties, the start stays.
        ({"off": 400.0, "brotli": 200.0, "deflate": 400.5}, "off", "off"),
        ({False: 400.5, True: 400.0}, True, True),
    ],
)
def test_of_words_the_best_is_taken_and_the_start_wins_ties(sweep_study, rates, start, taken):
    knob = Knob(name="coding", start=start, levels=tuple(rates))
    method = structs.replace(sweep_study.method, knob="coding")
    study = structs.replace(sweep_study, knobs=(knob,), method=method)
    bench = FakeBench(throughput_per_s=lambda values: rates[values["coding"]])
    plan = make_plan(study, seed=5)
    outcome = run_plan(
        plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None
    )
    assert outcome.sweep is not None
    assert [point.level for point in outcome.sweep.points] == list(rates)
    assert outcome.sweep.knee == taken
    assert outcome.configuration.values == {"coding": taken}
    assert (outcome.final is None) == (taken == start)
    told = plain_text(outcome_text(outcome))
    assert "knee" not in told
    assert "curve" not in told


def test_doubts_about_the_windows_of_a_curve_are_told(sweep_study):
    class Strained(FakeBench):
        """The load client is the limit while the curve is measured."""

        def measure_start(self, request, save):
            start = super().measure_start(request, save)
            limit = "client_cpu" if request.comparison == 1 else "server"
            windows = tuple(
                structs.replace(w, measurement=structs.replace(w.measurement, limited_by=limit))
                for w in start.windows
            )
            return structs.replace(start, windows=windows)

    bench = Strained(throughput_per_s=lambda values: TRUTH[values["workers"]])
    plan = make_plan(sweep_study, seed=5)
    outcome = run_plan(
        plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None
    )
    told = [each for each in outcome.warnings if each.code == "experiment.client_limited"]
    assert [each.within for each in told] == [("curve",)]


def of_metric(study, metric, **changes):
    objective = structs.replace(study.objective, metric=metric)
    return structs.replace(study, objective=objective, **changes)


def test_a_curve_of_a_latency_has_its_knee_where_no_level_is_proven_lower(sweep_study):
    """Of the fake server each of 8 users waits for 8 answers."""
    outcome = _run(of_metric(sweep_study, "latency_p90_s"))
    sweep = outcome.sweep
    assert (sweep.metric, sweep.best, sweep.knee) == ("latency_p90_s", 8, 8)
    assert sweep.rule == knee_rule(more_is_better=False)
    assert "the knee of workers is 8, at p90 latency " in plain_text(outcome_text(outcome))
    assert outcome.final.verdict == "better"
    for point in sweep.points:
        assert 0 < point.low < point.value < point.high < 10
    worst = sweep.points[0].ratio_to_best
    assert worst.low < 4.0 < worst.high


def test_a_curve_of_memory_has_its_knee_at_the_smallest_of_what_ties(sweep_study):
    sizes = {1: 100.0, 2: 50.0, 4: 50.0, 8: 50.0, 16: 120.0, 64: 200.0}
    outcome = _run(
        of_metric(sweep_study, "pss_bytes"),
        pss_bytes=lambda values: sizes[values["workers"]] * 2**20,
    )
    assert outcome.sweep.knee == 2
    assert outcome.sweep.points[1].value == pytest.approx(50 * 2**20)
    assert outcome.configuration.values == {"workers": 2}


def test_fewer_win_ties_of_memory_though_the_throughput_is_unsteady(sweep_study):
    class Unsteady(FakeBench):
        """Its users' cycles say that the first answers were all there was."""

        def measure_start(self, request, save):
            start = super().measure_start(request, save)
            cycles = Cycles(
                credit=100.0,
                n_users=90,
                begun=100,
                begun_right=100,
                begun_s=45.0,
                begun_s2=20.25,
                longest_s=0.45,
                is_fresh=True,
            )
            windows = tuple(
                structs.replace(w, measurement=structs.replace(w.measurement, cycles=cycles))
                for w in start.windows
            )
            return structs.replace(start, windows=windows)

    plan = make_plan(of_metric(sweep_study, "pss_bytes"), seed=5)
    bench = Unsteady(throughput_per_s=lambda _values: 300.0)
    outcome = run_plan(
        plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None
    )
    assert outcome.final is not None
    assert is_unsteady(outcome.final.warnings)
    assert outcome.configuration.values == {"workers": 1}


def test_of_words_the_one_with_the_least_is_taken(sweep_study):
    cpu_s: dict[Level, float] = {"off": 0.002, "brotli": 0.001, "deflate": 0.004}
    knob = Knob(name="workers", start="off", levels=("off", "brotli", "deflate"))
    study = of_metric(sweep_study, "cpu_s_per_request", knobs=(knob,))
    bench = FakeBench(
        throughput_per_s=lambda _values: 300.0,
        cpu_s_per_request=lambda values: cpu_s[values["workers"]],
    )
    plan = make_plan(study, seed=5)
    outcome = run_plan(
        plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None
    )
    assert outcome.sweep is not None
    assert (outcome.sweep.knee, outcome.sweep.best) == ("brotli", "brotli")
    assert outcome.sweep.rule == choice_rule(more_is_better=False)
    assert outcome.configuration.values == {"workers": "brotli"}


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("latency_p999_s", "too few requests for its p99.9 latency; a longer `method.window`"),
        ("pss_bytes", "the memory of an arm could not be read in 2 starts"),
    ],
)
def test_a_curve_of_what_gives_no_figure_says_why(sweep_study, metric, words):
    with pytest.raises(TargetError, match="no curve of workers can be drawn") as raised:
        _run(of_metric(sweep_study, metric), pss_bytes=lambda _values: 0)
    assert words in error_text(raised.value)


@pytest.mark.parametrize(
    ("opens", "words"),
    [
        (
            {1: 0.0, 64: 2.0},
            "no ratio: system calls per request of open is 0 in 2 of 2 starts "
            "(workers 1 0.00, workers 64 2.00)",
        ),
        (
            {1: 0.0, 8: 0.0, 64: 2.0},
            "no ratio: system calls per request of open is 0 in some starts of workers 1 and "
            "workers 8",
        ),
    ],
)
def test_the_levels_that_take_no_calls_are_named_as_levels(sweep_study, opens, words):
    knob = Knob(name="workers", start=64, levels=(*opens,))

    def calls(values):
        by_kind = {"open": opens[values["workers"]]}
        return SystemCalls(per_request=9.0, by_kind=by_kind, n_answers=20)

    with pytest.raises(TargetError) as caught:
        _run(of_metric(sweep_study, "calls_per_request of open", knobs=(knob,)), system_calls=calls)
    assert error_text(caught.value) == f"no curve of workers can be drawn: {words}"


def test_at_a_rate_a_curve_says_nothing_of_what_births_cost(sweep_study):
    """Whatever a birth costs, there are as many answers as requests were due."""
    study = of_pool(sweep_study, "requests", (0, 10, 50, 500))
    workload = structs.replace(study.workload, arrival=Constant(rate_per_s=300.0))
    pool = swept(of_metric(study, "cpu_s_per_request", workload=workload))
    assert pool.births is None
    assert "the schedule of the load decides the throughput" in text(pool.reason)


def of_pool(study, pool, levels):
    """Return a sweep over such levels of a pool's size, or of its workers' lives."""
    knob = Knob(name="workers", start=levels[-1], levels=levels, pool=pool)
    return structs.replace(study, knobs=(knob,))


def swept(study, throughput_per_s=lambda _values: 300.0, **bench):
    fake = FakeBench(throughput_per_s=throughput_per_s, window_sd=0.002, drift_sd=0.0, **bench)
    plan = make_plan(study, seed=5)
    outcome = run_plan(plan, bench=fake, store=MemoryStore(), run_id="1", watch=lambda _event: None)
    assert outcome.sweep is not None
    return outcome.sweep.pool


def test_a_sweep_over_workers_says_what_the_pool_takes_once_and_for_each(sweep_study):
    pool = swept(
        of_pool(sweep_study, "workers", (1, 2, 4, 16, 64)),
        n_processes=lambda values: values["workers"] + 2,
        pss_bytes=lambda values: (38 << 20) + values["workers"] * (4 << 20),
    )
    assert pool.memory.once_bytes == pytest.approx(38 << 20)
    assert pool.memory.each_bytes == pytest.approx(4 << 20)
    assert (pool.n_levels, pool.births, pool.reason) == (5, None, None)


def test_a_sweep_over_lives_says_what_a_birth_costs_and_0_is_for_ever(sweep_study):
    study = of_pool(sweep_study, "requests", (0, 10, 50, 500))
    pool = swept(
        study, throughput_per_s=lambda values: 1 / (0.004 + 0.02 / (values["workers"] or 1e12))
    )
    assert pool.births.spawn_low_s < 0.02 < pool.births.spawn_high_s
    assert pool.births.serve_s == pytest.approx(0.004, rel=0.01)
    assert pool.births.spawn_high_s / pool.births.spawn_low_s < 1.2


def test_a_knob_that_sets_nothing_of_a_pool_says_nothing_of_it(sweep_study):
    assert swept(sweep_study) is None


def test_what_is_looked_at_once_is_not_asked_for_of_each_round(sweep_study):
    """Six looks of 10 s are in the first round: six such rounds would take twice the budget."""
    outcome = _run(structs.replace(sweep_study, budget_s=240.0), look_s=10.0)
    assert outcome.sweep.knee == 8
    assert outcome.final.n_starts >= sweep_study.method.min_starts
    assert outcome.duration_s <= 240.0 * 1.05
