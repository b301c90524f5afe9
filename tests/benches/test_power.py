"""The bench of what a budget proves: what it draws, counts, judges and keeps."""

import json
import random
from contextlib import contextmanager
from typing import Any

import pytest
from benches.engine.process import BenchError
from benches.power import ladders, latency, planted
from benches.power.figure import THIS, UNBOUNDED, Case, Interval, Setting, drawn
from benches.power.ladders import Climbed, judged_kept
from benches.power.latency import Delay, Delayed, judged_delays
from benches.power.planted import Compared, judged_found, judged_held, judged_same
from benches.power.program import Called, Ended
from benches.power.table import FIGURES
from benches.power.tuned import Tuned, judged_demo, judged_final, verdicts_of

from httpdyno.cli.find_study import open_study
from httpdyno.model import Method

MADE: dict[str, Any] = {
    "figure": 1,
    "case": "a case",
    "by": THIS,
    "took_s": 1.0,
    "stolen_cores": 0.0,
}


def made(kind, *parts, **of_it):
    """Return what was shown, by its kind; of several words on one thing the last counts."""
    whole: dict[str, Any] = dict(MADE)
    for part in (*parts, of_it):
        whole |= part
    return kind(**whole)


def shown_by(case: Case, setting: Setting, draw: random.Random) -> list[Any]:
    return list(case.take(setting, draw))


def compared(verdict, planted=0.0, *, measured_s=5.0, truth=1.0, interval=(0.9, 1.1), **of_it):
    return made(
        Compared,
        of_it,
        verdict=verdict,
        planted=planted,
        truths={"throughput": truth},
        intervals={"throughput": Interval(ratio=1.0, low=interval[0], high=interval[1])},
        measured_s=measured_s,
    )


def is_met(parts):
    return [part.is_met for part in parts]


# Drawing


def test_sizes_are_drawn_anew_within_a_fifth_of_what_is_named():
    sizes = [drawn(0.5, random.Random(n)) for n in range(2_000)]
    assert 0.4 <= min(sizes) < 0.402
    assert 0.598 < max(sizes) <= 0.6
    assert len(set(sizes)) == 2_000


def test_a_difference_is_planted_on_either_side_and_its_truth_goes_with_it(monkeypatch, tmp_path):
    share = {planted.CPU: 0.5, planted.THROUGHPUT: 0.8}
    monkeypatch.setattr(planted, "known_share", lambda _setting: share)
    monkeypatch.setattr(planted, "call", lambda *_, **__: called({}))
    setting = Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1)
    [case] = FIGURES[3].cases
    shown = [each for n in range(40) for each in shown_by(case, setting, random.Random(n))]
    up = [each for each in shown if each.planted > 0]
    assert 10 < len(up) < 30
    for each in up:
        assert 0.08 <= each.planted <= 0.12
        assert each.truths["throughput"] == pytest.approx(1 / (1 + 0.8 * each.planted))
        assert each.truths["cpu_per_request"] == pytest.approx(1 + 0.5 * each.planted)
    down = next(each for each in shown if each.planted < 0)
    assert down.truths["throughput"] > 1 > down.truths["cpu_per_request"]


@pytest.mark.parametrize("share", [0.2, 0.75, 1.0])
def test_what_a_unit_costs_is_told_by_requests_of_few_and_of_many(share):
    little, much = (1 + share * (of_it - 1) for of_it in (planted.LITTLE, planted.MUCH))
    assert planted.share_of(much / little) == pytest.approx(share)
    # Beyond, Python's integers take two digits, and a unit costs more.
    assert (planted.MUCH * planted.UNITS) ** 2 < 2**30


def test_the_truth_is_that_of_several_comparisons(monkeypatch, tmp_path):
    seeds = []

    def call(_setting, _by, words, *, longest_s):
        del longest_s
        seeds.append(words[-1])
        slower = {"ratio": 1 / 4, "low": 0.2, "high": 0.3}
        dearer = {"ratio": 4.0 + len(seeds) % 2, "low": 3.0, "high": None}
        return called({"final": {"throughput_ratio": slower, "cpu_per_request_ratio": dearer}})

    monkeypatch.setattr(planted, "call", call)
    share = planted.known_share(Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1))
    assert len(set(seeds)) == planted.N_REFERENCES
    assert share[planted.THROUGHPUT] == pytest.approx(3 / (2 + 4 * 0.75))
    assert share[planted.CPU] == pytest.approx((3 / 5 + 4 / 5.75) / 2)


