"""Processes that end, as what decides and as what is told: verdicts, nought, and what it takes."""

import dataclasses
import json
import os
from pathlib import Path

import pytest
from msgspec import structs
from tests.experiment.loads import load_of
from tests.experiment.test_second_metric import ARMS, start_of
from tests.load.origin import origin
from tests.report import sample_second
from tests.report.plain import plain_text

import httpdyno
from httpdyno.experiment.arm_load import Place
from httpdyno.experiment.bench import StartRequest, block_order
from httpdyno.experiment.claim import Terms, comparison
from httpdyno.experiment.evidence import ratio_intervals
from httpdyno.experiment.looks_afterwards import Wanted
from httpdyno.experiment.planning import compare_plan, plan_lines
from httpdyno.experiment.rehearsal import least_s
from httpdyno.experiment.server_bench import ServerBench
from httpdyno.experiment.watches import WATCHES, count_of
from httpdyno.model import Count, Objective, SecondClaim, StartRecord
from httpdyno.registry import load_adapter
from httpdyno.report.study.arms_text import figure_text
from httpdyno.report.study.html import outcome_html
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.text import outcome_text
from httpdyno.store.payload import from_text, to_text
from httpdyno.study.also import with_also
from httpdyno.study.file import load_study
from httpdyno.telemetry.exit_watch import ExitTally

EXITS = "exits_per_request"
RESPAWN = Path(httpdyno.__file__).parent / "studies" / "respawn"
N_PROCESSES = 8
LIFE = 40


def of(n, n_answers=1000):
    return Count(n=n, n_answers=n_answers)


def counted(number, *exits):
    return structs.replace(start_of(number, 1.0, 1.0), counts={EXITS: exits})


def compared(found, metric=EXITS, also=()):
    objective = Objective(metric=metric, also=also)
    return comparison(1, found, ARMS, Terms(objective=objective, min_starts=6))


