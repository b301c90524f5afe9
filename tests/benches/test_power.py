"""The bench of what a budget proves: what it draws, counts, judges and keeps."""

import math
import random

import pytest
from benches.power import planted
from benches.power.figure import REFUSED, THIS, UNBOUNDED, Interval, Setting, drawn
from benches.power.judgement import (
    counts_held,
    counts_same,
    judged_found,
    judged_held,
    judged_same,
)
from benches.power.known import CPU, THROUGHPUT, UNITS, Known
from benches.power.planted import Compared
from benches.power.table import FIGURES
from tests.benches.power_shown import called, is_met, made, shown_by

from httpdyno.catalog import open_study
from httpdyno.model import Method


def compared(verdict, planted=0.0, *, truth=1.0, interval=(0.9, 1.1), **of_it):
    low, high = interval or (0.0, UNBOUNDED)
    given = {
        "verdict": verdict,
        "planted": planted,
        "truths": {"throughput": truth},
        "intervals": {"throughput": Interval(ratio=1.0, low=low, high=high)},
        "budget_s": 20.0,
        "measured_s": 5.0,
    }
    return made(Compared, given, of_it)


# Drawing


def test_sizes_are_drawn_anew_within_a_fifth_of_what_is_named():
    sizes = [drawn(0.5, random.Random(n)) for n in range(2_000)]
    assert 0.4 <= min(sizes) < 0.402
    assert 0.598 < max(sizes) <= 0.6
    assert len(set(sizes)) == 2_000


KNOWN = Known(shares={CPU: 0.8, THROUGHPUT: 0.5}, errors={CPU: 0.01, THROUGHPUT: 0.02})


@pytest.mark.parametrize(("figure", "size"), [(2, 0.5), (3, 0.1), (4, 0.03)])
@pytest.mark.parametrize("server", ["gunicorn", "apache"])
def test_a_difference_is_one_of_what_decides_on_either_side(
    monkeypatch, tmp_path, figure, size, server
):
    others = Known(shares={CPU: 0.1, THROUGHPUT: 0.1}, errors=KNOWN.errors)
    monkeypatch.setattr(planted, "known", lambda _, by: KNOWN if by == server else others)
    monkeypatch.setattr(planted, "call", lambda *_, **__: called({}))
    setting = Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1)
    [case] = [
        each
        for each in FIGURES[figure].cases
        if isinstance(each, planted.Planted) and each.server == server
    ]
    shown = [each for n in range(40) for each in shown_by(case, setting, random.Random(n))]
    up = [each for each in shown if each.planted > 0]
    assert 10 < len(up) < 30
    for each in up:
        assert 0.8 * size - 1e-4 <= each.planted <= 1.2 * size + 1e-4
        more = each.units[1] / each.units[0] - 1
        assert each.truths["throughput"] == pytest.approx(1 / (1 + 0.5 * more))
        assert each.truths["cpu_per_request"] == pytest.approx(1 + 0.8 * more)
        dearer = each.truths | {"throughput": 1 / each.truths["throughput"]}
        assert dearer[each.ratio] == pytest.approx(1 + each.planted)
    down = next(each for each in shown if each.planted < 0)
    assert down.truths["throughput"] > 1 > down.truths["cpu_per_request"]
    assert down.ratio == ("cpu_per_request" if figure == 4 else "throughput")


def test_a_line_says_what_the_size_takes_of_work():
    shown = compared("worse", 0.1, units=(10_000, 12_000))
    assert shown.words().startswith("+10.0% (10000 → 12000 units) worse ")
    assert compared("worse", second="better").words().startswith("+0.0% worse, second better ")


def test_how_well_the_truth_is_known_goes_with_it(monkeypatch, tmp_path):
    monkeypatch.setattr(planted, "known", lambda *_: KNOWN)
    monkeypatch.setattr(planted, "call", lambda *_, **__: called({}))
    setting = Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1)
    [shown] = shown_by(FIGURES[2].cases[0], setting, random.Random(1))
    more = max(shown.units) / UNITS - 1
    for name, share in (("throughput", 0.5), ("cpu_per_request", 0.8)):
        error = {0.5: 0.02, 0.8: 0.01}[share]
        high, low = (math.log(1 + (share + one) * more) for one in (error / 2, -error / 2))
        assert shown.errors_log[name] == pytest.approx(high - low, rel=0.01)


