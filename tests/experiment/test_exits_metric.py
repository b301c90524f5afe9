"""Processes that end, as what decides and as what is told: verdicts, nought, and what it takes."""

import dataclasses
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.experiment.loads import load_of
from tests.experiment.test_second_metric import ARMS, start_of
from tests.load.origin import origin
from tests.report import sample_second
from tests.report.plain import plain_text
from tests.report.sample_figures import with_figures
from tests.rows import each_row

from httpdyno.cli.plan_text import plan_lines
from httpdyno.experiment.decide.claim import Terms, comparison
from httpdyno.experiment.decide.evidence import ratio_intervals
from httpdyno.experiment.design.plan import compare_plan
from httpdyno.experiment.design.smoke_test import least_s
from httpdyno.experiment.trial.afterwards import WATCHES, Wanted, count_of
from httpdyno.experiment.trial.engine_loads import Place, said
from httpdyno.model import Count, Objective, SecondClaim, StartRecord
from httpdyno.reason import because
from httpdyno.report.shared.message import joined
from httpdyno.report.study.arms import figure_text
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text
from httpdyno.store.query import from_text, to_text
from httpdyno.telemetry.processes import ExitTally, ExitWatch

EXITS = "exits_per_request"
ONE, TWO, THREE, AGAIN = (10, 1), (20, 1), (30, 1), (10, 9)


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
    assert joined(found.reasons) == (
        "no ratio: process exits per 1,000 requests is 0 in 6 of 6 starts (a 0.00, b 2.00)"
    )
    none = compared([counted(number, of(0), of(0)) for number in range(6)])
    assert joined(none.reasons) == "no ratio: process exits per 1,000 requests is 0 in every start"


def test_what_could_not_be_counted_is_said():
    untold = Count(uncounted=because("experiment.said", words="the server was seen too seldom"))
    found = compared([counted(number, of(3), untold) for number in range(6)])
    assert found.verdict == "not_measured"
    assert joined(found.reasons) == (
        "process exits per 1,000 requests could not be counted in 6 starts: "
        "the server was seen too seldom"
    )
    assert EXITS not in found.b.figures


def test_a_watch_is_a_count_where_it_saw_enough():
    one, two = (10, 1), (20, 1)
    tally = ExitTally()
    tally.see({one, two})
    assert count_of(tally, 100).uncounted == because("telemetry.seen_too_seldom")
    for alive in ({one, two}, {one}, {one}):
        tally.see(alive)
    assert count_of(tally, 100) == of(1, 100)
    assert count_of(tally, 0).uncounted == because("experiment.no_answer_meanwhile")


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
    assert (found.n, found.uncounted) == (0, None)
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
        a=with_figures(whole.final.a, **{EXITS: 0.04855}),
        b=with_figures(whole.final.b, **{EXITS: b}),
        also=(SecondClaim(metric=EXITS, verdict="better", reasons=said("it was said")),),
    )
    outcome = structs.replace(whole, final=final)
    text = plain_text(outcome_text(outcome))
    assert "exits per 1,000" in text
    assert "48.55" in text
    assert ("10.40" in text) is tile
    page = outcome_html(outcome)
    assert ("<dt>process exits per 1,000 requests" in page) is tile
    arms = outcome_json(outcome)["final"]
    sides = [arms[side]["figures"] for side in ("a", "b")]
    assert [each.get(EXITS) for each in sides] == [0.04855, b]


def tally_of(*samples):
    """Return the tally of samples, each of who is alive, or of that and of who has ended."""
    tally = ExitTally()
    for alive, ended in samples:
        tally.see(set(alive), set(ended))
    return tally


@each_row(
    ("samples", "n"),
    [
        ([([ONE, TWO], []), ([ONE, TWO], [])], 0),
        ([([ONE, TWO], []), ([ONE], [])], 1),
        # It waits for its parent to ask how it ended, and then is gone: that is one end.
        ([([ONE, TWO], []), ([ONE], [TWO]), ([ONE], [TWO]), ([ONE], [])], 1),
        # Another process has its number.
        ([([ONE, TWO], []), ([AGAIN, TWO], [])], 1),
        # Who had ended when the watch began ended before it.
        ([([ONE], [TWO]), ([ONE], [TWO]), ([ONE], [])], 0),
        # Who came and ended between two samples is one, once.
        ([([ONE], []), ([ONE], [THREE]), ([ONE], [THREE]), ([ONE], [])], 1),
    ],
)
def test_each_end_is_counted_once(samples, n):
    assert tally_of(*samples).n == n


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 40)), max_size=30))
def test_lives_that_samples_saw_are_all_counted(lives):
    """Whoever was there in some sample, and in no later one, has ended."""
    n_samples = 120
    tally = ExitTally()
    for now in range(n_samples):
        tally.see(
            {(n, since) for n, (since, long) in enumerate(lives) if since <= now < since + long}
        )
    assert tally.n == len(lives)
    n_brief = sum(long <= 2 and since > 0 for since, long in lives)
    assert tally.n_brief == n_brief
    assert bool(tally.trouble) is (n_brief > 0.05 * len(lives))


def test_lives_too_brief_to_be_followed_are_no_count():
    lives: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]
    lives = [([ONE, (n, n)], []) for n in range(30, 60)]
    waiting = [([ONE], [(m, m) for m in range(n, n + 4)]) for n in range(30, 60)]
    assert (tally_of(*waiting).n, tally_of(*waiting).trouble) == (29, None)
    assert tally_of(*lives).trouble == because("telemetry.too_brief", n_brief=28, n=29)
    assert tally_of(([ONE], []), ([ONE], [])).trouble == because("telemetry.seen_too_seldom")


PARENT = """
import os, sys, time
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        time.sleep(0.15)
        os._exit(0)
    os.wait()
sys.stdout.write("done\\n")
sys.stdout.flush()
sys.stdin.read()
"""


def test_children_of_a_process_that_end_are_seen():
    """Each child lives for 0.15 s, and the next one comes after it."""
    n = 6
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PARENT, str(n)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        watch = ExitWatch([parent.pid])
        watch.start()
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"done\n"
        seen = watch.stop()
        assert parent.stdin is not None
        parent.stdin.close()
    # The first may be there before the watch is, and between two samples none can hide.
    assert (seen.n in {n - 1, n}, seen.trouble) == (True, None)