def test_fewer_are_better():
    counts = (40, 44, 38, 41, 40, 43)
    starts = [counted(number, of(n), of(n // 2)) for number, n in enumerate(counts)]
    found = compared(starts)
    assert found.verdict == "better"
    assert found.ratios[EXITS].ratio == pytest.approx(0.494, abs=0.002)
    assert found.a.figures[EXITS] == pytest.approx(sum(counts) / 6000)
    assert figure_text(found.a, EXITS) == "41.00"
    assert EXITS not in ratio_intervals(starts, Objective())
    told = compared(starts, "throughput_per_s", also=(EXITS,))
    assert [each.verdict for each in told.also] == ["better"]


def test_where_none_end_there_is_no_ratio_and_both_figures_are_told():
    found = compared([counted(number, of(0), of(2)) for number in range(6)])
    assert (found.verdict, EXITS in found.ratios) == ("not_measured", False)
    assert found.reason == (
        "a has 0.00 and b has 2.00 process exits per 1,000 requests, and in 6 of 6 starts one of "
        "them none, so there is no ratio of them"
    )
    none = compared([counted(number, of(0), of(0)) for number in range(6)])
    assert none.reason == "no process ended, so there is no ratio of them"


def test_what_could_not_be_counted_is_said():
    untold = Count(uncounted="the server was seen too seldom")
    found = compared([counted(number, of(3), untold) for number in range(6)])
    assert found.verdict == "not_measured"
    assert found.reason == (
        "ends of processes could not be counted in 6 starts: the server was seen too seldom"
    )
    assert EXITS not in found.b.figures


def test_a_watch_is_a_count_where_it_saw_enough():
    one, two = (10, 1), (20, 1)
    tally = ExitTally()
    tally.see({one, two})
    assert count_of(tally, 100).uncounted == "the server was seen too seldom"
    for alive in ({one, two}, {one}, {one}):
        tally.see(alive)
    assert count_of(tally, 100) == of(1, 100)
    assert count_of(tally, 0).uncounted == "no answer came while they were looked for"


def test_starts_of_earlier_versions_have_none():
    start = counted(0, of(3), None)
    assert from_text(to_text(start), StartRecord, "it") == start
    old = json.loads(to_text(start_of(0, 1.0, 1.0)))
    assert old.pop("counts") == {}
    assert from_text(json.dumps(old), StartRecord, "it") == start_of(0, 1.0, 1.0)


def test_each_server_of_each_start_is_watched_and_that_is_in_the_plan(study):
    a = study.start_configuration()
    plain = compare_plan(study, a, a.replaced("good", 1), seed=1)
    asked = structs.replace(plain.study, objective=Objective(also=(EXITS,)))
    counting = structs.replace(plain, study=asked)
    assert any("each counts processes that end" in line for line in plan_lines(counting))
    assert not any("processes that end" in line for line in plan_lines(plain))
    assert least_s(counting) == pytest.approx(least_s(plain) + 6 * 2 * WATCHES[EXITS].load_s)


def test_a_server_is_watched_under_a_load_of_its_own_after_its_windows():
    watch = dataclasses.replace(WATCHES[EXITS], load_s=0.3)
    with origin("--service", "fixed:1ms") as server:
        load = load_of(server.address, server.address, n_blocks=1)
        load.wanted = Wanted(watches={EXITS: watch}, watched={Place(0, 1): [os.getpid()]})
        windows = load.run(lambda _: None)
    assert len(windows) == 2
    assert load.looked.counts_of_start(1, 2) == {}
    nobody, found = load.looked.counts_of_start(0, 2)[EXITS]
    assert nobody is None
    assert found is not None
    assert (found.n, found.uncounted) == (0, "")
    assert found.n_answers > 0
    assert load.looked.counted_s >= 0.3


@pytest.mark.parametrize(
    ("b", "tile"), [(0.0104, True), (None, False)], ids=["counted", "not counted"]
)
def test_processes_that_ended_are_told_of_a_thousand_requests(b: float | None, tile: bool) -> None:
    whole = sample_second.second_compare()
    assert whole.final is not None
    final = structs.replace(
        whole.final,
        a=structs.replace(whole.final.a, figures={EXITS: 0.04855}),
        b=structs.replace(whole.final.b, figures={} if b is None else {EXITS: b}),
        also=(SecondClaim(metric=EXITS, verdict="better", reason="it was said"),),
    )
    outcome = structs.replace(whole, final=final)
    text = plain_text(outcome_text(outcome))
    assert "exits per 1,000" in text
    assert "48.55" in text
    assert ("10.40" in text) is tile
    page = outcome_html(outcome)
    assert ("<dt>process exits per 1,000 requests" in page) is tile
    arms = outcome_json(outcome)["final"]
    sides = [arms[side]["figures"] for side in ("before_arm", "after_arm")]
    assert [each.get(EXITS) for each in sides] == [0.04855, b]


@pytest.mark.real_server("apache2")
def test_as_many_end_as_answers_take():
    """Who ended had answered a whole life: only of those who are there is it not known how much."""
    study = load_study(RESPAWN, lambda name: load_adapter(name).knobs())
    study = structs.replace(
        study,
        method=structs.replace(study.method, window_s=0.5),
        objective=with_also(study.objective, ["exits_per_request"], study.workload),
    )
    arm = study.start_configuration().replaced("MaxConnectionsPerChild", LIFE)
    request = StartRequest(
        comparison=1,
        start=1,
        arms=(arm,),
        order=block_order(1, 1, seed=1, comparison=1, start=1),
        window_s=0.5,
        lead_in_s=0.0,
        warm_up_s=0.0,
    )
    with ServerBench(adapter=load_adapter("apache"), study=study, seed=1) as bench:
        [record] = bench.measure_starts([request], lambda _: None)
    assert record.statuses == ("complete",)
    [found] = record.counts["exits_per_request"]
    assert found is not None
    seats = N_PROCESSES * LIFE
    assert found.n * LIFE <= found.n_answers + seats, "more ends than answers make"
    # Where others use the machine's cores, who looks comes too late, and says so.
    if not found.uncounted:
        assert found.n > N_PROCESSES, "more than those who were there as it began"
        assert found.n_answers - found.n * LIFE <= seats
