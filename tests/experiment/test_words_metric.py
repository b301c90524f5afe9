"""Answers that say a word as what decides: shares of starts, their verdicts, and none."""

import math
import shutil
from pathlib import Path

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.experiment.test_header_count import of, turn_taken
from tests.experiment.test_header_plan import PHASED
from tests.experiment.test_second_metric import ARMS, SPREAD, start_of
from tests.report.sample_figures import with_figures
from tests.report.sample_second import second_compare
from tests.report.study.test_also_text import asked, page, shown
from tests.rows import each_row

from httpdyno.catalog import open_study
from httpdyno.cli.plan_text import plan_lines
from httpdyno.errors import StudyFileError, TargetError, UsageError
from httpdyno.experiment.decide.claim import Terms, comparison
from httpdyno.experiment.decide.evidence import figure, log_ratios, ratio_intervals
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.experiment.design.smoke_test import least_s
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.trial.afterwards import HeaderCost, header_cost
from httpdyno.experiment.trial.engine_loads import said
from httpdyno.metrics import named, of_ratio, sources
from httpdyno.metrics.table import is_among, meant_by
from httpdyno.metrics.totals import ArmTotals, arm_totals
from httpdyno.model import HeaderWords, Knob, Method, Objective
from httpdyno.report.shared.message import error_text, joined
from httpdyno.report.study.json import outcome_json
from httpdyno.study.objective import decided_by, metrics_of, metrics_text, with_also

HITS, MISSES = "answers_ratio of HIT", "answers_ratio of MISS"
BARE = HeaderWords(name="X-Cache", n_without=200)


def told(number, a, b):
    return structs.replace(start_of(number, 1.0, 1.0), header_words=(a, b))


def starts(n_misses, spread=SPREAD):
    """Return starts of a thousand answers, with a hundred misses of the first arm."""
    counts = [round(n_misses * math.exp(noise)) for noise in spread]
    return [told(number, of(900, 100), of(1000 - n, n)) for number, n in enumerate(counts)]


def compared(found, metric=MISSES, **more):
    return comparison(
        1, found, ARMS, Terms(objective=Objective(metric=metric, **more), min_starts=6)
    )


@each_row(
    ("metric", "n_misses", "verdict", "factor"),
    [
        (MISSES, 50, "better", 0.5),
        (MISSES, 200, "worse", 2.0),
        (HITS, 50, "better", 950 / 900),
        (HITS, 200, "worse", 800 / 900),
    ],
)
def test_fewer_misses_are_better_and_more_hits(metric, n_misses, verdict, factor):
    found = compared(starts(n_misses), metric)
    assert (found.verdict, found.metric) == (verdict, metric)
    assert found.ratios[metric].ratio == pytest.approx(factor, rel=0.01)
    assert metric not in ratio_intervals(starts(n_misses), Objective())


def test_what_has_no_such_header_is_an_answer_too():
    found = [told(n, of(50, 0, 50), of(100, 0, 100)) for n in range(2)]
    assert figure(found[0], 1, named(HITS)) == 0.5
    assert log_ratios(found, HITS) == [0.0, 0.0]


def test_starts_come_together_by_their_answers():
    found = [told(0, of(10), of(10)), told(1, of(0, 30), of(10)), start_of(2, 1.0, 1.0)]
    totals = ArmTotals.sum([arm_totals(start, 0) for start in found])
    assert (named(HITS).figure(totals), named(MISSES).figure(totals)) == (0.25, 0.75)
    assert math.isnan(figure(found[2], 0, named(HITS)))


def test_that_a_share_never_varies_is_told():
    found = compared(starts(100, [0.0] * 6), HITS)
    assert found.verdict == "equivalent"
    assert joined(found.reasons).endswith("in all 6 starts, so its interval has no width")


@each_row(
    ("a", "b", "words"),
    [
        (
            BARE,
            of(190, 10),
            "no ratio: share of answers with HIT is 0 in 6 of 6 starts (a 0 %, b 95 %)",
        ),
        (BARE, of(0, 200), "no ratio: share of answers with HIT is 0 in every start"),
        (
            of(9),
            HeaderWords(name="X-Cache", uncounted=said("it crashed")),
            "share of answers with HIT could not be counted in 6 starts: it crashed",
        ),
        (None, None, "share of answers with HIT could not be counted in 6 starts"),
    ],
)
def test_where_an_arm_has_none_or_nobody_counts_there_is_no_ratio_and_the_reason(a, b, words):
    found = compared([told(number, a, b) for number in range(6)], HITS)
    assert (found.verdict, HITS in found.ratios) == ("not_measured", False)
    assert joined(found.reasons) == words


def test_one_start_without_the_word_is_not_left_out_in_silence():
    found = compared([told(n, of(100, 5), of(100, 5 * (n > 0))) for n in range(6)])
    assert (found.verdict, MISSES in found.ratios) == ("not_measured", False)
    assert "in 1 of 6 starts" in joined(found.reasons)