def test_without_a_truth_nothing_is_planted(monkeypatch, tmp_path):
    monkeypatch.setattr(planted, "call", lambda *_, **__: called({}, trouble="no room"))
    with pytest.raises(BenchError, match="no room"):
        planted.known_share(Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=2))


def called(document, trouble=""):
    return Called(document=document, trouble=trouble, took_s=3.0, stolen_cores=0.1)


def test_both_checkouts_compare_the_same(monkeypatch, tmp_path):
    asked = []

    def call(_setting, by, words, *, longest_s):
        del longest_s
        asked.append((by, words))
        return called({"final": {"verdict": "inconclusive", "n_starts": 7}, "duration_s": 19.0})

    monkeypatch.setattr(planted, "call", call)
    setting = Setting(trees={THIS: tmp_path, "before": tmp_path}, folder=tmp_path, seed=1)
    shown = shown_by(FIGURES[1].cases[0], setting, random.Random(1))
    assert {by for by, _ in asked} == {THIS, "before"} == {each.by for each in shown}
    assert asked[0][1] == asked[1][1]
    assert "--same" in asked[0][1]
    assert [each.n_starts for each in shown] == [7, 7]


@pytest.mark.parametrize(("server", "connections"), [("gunicorn", 4), ("apache", 16)])
def test_the_studies_that_are_compared_have_the_default_method(tmp_path, server, connections):
    study = open_study(str(planted.written(tmp_path, server, planted.CPU)))
    assert study.method == Method(side_by_side=8)
    assert study.workload.connections == connections
    assert study.objective.metric == planted.CPU


def test_a_ladder_saves_what_its_knobs_are_worth(tmp_path):
    for case in (ladders.ladder(10, 1), ladders.pool(9, 1)):
        worth = {knob: drawn(each, random.Random(2)) for knob, each in case.worth.items()}
        study = open_study(str(case.written(worth, tmp_path / case.name)))
        assert len(study.knobs) == len(case.worth) + case.n_placebos
        assert set(worth) < {knob.name for knob in study.knobs}
    text = (tmp_path / "pool" / "app.conf.j2").read_text()
    assert f"{1 - 1 / (1 + worth['cache']):.4f}" in text
    assert '"' not in text.split("WORK_UNITS", maxsplit=1)[1].splitlines()[0]


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
    ],
)
def test_a_claim_is_right_where_it_names_the_side(verdict, planted, is_found, is_wrong):
    each = compared(verdict, planted)
    assert (each.is_found, each.is_wrong) == (is_found, is_wrong)


@pytest.mark.parametrize(
    ("n_wrong", "n", "word"),
    [(0, 200, True), (8, 200, True), (9, 200, False), (11, 200, False), (0, 20, False)],
)
def test_configurations_against_themselves_need_few_claims_and_enough_comparisons(n_wrong, n, word):
    shown = [compared("better")] * n_wrong + [compared("equivalent")] * (n - n_wrong)
    [part] = judged_same(shown)
    assert part.is_met is word
    assert f"{n_wrong} of {n} claim a difference" in part.words


def test_what_was_refused_is_no_comparison_with_itself():
    shown = [compared("better")] * 9 + [compared("", trouble="no room")] * 300
    assert is_met(judged_same(shown)) == [False]
    assert judged_same(shown[9:]) == []


@pytest.mark.parametrize(
    ("n_found", "took_s", "word"), [(20, 5.9, True), (20, 6.1, False), (19, 2.0, False)]
)
def test_a_large_difference_must_be_found_always_and_soon(n_found, took_s, word):
    shown = [compared("worse", 0.5, measured_s=took_s)] * n_found
    shown += [compared("", 0.5, trouble="refused")] * (20 - n_found)
    judge = FIGURES[2].judge
    assert is_met(judge(shown)) == [word]


def test_a_small_difference_may_be_overlooked_but_not_turned_round():
    found = [compared("worse", 0.1)] * 18
    assert is_met(FIGURES[3].judge([*found, *[compared("inconclusive", 0.1)] * 2])) == [True]
    assert is_met(FIGURES[3].judge([*found, *[compared("better", 0.1)] * 2])) == [False]
    assert is_met(judged_found(found[:17] + found[:3], least_ratio=0.9)) == [True]
    assert judged_found([], least_ratio=0.9) == []


