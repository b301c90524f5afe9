"""Steps of a ladder that change several knobs at once."""

import msgspec
import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.conformance.method import MethodConformance

from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.model import Candidate, Knob, Outcome, Plan, Step


def _only_together(values):
    """Neither brings anything alone; more of `more` does, once both are there."""
    is_both = values["kind"] == "threads" and values["n"] == 4
    return 600.0 * (1.2 if values["more"] else 1.0) if is_both else 400.0


@pytest.fixture
def candidates(study):
    """A study of two knobs that are nothing alone, and of one that is nothing without them."""
    return structs.replace(
        study,
        knobs=(
            Knob(name="kind", start="sync", levels=()),
            Knob(name="n", start=1, levels=(4,)),
            Knob(name="more", start=False, levels=(True,)),
        ),
        candidates=(
            Candidate(name="off", values={"n": 2}),
            Candidate(
                name="both", values={"kind": "threads", "n": 4}, title="at once", book_ratio=1.5
            ),
        ),
    )


def _run(plan):
    return run_plan(
        plan,
        bench=FakeBench(throughput_per_s=_only_together),
        store=MemoryStore(),
        run_id="1",
        watch=lambda _event: None,
    )


def test_what_helps_only_together_is_one_step_and_one_verdict(candidates):
    outcome = _run(make_plan(candidates, seed=7))
    both = next(step for step in outcome.steps if step.name == "both")
    assert both.kept
    assert both.change == "both: kind sync → threads, n 1 → 4"
    assert (both.knob, both.title, both.book_ratio) == ("", "at once", 1.5)
    assert both.comparison.b.configuration.values == {"kind": "threads", "n": 4, "more": False}
    # Its own level was reached with the candidate: no step is spent on it.
    assert [step.label for step in outcome.steps if step.attempt == 1] == [
        "off",
        "both",
        "more → true",
    ]
    assert outcome.configuration.values == {"kind": "threads", "n": 4, "more": True}
    assert outcome.steps[-1].running_ratio > 1.6


def test_a_candidate_of_which_a_knob_was_changed_since_is_not_tried_again(candidates):
    outcome = _run(make_plan(candidates, seed=7))
    off = next(step for step in outcome.steps if step.name == "off")
    assert off.comparison.verdict in {"equivalent", "inconclusive"}
    assert [step.name for step in outcome.steps if step.attempt == 2] == []


def test_one_that_is_not_better_is_reverted_whole(candidates):
    worse = structs.replace(
        candidates, candidates=(Candidate(name="both", values={"kind": "other", "n": 2}),)
    )
    bench = FakeBench(throughput_per_s=lambda v: 300.0 if v["kind"] == "other" else 400.0)
    outcome = run_plan(
        make_plan(worse, seed=1),
        bench=bench,
        store=MemoryStore(),
        run_id="1",
        watch=lambda _event: None,
    )
    assert outcome.steps[0].comparison.verdict == "worse"
    assert outcome.configuration == worse.start_configuration()


def test_steps_are_stored_and_read_again_and_so_are_those_of_before(candidates):
    plan = make_plan(candidates, seed=7)
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    outcome = _run(plan)
    plain = msgspec.to_builtins(outcome)
    assert msgspec.convert(plain, Outcome) == outcome
    before = {"knob": "workers", "to": 2, "book_ratio": None}
    assert msgspec.convert(before, Step).values == {"workers": 2}


class TestLadderOfCandidates(MethodConformance):
    @pytest.fixture
    def plan(self, candidates):
        return make_plan(candidates, seed=11, budget_s=300.0)

    @pytest.fixture
    def throughput_per_s(self):
        return _only_together
