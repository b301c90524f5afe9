"""Verdicts of runs on pools that were measured with other numbers of workers."""

from functools import cache

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.rows import each_row

from httpdyno.experiment.decide.other_sizes import _sets_workers, judged_by_sizes
from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.model import (
    Constant,
    Knob,
    Level,
    Look,
    Method,
    Objective,
    ResultWarning,
    ServerSpec,
    Study,
    Workload,
)
from httpdyno.reason import because
from httpdyno.report.shared.message import text

TRUTH: dict[Level, float] = {1: 100.0, 2: 198.0, 4: 380.0, 8: 400.0, 16: 401.0, 32: 399.0}
CLIENTS = 20.0


def seen(n_workers, n_asked=CLIENTS):
    """Return a look at workers that all wait for a backend, as many as there are requests for."""
    busy = min(float(n_workers), n_asked)
    return Look(
        seconds=0.7,
        n_samples=14,
        workers=float(n_workers),
        doing={"backend": busy, "idle": n_workers - busy},
        backends={"unix:/run/database": busy},
        cpu_s=0.1,
        cpus=2.0,
        host_cpus=2,
        host_busy=0.3,
        answers=100.0,
        clients=n_asked,
        client_limit="server",
    )


class SeenBench(FakeBench):
    """Looks at each arm of its first start of a comparison that was not looked at yet."""

    def measure_start(self, request, save):
        record = super().measure_start(request, save)
        done = self.__dict__.setdefault("done", set())
        labels = [arm.label() for arm in request.arms]
        if len(set(labels)) == 1:
            return record
        looks = tuple(
            None if label in done else seen(arm.values["workers"])
            for label, arm in zip(labels, request.arms, strict=True)
        )
        done.update(labels)
        return structs.replace(record, looks=looks)


POOL = Study(
    name="pool",
    title="workers in front of a database",
    folder="/nowhere",
    server=ServerSpec(adapter="fake"),
    knobs=(Knob(name="workers", start=32, levels=(1, 2, 4, 8, 16, 32), pool="workers"),),
    workload=Workload(),
    objective=Objective(),
    method=Method(kind="sweep", knob="workers", window_s=0.5, blocks_per_start=2),
    budget_s=600.0,
)


def run(study):
    bench = SeenBench(throughput_per_s=lambda values: TRUTH[values["workers"]])
    plan = make_plan(study, seed=5)
    return run_plan(plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None)


@cache
def swept():
    return run(POOL)


def told(**study):
    """Return the limits of the same curve, had the study been another one."""
    whole = swept()
    plan = structs.replace(whole.plan, study=structs.replace(POOL, **study))
    return limits(judged_by_sizes(structs.replace(whole, plan=plan)))


def limits(outcome):
    return {point.level: point.arm.bottleneck.limit for point in outcome.sweep.points}


WORDS = {
    1: "too_few_workers",
    2: "too_few_workers",
    4: "unknown",  # twice as many bring a twentieth more
    8: "backend",
    16: "backend",
    32: "backend",
}


def test_a_sweep_tells_a_backend_from_too_few_workers():
    outcome = swept()
    assert limits(outcome) == WORDS
    two = next(point for point in outcome.sweep.points if point.level == 2)
    assert "workers 2 → 4 had 1.9" in text(two.arm.bottleneck.reason)
    assert two.next_throughput.low < 380 / 198 < two.next_throughput.high
    assert judged_by_sizes(outcome) == outcome


def test_a_sweep_of_something_else_knows_the_throughput_of_the_next_level():
    objective = Objective(metric="cpu_s_per_request")
    outcome = run(structs.replace(POOL, objective=objective))
    assert outcome.sweep.metric == "cpu_s_per_request"
    assert limits(outcome)[2] == "too_few_workers"


def test_a_doubt_of_the_curve_takes_it_back_where_nobody_knows_its_size():
    def doubted(kind):
        outcome = structs.replace(
            swept(), final=None, warnings=(ResultWarning(reason=because(kind)),)
        )
        return limits(judged_by_sizes(outcome))

    unsized = doubted("experiment.little_unsized")
    assert unsized == {**dict.fromkeys((1, 2, 4, 8, 16), "unknown"), 32: "backend"}
    assert doubted("experiment.little") == WORDS, "the intervals have it in them"


@each_row(
    "knob",
    [
        Knob(name="workers", start=32, levels=(1, 2, 4), pool="requests"),
        Knob(name="workers", start=32, levels=(1, 2, 4), of="load"),
        Knob(name="other", start=32, levels=(1, 2, 4)),
    ],
)
def test_a_knob_of_something_else_tells_nothing(knob):
    assert told(knobs=(knob,))[2] == "unknown"


def test_a_knob_of_which_nobody_said_so_tells_where_workers_follow_it():
    assert told(knobs=(structs.replace(POOL.knobs[0], pool=""),)) == WORDS


@each_row(
    ("levels", "workers", "is_told"),
    [
        ((2, 4), (7.0, 9.0), True),  # five others are always there
        ((2, 4), (8.0, 16.0), True),  # of four threads each
        ((2, 4), (7.0, 7.0), False),
        ((2, 4), (2.0, 16.0), False),
        ((0, 60), (2.0, 4.0), False),
    ],
)
def test_workers_follow_a_level_beside_others_or_by_several_each(levels, workers, is_told):
    knob = Knob(name="threads", start=levels[0], levels=levels[1:])
    assert _sets_workers(knob, levels, workers) == is_told


def test_the_schedule_of_an_open_loop_says_nothing_of_the_server():
    load = structs.replace(POOL.workload, arrival=Constant(rate_per_s=50.0))
    assert told(workload=load)[2] == "unknown"


@pytest.mark.parametrize(("start", "to", "limit"), [(2, 4, "too_few_workers"), (16, 8, "backend")])
def test_a_step_of_a_ladder_tells_it_of_the_fewer_whichever_way_it_goes(start, to, limit):
    knob = structs.replace(POOL.knobs[0], start=start, levels=(to,))
    outcome = run(structs.replace(POOL, knobs=(knob,), method=Method(window_s=0.5)))
    compared = outcome.steps[0].comparison
    arms = {arm.configuration.values["workers"]: arm for arm in (compared.a, compared.b)}
    assert arms[min(start, to)].bottleneck.limit == limit


def test_a_factorial_of_two_knobs_tells_it_of_either_level_of_the_other():
    knobs = (
        Knob(name="workers", start=2, levels=(4,), pool="workers"),
        Knob(name="other", start=False, levels=(True,)),
    )
    study = structs.replace(POOL, knobs=knobs, method=Method(kind="factorial", window_s=0.5))
    words = [arm.bottleneck.limit for arm in run(study).factorial.arms]
    assert words == ["too_few_workers", "unknown", "too_few_workers", "unknown"]
