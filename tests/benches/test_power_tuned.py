"""Runs of studies and ladders: what they say, and how that is judged."""

import random

import pytest
from benches.power import ladders
from benches.power.figure import THIS, Interval, Setting, drawn
from benches.power.ladders import Climbed, judged_kept
from benches.power.table import FIGURES
from benches.power.tuned import Tuned, judged_demo, judged_final, verdicts_of
from tests.benches.power_shown import called, is_met, made, shown_by

from httpdyno.catalog import open_study

# Runs of studies


def demo(took_s=180.0, *, unsaid=(), trouble="", **verdicts):
    usual = {f"knob_{n}": "better" for n in range(6)} | {"debug": "better", "workers": "better"}
    return made(
        Tuned,
        took_s=took_s,
        trouble=trouble,
        verdicts={} if trouble else usual | verdicts,
        unsaid=unsaid,
    )


OPEN = demo(workers="inconclusive")
NOTHING = demo(**dict.fromkeys(demo().verdicts, "inconclusive"))


@pytest.mark.parametrize(
    ("shown", "word"),
    [
        ([demo()] * 5 + [demo(debug="worse")], [True, True]),
        ([OPEN] * 4 + [demo()] * 2, [True, True]),
        ([OPEN] * 6, [True, True]),
        ([demo()] * 4 + [demo(debug="worse")] * 2, [False, True]),
        ([OPEN] * 5 + [demo(workers="not tried", unsaid=("workers",))], [False, True]),
        ([demo(workers="inconclusive", unsaid=("workers",))] * 6, [False, True]),
        ([NOTHING] * 6, [False, True]),
        ([made(Tuned, took_s=9.0, verdicts={"debug": "better"})] * 6, [False, True]),
        ([demo()] * 4 + [demo(trouble="no room")] * 2, [False, True]),
        ([demo()] * 5 + [demo(took_s=241.0)], [True, False]),
        ([demo(trouble="no room")], [False]),
        ([], []),
    ],
)
def test_runs_of_a_demo_agree_or_say_what_they_leave_open(shown, word):
    assert is_met(judged_demo(shown)) == word


def test_how_much_of_a_demo_is_decided_is_told():
    told = judged_demo([demo()] * 4 + [OPEN] * 2)[0].words
    assert told.startswith("4 of 6 runs decide all 8 knobs alike; decided 8, 8, 8, 8, 7, 7 of 8; ")
    assert "workers better 4, inconclusive 2" in told


def test_verdicts_are_the_last_of_each_knob():
    def step(knob, verdict="inconclusive", **more):
        return {"knob": knob, "comparison": {"verdict": verdict, **more}}

    reasons = [{"code": "experiment.holds_1"}, {"code": "experiment.far"}]
    document = {
        "configuration": dict.fromkeys(("debug", "threads", "timed", "far", "workers"), 1),
        "steps": [
            step("debug"),
            step("threads", reasons=reasons[:1]),
            step("timed", needed_s=30.0),
            step("far", reasons=reasons),
            step("debug", "better"),
        ],
        "needed_s": 40.0,
    }
    verdicts, unsaid = verdicts_of(document)
    assert verdicts == {
        "debug": "better",
        "threads": "inconclusive",
        "timed": "inconclusive",
        "far": "inconclusive",
        "workers": "not tried",
    }
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


# Ladders


def test_a_ladder_saves_what_its_knobs_are_worth(tmp_path):
    for case in (ladders.ladder(10, 1), ladders.pool(9, 1)):
        worth = {knob: drawn(each, random.Random(2)) for knob, each in case.worth.items()}
        study = open_study(str(case.written(worth, tmp_path / case.name)))
        assert len(study.knobs) == len(case.worth) + case.n_placebos
        assert set(worth) < {knob.name for knob in study.knobs}
    text = (tmp_path / "pool" / "app.conf.j2").read_text()
    assert f"{1 - 1 / (1 + worth['cache']):.4f}" in text
    assert '"' not in text.split("WORK_UNITS", maxsplit=1)[1].splitlines()[0]


def climbed(*proven, took_s=140.0, **of_it):
    worth = {"large": 0.24, "small": 0.08}
    given = {"worth": worth, "n_placebos": 4, "proven": tuple(proven), "took_s": took_s}
    return made(Climbed, given, of_it)


BOTH = ("large", "small")
TAKEN_BACK = climbed(*BOTH, "nothing_a", "nothing_b", "nothing_c", is_withdrawn=True)


def above(low):
    return Interval(ratio=low + 0.2, low=low, high=low + 0.4)


@pytest.mark.parametrize(
    ("shown", "word"),
    [
        ([climbed(*BOTH)] * 8 + [climbed("large")] * 2, [True, True, True]),
        ([climbed(*BOTH)] * 7 + [climbed("large")] * 3, [False, True, True]),
        ([climbed(*BOTH)] * 8 + [climbed(*BOTH, "nothing_a")] * 2, [True, True, True]),
        ([climbed(*BOTH)] * 7 + [climbed(*BOTH, "nothing_a")] * 3, [True, False, True]),
        ([climbed(*BOTH)] * 8 + [climbed(*BOTH, is_withdrawn=True)] * 2, [False, True, True]),
        ([climbed(*BOTH)] * 17 + [TAKEN_BACK] * 3, [False, False, True]),
        ([climbed(*BOTH)] * 9 + [climbed(*BOTH, trouble="no room")], [True, True, True]),
        # Placebos of runs that failed are none that were left alone.
        ([climbed(*BOTH, "nothing_a"), climbed(trouble="no")], [False, False, True]),
        ([climbed(*BOTH, final=above(1.35))] * 10, [True, True, False]),
        ([climbed(*BOTH, final=above(1.33))] * 10, [True, True, True]),
        ([climbed(trouble="no room")], [False]),
    ],
)
def test_a_ladder_keeps_what_is_real_and_leaves_placebos(shown, word):
    assert is_met(FIGURES[10].judge(shown)) == word


def test_a_pool_is_proven_in_time():
    within = {"least_real_ratio": 1.0, "most_placebos_ratio": 0.0, "within_s": 150.0}
    assert is_met(judged_kept([climbed(*BOTH)], **within)) == [True] * 4
    late = judged_kept([climbed(*BOTH, took_s=151.0)], **within)
    assert is_met(late) == [True, True, True, False]


def test_what_a_run_proved_and_took_back_is_told_by_its_document(monkeypatch, tmp_path):
    document = {
        "steps": [
            {"knob": "large", "kept": True},
            {"knob": "nothing_a", "kept": False},
            {"knob": "nothing_a", "kept": True},
        ],
        "final": {"ratios": {"throughput": {"ratio": 1.2, "low": 0.9, "high": 1.6}}},
        "withdrawn": "it is not better",
    }
    monkeypatch.setattr(ladders, "call", lambda *_, **__: called(document))
    setting = Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1)
    [shown] = shown_by(FIGURES[10].cases[0], setting, random.Random(1))
    assert (shown.proven, shown.kept, shown.n_tried) == (("large", "nothing_a"), (), 2)
    assert "taken back large, nothing_a" in shown.line()
    assert shown.line().endswith("host took 0.10 cores")