def test_both_checkouts_compare_the_same(monkeypatch, tmp_path):
    asked = []

    def call(_setting, by, words, *, longest_s):
        del longest_s
        asked.append((by, words))
        final = {"verdict": "inconclusive", "n_starts": 7, "second": {"verdict": "worse"}}
        # As long as no version had a second metric, there was no word of it.
        final = final if by == THIS else {**final, "second": None}
        return called({"final": final, "duration_s": 19.0})

    monkeypatch.setattr(planted, "call", call)
    monkeypatch.setattr(planted, "first_ready_s", lambda *_: 0.4)
    setting = Setting(trees={THIS: tmp_path, "before": tmp_path}, folder=tmp_path, seed=1)
    shown = shown_by(FIGURES[1].cases[0], setting, random.Random(1))
    assert {by for by, _ in asked} == {THIS, "before"} == {each.by for each in shown}
    assert asked[0][1] == asked[1][1]
    assert "--same" in asked[0][1]
    assert [each.n_starts for each in shown] == [7, 7]
    assert {each.by: each.second for each in shown} == {THIS: "worse", "before": ""}
    assert {each.by: each.is_wrong for each in shown} == {THIS: True, "before": False}
    assert [each.up_s for each in shown] == [pytest.approx(18.6)] * 2
    assert "19.0 s, 0.4 s of it until both were up" in shown[0].words()


@pytest.mark.parametrize(("server", "connections"), [("gunicorn", 4), ("apache", 4), ("pool", 16)])
def test_the_studies_that_are_compared_have_the_default_method(tmp_path, server, connections):
    study = open_study(str(planted.written(tmp_path, server, CPU)))
    assert study.method == Method(side_by_side=8)
    assert study.workload.connections == connections
    assert study.objective.metric == CPU
    if server != "pool":
        # What a unit costs is known of requests of so many.
        assert study.start_configuration().values["units"] == UNITS


# Judging what was planted


@pytest.mark.parametrize(
    ("verdict", "planted", "is_found", "is_wrong"),
    [
        ("worse", 0.1, True, False),
        ("better", -0.1, True, False),
        ("better", 0.1, False, True),
        ("equivalent", 0.1, False, True),
        ("inconclusive", 0.1, False, False),
        ("equivalent", 0.0, False, False),
        ("worse", 0.0, False, True),
        ("failed", 0.0, False, True),
        ("failed", 0.1, False, False),
    ],
)
def test_a_claim_is_right_where_it_names_the_side(verdict, planted, is_found, is_wrong):
    each = compared(verdict, planted)
    assert (each.is_found, each.is_wrong) == (is_found, is_wrong)
    # The second metric's word is held against the same truth, but it finds nothing.
    beside = compared("inconclusive", planted, second=verdict)
    assert (beside.is_found, beside.is_wrong) == (False, is_wrong)


@pytest.mark.parametrize(
    ("n_wrong", "n", "word"),
    [(0, 200, True), (8, 200, True), (9, 200, False), (11, 200, False), (0, 20, False)],
)
def test_configurations_against_themselves_need_few_claims_and_enough_comparisons(n_wrong, n, word):
    shown = [compared("better")] * n_wrong + [compared("equivalent")] * (n - n_wrong)
    [part] = judged_same(shown)
    assert part.is_met is word
    assert f"{n_wrong} of {n} claim a difference" in part.words


def test_what_measured_nothing_is_no_comparison_with_itself():
    refused = [compared("", trouble=f"{REFUSED}too short")] * 300
    nothing = [compared("not_measured", interval=None)] * 300
    [part] = judged_same([compared("better")] * 9 + refused + nothing)
    assert not part.is_met
    assert part.words.startswith("9 of 9 claim a difference, 9 of them a case; ")
    assert part.words.endswith("; 600 more measured nothing")
    assert judged_same(refused + nothing) == []
    assert {counts_same(each) for each in refused + nothing} == {0}
    assert {counts_held(each) for each in refused + nothing} == {0}
    # Who accuses a candidate without an interval has claimed something.
    assert counts_same(compared("failed", interval=None)) == 1


def test_a_false_claim_of_the_second_metric_is_a_false_claim():
    shown = [compared("inconclusive")] * 190 + [compared("inconclusive", second="worse")] * 10
    [part] = judged_same(shown)
    assert not part.is_met
    assert "10 of 200 claim a difference" in part.words
    assert "10 by the second metric alone" in part.words