def test_a_start_that_was_not_counted_is_left_out():
    untold = HeaderWords(name="X-Cache", uncounted=said("no answer came"))
    found = starts(50)
    found[2] = told(2, of(900, 100), untold)
    assert len(log_ratios(found, MISSES)) == 5
    assert compared([*found, told(6, of(900, 100), of(950, 50))]).verdict == "better"


def test_they_break_ties_and_are_told_beside():
    tied = compared(starts(50), "throughput_per_s", tie_breaker=MISSES)
    assert (tied.verdict, tied.decided_by) == ("better", MISSES)
    told = compared(starts(50), "throughput_per_s", also=(HITS, MISSES))
    assert [each.verdict for each in told.also] == ["better", "better"]


class Saying(FakeBench):
    """Answers so many hits of a thousand as a function of a knob's values says; None: no header."""

    def __init__(self, hits):
        super().__init__(throughput_per_s=lambda _values: 400.0)
        self.hits = hits

    def measure_start(self, request, save):
        record = super().measure_start(request, save)
        found = [self.hits(arm.values) for arm in request.arms]
        varied = [n if n is None else n + request.start % 2 for n in found]
        words = tuple(BARE if n is None else of(n, 1000 - n) for n in varied)
        return structs.replace(record, header_words=words)


def ran(plan, hits):
    bench = Saying(hits)
    return run_plan(plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None)


def asking(study, **more):
    return structs.replace(
        study, objective=Objective(metric=HITS), counted_header="X-Cache", **more
    )


def test_a_whole_run_decides_by_them(study):
    a = study.start_configuration()
    plan = compare_plan(asking(study), a, a.replaced("good", 1), seed=1, budget_s=120.0)
    found = ran(plan, lambda values: 900 if values["good"] else 600).final
    assert found is not None
    assert found.verdict == "better"
    assert found.ratios[HITS].ratio == pytest.approx(1.5, abs=0.01)


def test_of_several_rows_the_one_with_the_most_hits_comes_out(study):
    knobs = (Knob(name="cache", start="small", levels=("large", "larger")),)
    method = structs.replace(study.method, kind="table")
    plan = make_plan(asking(study, knobs=knobs, method=method, budget_s=300.0), seed=5)
    hits = {"small": 300, "large": 500, "larger": 800}
    outcome = ran(plan, lambda values: hits[values["cache"]])
    assert [step.kept for step in outcome.steps] == [True, True]
    assert outcome.configuration.values["cache"] == "larger"


def test_a_factorial_goes_to_the_most_hits(study):
    knobs = tuple(Knob(name=name, start="off", levels=("on",)) for name in ("cache", "more"))
    method = structs.replace(study.method, kind="factorial")
    plan = make_plan(asking(study, knobs=knobs, method=method, budget_s=300.0), seed=5)
    hits = {("off", "off"): 200, ("on", "off"): 400, ("off", "on"): 180, ("on", "on"): 360}
    outcome = ran(plan, lambda values: hits[values["cache"], values["more"]])
    assert outcome.factorial is not None
    verdicts = [each.verdict for each in outcome.factorial.effects]
    assert verdicts == ["better", "worse", "equivalent"]
    assert outcome.configuration.values == {"cache": "on", "more": "off"}


@pytest.mark.parametrize("levels", [(1, 64), (1, 8, 64)])
def test_a_sweep_goes_up_to_the_most_hits_and_names_the_levels_without_any(study, levels):
    knobs = (Knob(name="workers", start=64, levels=levels),)
    method = Method(kind="sweep", knob="workers", window_s=0.5, blocks_per_start=2)
    plan = make_plan(asking(study, knobs=knobs, method=method), seed=5)
    hits = {1: 400, 8: None, 64: 600}
    if 8 in levels:
        with pytest.raises(TargetError) as raised:
            ran(plan, lambda values: hits[values["workers"]])
        assert "HIT is 0 in some starts of workers 8" in error_text(raised.value)
        return
    found = ran(plan, lambda values: hits[values["workers"]]).sweep
    assert found is not None
    assert (found.best, found.metric) == (64, HITS)
    assert [point.value for point in found.points] == pytest.approx([0.4, 0.6], abs=0.01)


@each_row(
    ("word", "is_hit"),
    [
        ("HIT", True),
        ("hit", True),
        ("TCP_HIT", True),
        ("TCP_MEM_HIT", True),
        ("MISS", False),
        ("REVALIDATED", False),
        ("HITS", False),
        ("Hit-from-elsewhere", False),
    ],
)
def test_more_is_better_of_words_that_end_in_hit_and_of_no_others(word, is_hit):
    assert named(f"answers_ratio of {word}").is_more_better == is_hit


def test_a_word_is_told_as_the_header_has_it_and_its_ratio_by_the_same_text():
    metric = "answers_ratio of TCP_hit"
    assert meant_by(metric) == named(metric).ratio == metric
    assert named(metric).label == of_ratio(metric).label == "share of answers with TCP_hit"
    assert named(metric).is_counted
    assert named(metric).is_on_demand
    assert named(metric).distribution == ""