def test_intervals_are_held_against_the_truth():
    inside, outside = compared("better", truth=1.05), compared("better", truth=1.2, case="+10 %")
    assert is_met(judged_held([inside] * 95 + [outside] * 5)) == [True]
    [part] = judged_held([inside] * 94 + [outside] * 6)
    assert not part.is_met
    assert part.words == "94 of 100 intervals hold the truth, 6 not in +10 %"


def test_an_interval_without_an_end_holds_what_lies_above():
    told = {"ratio": 2.0, "low": 1.5, "high": None}
    found = Interval.of(told)
    assert found == Interval(ratio=2.0, low=1.5, high=UNBOUNDED)
    assert found.holds(1e6)
    assert not found.holds(1.4)
    assert Interval.of(None) is None


# Judging latencies


def delayed(verdict, interval=(1.1, 1.3), **of_it):
    low, high = interval or (1.0, 1.0)
    middle = Interval(ratio=(low * high) ** 0.5, low=low, high=high)
    given = {"latencies_ms": (110.0, 90.0), "interval": interval and middle, "is_constant": True}
    return made(Delayed, given | of_it, verdict=verdict)


@pytest.mark.parametrize(
    ("shown", "word"),
    [
        ([delayed("better")] * 20, [True, True, True]),
        ([delayed("better")] * 19 + [delayed("worse", (0.6, 0.7))], [False, True, True]),
        ([delayed("better")] * 9 + [delayed("better", (1.3, 1.4))], [True, False, True]),
        ([delayed("better", (1.2212, 1.2213))], [True, True, True]),
        ([delayed("better", (1.2212, 1.2213), is_constant=False)], [True, False, True]),
        ([delayed("equivalent", (0.995, 1.005))], [False, False, True]),
        ([delayed("inconclusive", needed_s=9.0, reason="open")], [True, True, True]),
        ([delayed("inconclusive", reason="open")], [True, True, False]),
        ([delayed("", refusal="too short; it takes about 5 min", interval=None)], [True] * 3),
        ([delayed("", refusal="too short", interval=None)], [True, True, False]),
        ([delayed("", trouble="it broke", interval=None)], [True, True, False]),
    ],
)
def test_signs_intervals_and_silences_are_counted(shown, word):
    assert is_met(judged_delays(shown)) == word


def test_the_truth_of_latencies_is_that_of_the_origins(monkeypatch, tmp_path):
    jobs = []

    def run(command, **_):
        jobs.append(json.loads(command[-1]))
        said = json.dumps({"ratio": 1.2, "low": 1.1, "high": 1.3, "verdict": "better"})
        return Ended(stdout=said, stderr="", took_s=1.0, stolen_cores=0.0)

    options = []

    @contextmanager
    def origin(given):
        options.append(given)
        yield "127.0.0.1:1"

    monkeypatch.setattr(latency, "run", run)
    monkeypatch.setattr(latency, "origin", origin)
    setting = Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1)
    lock = next(case for case in FIGURES[6].cases if isinstance(case, Delay) and case.is_lock)
    [shown] = shown_by(lock, setting, random.Random(3))
    held_us = [int(each[1].removeprefix("fixed:").removesuffix("us")) for each in options]
    assert [each[2:] for each in options] == [["--workers", "1"]] * 2
    assert shown.truth == pytest.approx(held_us[0] / held_us[1], rel=1e-3)
    assert jobs[0]["latencies_ms"][0] == pytest.approx(held_us[0] * lock.users / 1e3, rel=1e-3)
    assert 1.2 <= max(held_us) / min(held_us) <= 1.3
    assert shown.holds


# Judging runs of studies


def demo(took_s=180.0, *, unsaid=(), trouble="", **verdicts):
    usual = {"debug": "better", "workers": "inconclusive"}
    return made(
        Tuned,
        took_s=took_s,
        trouble=trouble,
        verdicts={} if trouble else usual | verdicts,
        unsaid=unsaid,
    )