@pytest.mark.parametrize(
    ("n_found", "took_s", "ready_s", "word"),
    [(20, 5.9, 0, True), (20, 6.1, 0, False), (20, 6.4, 0.5, True), (19, 2.0, 0, False)],
)
def test_a_large_difference_must_be_found_always_and_soon(n_found, took_s, ready_s, word):
    shown = [compared("worse", 0.5, measured_s=took_s, ready_s=ready_s)] * n_found
    shown += [compared("", 0.5, trouble="refused")] * (20 - n_found)
    [part] = FIGURES[2].judge(shown)
    assert part.is_met is word
    told = f"median {took_s - ready_s:.1f} s after both servers were up, {took_s:.1f} s with"
    assert told in part.words


def test_what_is_found_after_the_budget_is_not_found_in_time():
    late = [compared("worse", 0.1, measured_s=20.8)] * 3
    [part] = FIGURES[3].judge([compared("worse", 0.1)] * 17 + late)
    assert not part.is_met
    assert part.words.startswith("a case: found 17 of 20, 3 more after the budget, ")


def test_a_small_difference_may_be_overlooked_but_not_turned_round():
    found = [compared("worse", 0.1)] * 18
    assert is_met(FIGURES[3].judge([*found, *[compared("inconclusive", 0.1)] * 2])) == [True]
    assert is_met(FIGURES[3].judge([*found, *[compared("better", 0.1)] * 2])) == [False]
    turned = [compared("worse", 0.1, second="better")] * 2
    assert is_met(FIGURES[3].judge([*found, *turned])) == [False]
    assert is_met(judged_found(found[:17] + found[:3], least_ratio=0.9)) == [True]
    assert judged_found([], least_ratio=0.9) == []


def test_what_is_planted_in_one_server_is_not_outweighed_by_the_other():
    found = [compared("worse", 0.1, case="+10 % gunicorn")] * 20
    missed = [compared("inconclusive", 0.1, case="+10 % Apache")] * 3
    parts = FIGURES[3].judge([*found, *missed, *[compared("worse", 0.1, case=missed[0].case)] * 17])
    assert is_met(parts) == [True, False]
    assert parts[1].words.startswith("+10 % Apache: found 17 of 20, ")


def test_intervals_are_held_against_the_truth():
    inside = compared("worse", 0.1, truth=1.05)
    outside = compared("worse", 0.1, truth=1.2, case="+10 %")
    assert is_met(judged_held([inside] * 95 + [outside] * 5)) == [True]
    [part] = judged_held([inside] * 94 + [outside] * 6)
    assert not part.is_met
    assert (
        part.words == "of planted differences, 94 of 100 intervals hold the truth, 6 not in +10 %"
    )


def test_many_intervals_of_the_same_hide_none_of_planted_differences():
    same = [compared("inconclusive")] * 400
    wrong = [compared("worse", 0.1, truth=1.2)] * 6 + [compared("worse", 0.1)] * 94
    first, other = judged_held(same + wrong)
    assert (first.is_met, other.is_met) == (True, False)
    assert first.words == "of the same, 400 of 400 intervals hold the truth"


def test_an_interval_without_ends_holds_nothing():
    assert judged_held([compared("not_measured", interval=None)]) == []


@pytest.mark.parametrize(("error_log", "is_judged"), [(0.018, True), (0.019, False)])
def test_an_interval_is_judged_by_a_truth_that_is_known_better(error_log, is_judged):
    shown = compared(
        "worse", 0.1, interval=(1.0, 1.16), truth=2.0, errors_log={"throughput": error_log}
    )
    assert math.log(1.16) / 2 / 4 == pytest.approx(0.01855, abs=1e-5)
    assert shown.held == ([False] if is_judged else [])
    [part] = judged_held([shown])
    assert not part.is_met
    assert ("none is judged; 1 more are narrower than the truth" in part.words) != is_judged
    first = compared("worse", 0.1, truth=1.05)
    assert judged_held([first, shown])[0].is_met != is_judged


def test_an_interval_without_an_end_holds_what_lies_above():
    told = {"ratio": 2.0, "low": 1.5, "high": None}
    found = Interval.of(told)
    assert found == Interval(ratio=2.0, low=1.5, high=UNBOUNDED)
    assert found.holds(1e6)
    assert not found.holds(1.4)
    assert Interval.of(None) is None