@each_row(
    "metric",
    [
        "answers_ratio",
        "answers_ratio of ",
        "answers_ratio of HIT from",
        "answers_ratio of a,b",
        "answers_ratio of " + "a" * 33,
        "lookups_per_request",
        "latency_p90_s of HIT",
    ],
)
def test_what_no_header_can_begin_with_is_no_word(metric):
    assert not is_among(metric, ["answers_ratio of WORD"])


def test_a_word_of_a_header_is_told_as_the_header_has_it():
    outcome = asked(second_compare(), "better", metric="answers_ratio of HIT")
    assert outcome.final is not None
    arms = [
        structs.replace(
            with_figures(arm, **{"answers_ratio of HIT": counts.get("HIT", 0) / 100}),
            header_words=HeaderWords(name="X-Cache", counts=counts),
        )
        for arm, counts in zip(
            (outcome.final.a, outcome.final.b), ({"MISS": 100}, {"HIT": 97, "MISS": 3}), strict=True
        )
    ]
    final = structs.replace(outcome.final, a=arms[0], b=arms[1])
    outcome = structs.replace(outcome, final=final)
    text = shown(outcome)
    assert "share of answers with HIT: better, 1.21 × (1.10 … 1.34; 99.5 % confidence)" in text
    assert "share of answers with HIT is better: 1.21 ×" in page(outcome)
    (head,) = [
        n for n, line in enumerate(text.splitlines()) if "HIT  " in line and "memory" in line
    ]
    first, second = (" ".join(row.split()) for row in text.splitlines()[head + 1 : head + 3])
    assert (" 0 % MISS 100" in first, " 97 % HIT 97" in second) == (True, True)
    ratios = outcome_json(outcome)["final"]["ratios"]
    assert ratios["answers_ratio of HIT"]["ratio"] == 1.214


def test_where_something_is_claimed_of_words_each_start_takes_a_turn_for_them(study):
    method = structs.replace(study.method, **{"decides": "cold"} | PHASED)
    told = structs.replace(study, method=method, counted_header="X-Cache")
    claimed = structs.replace(told, objective=Objective(also=("answers_ratio of MISS",)))
    assert header_cost(claimed) == HeaderCost(each_s=7.0)
    a, b = study.start_configuration(), study.start_configuration()
    plain, planned = (compare_plan(each, a, b, seed=1) for each in (told, claimed))
    n_more = 2 * (study.method.min_starts - 1)
    assert least_s(planned) == pytest.approx(least_s(plain) + n_more * 7.0)
    notes = [
        "in a turn more of each start" in " ".join(map(str, plan_lines(p)))
        for p in (plain, planned)
    ]
    assert notes == [False, True]


@each_row(
    ("name", "metric", "hint"),
    [
        ("asp-bookmarks", HITS, "`[workload]` with `count_header = "),
        ("page-cache", "answers_ratio of HIT, MISS", "answers_ratio of WORD"),
        ("page-cache", "answers_ratio", "answers_ratio of WORD"),
        ("code-fragments", HITS, "cpu_s_per_call decides it"),
    ],
)
def test_what_a_study_has_no_figure_of_is_refused(name, metric, hint):
    with pytest.raises(UsageError) as caught:
        decided_by(open_study(name), metric)
    assert hint in caught.value.hint


def test_any_word_of_a_header_that_is_counted_decides_or_is_told_once():
    found = decided_by(open_study("page-cache"), "answers_ratio of TCP_HIT")
    assert found.objective.metric == "answers_ratio of TCP_HIT"
    assert "header words" in sources(found.objective.named)
    with pytest.raises(UsageError, match="cannot be told beside the metric"):
        with_also(found.objective, ["answers_ratio of TCP_HIT"], found.workload)
    told = with_also(found.objective, ["answers_ratio of hit"] * 2, found.workload)
    assert told.also == ("answers_ratio of hit",)


def test_a_study_file_may_have_a_word_that_decides_where_it_counts_a_header(tmp_path):
    folder = tmp_path / "study"
    shutil.copytree(Path(open_study("page-cache").folder), folder)
    file = folder / "study.toml"
    text = file.read_text()
    text = text.replace('metric = "cpu_s_per_request"', 'metric = "answers_ratio of MISS"')
    file.write_text(text)
    found = open_study(str(file))
    assert found.objective.named == {"answers_ratio of MISS", "cpu_s_per_request"}
    file.write_text(text.replace('count_header = "X-Cache"\n', ""))
    with pytest.raises(StudyFileError, match="expected a study that counts a header"):
        open_study(str(file))


@pytest.mark.parametrize(("start", "has_turn"), [(0, False), (3, False), (3, True)])
def test_a_turn_is_taken_in_each_start_where_it_is_claimed(study, monkeypatch, start, has_turn):
    assert turn_taken(study, monkeypatch, (start, has_turn), also=(HITS,)) == "each"


def test_lists_of_metrics_have_any_word():
    metrics = metrics_of(open_study("asp-bookmarks").workload)
    assert metrics_text(metrics).endswith(", answers_ratio of WORD, calls_per_request of KIND")