@pytest.mark.parametrize(
    ("shown", "word"),
    [
        ([demo()] * 5 + [demo(debug="worse")], [True, True]),
        ([demo()] * 4 + [demo(workers="better")] * 2, [True, True]),
        ([demo()] * 4 + [demo(debug="worse")] * 2, [False, True]),
        ([demo()] * 4 + [demo(workers="not tried", unsaid=("workers",))] * 2, [False, True]),
        ([demo()] * 4 + [demo(trouble="no room")] * 2, [False, True]),
        ([demo()] * 5 + [demo(took_s=241.0)], [True, False]),
        ([demo(trouble="no room")], [False]),
        ([], []),
    ],
)
def test_runs_of_a_demo_agree_or_say_what_they_leave_open(shown, word):
    assert is_met(judged_demo(shown)) == word


def test_verdicts_are_the_last_of_each_knob():
    step = {"knob": "debug", "verdict": "inconclusive", "reason": "open"}
    last = {"knob": "debug", "verdict": "better", "reason": "the interval is above 1"}
    silent = {"knob": "threads", "verdict": "not_measured", "reason": ""}
    document = {
        "configuration": {"debug": False, "threads": 1, "workers": 1},
        "steps": [step, silent, last],
        "needed_s": 40.0,
    }
    verdicts, unsaid = verdicts_of(document)
    assert verdicts == {"debug": "better", "threads": "not_measured", "workers": "not tried"}
    assert unsaid == ("threads",)
    assert verdicts_of(document | {"needed_s": None})[1] == ("threads", "workers")


def final(low, high, took_s=280.0):
    interval = Interval(ratio=(low * high) ** 0.5, low=low, high=high)
    return made(Tuned, took_s=took_s, final=interval)


@pytest.mark.parametrize(
    ("shown", "word"),
    [
        ([final(4.0, 6.0), final(5.0, 9.0)], [True, True, True]),
        ([final(3.9, 6.0), final(5.0, 9.0)], [False, True, True]),
        ([final(4.0, 4.9), final(5.0, 9.0)], [True, False, True]),
        ([final(4.0, 6.0, took_s=301.0)], [True, True, False]),
        ([made(Tuned, trouble="no Apache")], [False, True]),
    ],
)
def test_final_claims_are_high_and_have_a_value_in_common(shown, word):
    assert is_met(judged_final(shown)) == word


# Judging ladders


def climbed(*proven, took_s=140.0, **of_it):
    worth = {"large": 0.24, "small": 0.08}
    given = {"worth": worth, "n_placebos": 4, "proven": tuple(proven), "took_s": took_s}
    return made(Climbed, given, of_it)


BOTH = ("large", "small")


@pytest.mark.parametrize(
    ("shown", "word"),
    [
        ([climbed(*BOTH)] * 8 + [climbed("large")] * 2, [True, True]),
        ([climbed(*BOTH)] * 7 + [climbed("large")] * 3, [False, True]),
        ([climbed(*BOTH)] * 8 + [climbed(*BOTH, "nothing_a")] * 2, [True, True]),
        ([climbed(*BOTH)] * 7 + [climbed(*BOTH, "nothing_a")] * 3, [True, False]),
        ([climbed(*BOTH)] * 8 + [climbed(*BOTH, is_withdrawn=True)] * 2, [False, True]),
        ([climbed(trouble="no room")], [False, True]),
    ],
)
def test_a_ladder_keeps_what_is_real_and_leaves_placebos(shown, word):
    assert is_met(FIGURES[10].judge(shown)) == word


def test_a_pool_is_proven_in_time():
    within = {"least_real_ratio": 1.0, "most_placebos_ratio": 0.0, "within_s": 150.0}
    assert is_met(judged_kept([climbed(*BOTH)], **within)) == [True] * 3
    assert is_met(judged_kept([climbed(*BOTH, took_s=151.0)], **within)) == [True, True, False]


def test_what_a_run_proved_and_took_back_is_told_by_its_document(monkeypatch, tmp_path):
    document = {
        "steps": [
            {"knob": "large", "kept": True},
            {"knob": "nothing_a", "kept": False},
            {"knob": "nothing_a", "kept": True},
        ],
        "final": {"throughput_ratio": {"ratio": 1.2, "low": 0.9, "high": 1.6}},
        "withdrawn": "it is not better",
    }
    monkeypatch.setattr(ladders, "call", lambda *_, **__: called(document))
    setting = Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1)
    [shown] = shown_by(FIGURES[10].cases[0], setting, random.Random(1))
    assert (shown.proven, shown.kept, shown.n_tried) == (("large", "nothing_a"), (), 2)
    assert "taken back large, nothing_a" in shown.line()
    assert shown.line().endswith("host took 0.10 cores")
