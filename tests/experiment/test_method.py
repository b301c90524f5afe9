"""All methods do what every method must, also one that proposes by what it found before."""

from math import log

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.conformance.method import MethodConformance, answered
from tests.conformance.record import sample_start

from httpdyno.experiment.design.plan import STEPS, compare_plan, make_plan
from httpdyno.experiment.method import run as method
from httpdyno.experiment.method.comparison import Allowance, run_comparison
from httpdyno.experiment.method.session import Session
from httpdyno.experiment.method.stages import calibrate, final_comparison, withdrawn
from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import Configuration, Knob, Method

GOOD = {0: 1.0, 1: 1.5, 2: 1.8}


def test_every_method_has_its_way_to_plan_steps_and_no_other_has():
    assert method.METHODS.keys() == STEPS.keys()


class TestLadder(MethodConformance):
    @pytest.fixture
    def plan(self, study):
        return make_plan(study, seed=11)

    @pytest.fixture
    def throughput_per_s(self):
        """A limit hides what `good` brings until `bad` takes it away, so steps are tried again."""
        return lambda values: 400 * GOOD[values["good"]] if values["bad"] else 200.0


class TestSweep(MethodConformance):
    @pytest.fixture
    def plan(self, study):
        swept = structs.replace(
            study,
            knobs=(Knob(name="workers", start=1, levels=(1, 2, 4, 8)),),
            method=Method(kind="sweep", knob="workers", window_s=0.5, blocks_per_start=2),
            budget_s=300.0,
        )
        return make_plan(swept, seed=11)

    @pytest.fixture
    def throughput_per_s(self):
        return lambda values: 100.0 * min(values["workers"], 4)


class TestTable(MethodConformance):
    @pytest.fixture
    def plan(self, study):
        return make_plan(
            structs.replace(study, method=structs.replace(study.method, kind="table")),
            seed=11,
            budget_s=250.0,
        )

    @pytest.fixture
    def throughput_per_s(self):
        return lambda values: 400 * GOOD[values["good"]] * (0.7 if values["bad"] else 1.0)

    def test_the_final_claim_rests_on_starts_that_nothing_was_chosen_by(self, whole, store):
        """There is none: what each row proves rests on starts of its own."""
        assert whole.final is None


class TestFactorial(MethodConformance):
    @pytest.fixture
    def plan(self, study):
        knobs = (Knob(name="good", start=0, levels=(1,)), study.knobs[1])
        method = structs.replace(study.method, kind="factorial")
        return make_plan(
            structs.replace(study, knobs=knobs, method=method), seed=11, budget_s=250.0
        )

    @pytest.fixture
    def throughput_per_s(self):
        return lambda values: 400 * GOOD[values["good"]] * (0.7 if values["bad"] else 1.0)


class TestPair(MethodConformance):
    @pytest.fixture
    def plan(self, study):
        start = study.start_configuration()
        return compare_plan(study, start, start.replaced("good", 1), seed=11, budget_s=100.0)

    @pytest.fixture
    def throughput_per_s(self):
        return lambda values: 400 * GOOD[values["good"]]


def double(session, outcome):
    """Double the workers as long as that is proven better: nobody knows before how often."""
    cost = calibrate(session, outcome, n_comparisons=5)
    best = session.plan.study.start_configuration()
    while session.left_s > 0:
        arms = (best, best.replaced("workers", 2 * best.values["workers"]))
        index = session.begin(f"{best.label()} doubled", arms)
        allowance = Allowance(time_s=50.0, limit_s=50.0, n_blocks=cost.n_blocks)
        if run_comparison(session, index, arms, allowance).verdict != "better":
            break
        best = arms[1]
    final = final_comparison(session, outcome, cost, best, session.plan.study.objective)
    broken = outcome.conclude(final)
    outcome.settle(best, withdrawn=withdrawn(final, broken, said("what was doubled")[0]))


class TestOneThatProposesByWhatItFound(MethodConformance):
    @pytest.fixture(autouse=True)
    def doubling(self, monkeypatch):
        monkeypatch.setattr(method, "METHODS", {"ladder": double})

    @pytest.fixture
    def plan(self, study):
        plan = make_plan(
            structs.replace(study, knobs=(Knob(name="workers", start=1, levels=(2,)),)), seed=11
        )
        return structs.replace(plan, steps=())

    @pytest.fixture
    def throughput_per_s(self):
        return lambda values: 100.0 * (1 + log(min(values["workers"], 8)))

    def test_it_goes_where_no_step_was_planned(self, whole):
        assert whole.configuration == Configuration(values={"workers": 8})


def test_a_final_that_was_begun_goes_on_after_steps_that_more_time_allows(study):
    """What is stored is found by what was measured, not by its place in a row."""

    def throughput_per_s(values):
        return 400 * GOOD[values["good"]] * (0.7 if values["bad"] else 1.0)

    store = MemoryStore()
    short = make_plan(study, seed=3, budget_s=44.0)
    answered(short, FakeBench(throughput_per_s=throughput_per_s), store)
    n_final = sum(start.stage == "final" for start in store.complete)
    n_starts = len(store.complete)
    assert n_final >= 6
    longer = FakeBench(throughput_per_s=throughput_per_s)
    outcome = answered(make_plan(study, seed=3), longer, store)
    assert [step.change for step in outcome.steps[2:4]] == ["bad: false → true", "inert: a → b"]
    assert not any(step.kept for step in outcome.steps[2:])
    assert outcome.final is not None
    stages = [start.stage for start in store.complete if start.comparison == outcome.final.index]
    assert stages == ["final"] * outcome.final.n_starts
    assert outcome.final.n_starts >= n_final
    assert longer.starts_measured == len(store.complete) - n_starts
    assert len({start.comparison for start in store.complete if start.stage == "final"}) == 1


def test_a_step_that_more_time_adds_and_that_is_kept_gets_a_final_of_its_own(study):
    def throughput_per_s(values):
        return 400 * GOOD[values["good"]] * (1.3 if values["bad"] else 1.0)

    store = MemoryStore()
    short = make_plan(study, seed=3, budget_s=44.0)
    before = answered(short, FakeBench(throughput_per_s=throughput_per_s), store)
    assert before.final is not None
    stored = list(store.complete)
    outcome = answered(
        make_plan(study, seed=3), FakeBench(throughput_per_s=throughput_per_s), store
    )
    assert [step.change for step in outcome.steps if step.kept][-1] == "bad: false → true"
    assert outcome.final is not None
    assert outcome.final.index not in {each.comparison for each in stored}
    assert outcome.final.b.configuration.values["bad"]
    assert outcome.final.ratios["throughput"].low > 1.8
    assert [each for each in store.complete if each.comparison == before.final.index] == [
        each for each in stored if each.comparison == before.final.index
    ], "what was measured before stays as it was"
    nobody = FakeBench(throughput_per_s=lambda _values: 0.0)
    assert answered(make_plan(study, seed=3), nobody, store).final == outcome.final
    assert nobody.starts_measured == 0


def test_a_final_claim_never_rests_on_the_starts_of_a_step(study):
    plan, store = make_plan(study, seed=3), MemoryStore()
    arms = (study.start_configuration(), study.start_configuration().replaced("good", 1))
    stored = structs.replace(sample_start(1), stage="step 1 of 4", configurations=arms)
    store.save_start("1", stored)
    session = Session(
        plan=plan,
        bench=FakeBench(throughput_per_s=lambda _values: 400.0),
        store=store,
        run_id="1",
        watch=lambda _event: None,
    )
    assert session.has_stored("again 1 of 1", arms)
    assert not session.has_stored("final", arms)
