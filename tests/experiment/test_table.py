"""A table: each candidate and each level against the start, whatever the others came to."""

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.report.plain import plain_text

from httpdyno.cli.plan_text import plan_lines
from httpdyno.experiment.design.plan import comparisons_ahead, make_plan
from httpdyno.experiment.design.smoke_test import least_s
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.trial.afterwards import LooksToTake
from httpdyno.model import Candidate, Knob
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.text import outcome_text


@pytest.fixture
def table(study):
    """Return a table in which `hidden` brings nothing without `good`, and much with it."""
    return structs.replace(
        study,
        method=structs.replace(study.method, kind="table"),
        knobs=(
            Knob(name="good", start=0, levels=(1, 2), book_ratio=(1.4, 1.8)),
            Knob(name="hidden", start=False, levels=(True,)),
        ),
        candidates=(Candidate(name="both", values={"good": 1, "hidden": True}),),
        budget_s=300.0,
    )


def _throughput(values):
    good = {0: 1.0, 1: 1.3, 2: 1.6}[values["good"]]
    return 400.0 * good * (1.5 if values["hidden"] and values["good"] else 1.0)


def _run(plan):
    bench = FakeBench(throughput_per_s=_throughput)
    return run_plan(plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None)


def test_no_row_builds_on_another(table):
    plan = make_plan(table, seed=5)
    outcome = _run(plan)
    start = table.start_configuration()
    assert [step.label for step in outcome.steps] == [
        *("both", "good → 1", "good → 2", "hidden → true")
    ]
    assert {str(step.comparison.a.configuration) for step in outcome.steps} == {str(start)}
    verdicts = [step.comparison.verdict for step in outcome.steps]
    assert verdicts[:3] == ["better"] * 3
    assert verdicts[3] in {"equivalent", "inconclusive"}, "alone it brings nothing"
    assert outcome.final is None
    assert outcome.configuration.values == {"good": 1, "hidden": True}
    assert [step.book_ratio for step in outcome.steps] == [None, 1.4, 1.8, None]


def test_all_verdicts_of_a_table_hold_together(table):
    plan = make_plan(table, seed=5)
    [first, *_] = _run(plan).steps
    confidence = first.comparison.ratios["throughput"].confidence
    objective = plan.objective
    assert confidence == objective.confidence_of("throughput_per_s")
    assert 4 * (1 - objective.confidence) == pytest.approx(0.05, rel=0.01)
    assert "row       good → 2" in plan_lines(plan)
    # A look at the start and at each of the four others, and all windows four times.
    looks_s = LooksToTake(can_count=False).expected_s(comparisons_ahead(plan))
    alone = structs.replace(plan, steps=plan.steps[:1])
    alone_s = LooksToTake(can_count=False).expected_s(comparisons_ahead(alone))
    assert looks_s > alone_s > 0
    assert least_s(plan) - looks_s == pytest.approx(4 * (least_s(alone) - alone_s))


def test_a_table_is_told_in_ratios_and_in_units_of_their_own(table):
    outcome = _run(make_plan(table, seed=5))
    lines = plain_text(outcome_text(outcome)).splitlines()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "3 of 4 are better than the start, by throughput: both 1.9" in text
    assert "none of 4 verdicts" in " ".join(text.split())
    own = lines.index(next(line for line in lines if line.lstrip().startswith("throughput ")))
    assert lines[own + 1].split()[0] == "start"
    assert lines[own + 1].split()[1].startswith(("39", "40", "41"))
    document = outcome_json(outcome)
    assert document["plan"]["reference"] == {"good": 0, "hidden": False}
    assert [step["after"] for step in document["steps"]] == ["", 1, 2, True]
