"""`httpdyno book` of advice without figures: what stored runs say of it, and its studies' runs."""

import json
import shlex
from types import SimpleNamespace

import pytest
from msgspec import structs
from tests.book.asked import host
from tests.report.sample_figures import HOST, arm, comparison

from httpdyno import __version__
from httpdyno.book import advice as advised
from httpdyno.book import run as book_run
from httpdyno.book.advice import (
    Told,
    advice,
    advice_here,
    all_advice,
    change_of,
    run_advice,
    told_of,
)
from httpdyno.book.result import UnderWay, keep_under_way, under_way
from httpdyno.catalog import open_study
from httpdyno.cli import book as command
from httpdyno.cli.app import run
from httpdyno.errors import StoreError
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.model import LadderStep, Outcome
from httpdyno.store import Store
from httpdyno.study.objective import decided_by

NAME = "database-connection"
STUDY = open_study(NAME)
START = STUDY.start_configuration()
KEPT = START.with_values({"persistent": True})
CACHED = KEPT.with_values({"statement": "cached"})
CHANGE = change_of(next(each for each in all_advice() if each.name == NAME), STUDY)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("HTTPDYNO_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


def said(capsys, line, code=0):
    assert run(shlex.split(line)) == code
    return capsys.readouterr()


def compared(a, b, ratio):
    sides = (arm(dict(a.values), 100.0), arm(dict(b.values), 100.0 * ratio))
    return comparison(0, *sides, "better", "the whole interval is above 1")


def outcome_of(plan, *pairs, final=None):
    """Return an outcome with a step for each pair of configurations and the ratio of both."""
    steps = tuple(
        LadderStep(title="", knob="persistent", after=True, comparison=compared(*pair), kept=True)
        for pair in pairs
    )
    return Outcome(
        id="1",
        status="complete",
        plan=plan,
        host=HOST,
        began_at="2026-01-02T03:04:05+00:00",
        duration_s=41.5,
        steps=steps,
        final=final,
    )


def ladder(ratio=1.5):
    """Return an outcome of the study's own method."""
    return outcome_of(make_plan(STUDY, seed=7), (START, KEPT, ratio), (KEPT, CACHED, 1.1))


def pair(a, b, ratio=2.0):
    """Return an outcome of `compare`."""
    return outcome_of(compare_plan(STUDY, a, b, seed=7), final=compared(a, b, ratio))


def kept(*outcomes):
    with Store.open() as store:
        for outcome in outcomes:
            run_id = store.create_run(outcome.plan, outcome.host)
            store.save_outcome(run_id, structs.replace(outcome, id=run_id))


def here():
    each = advice(NAME)
    assert each is not None
    return advice_here([each])[0]


def test_what_was_never_run_is_not_measured_and_asking_makes_no_store(folder):
    found = here()
    assert (found.now, found.claim) == (None, "persistent → true")
    assert not (folder / "data").exists()


def test_the_newest_run_that_compared_just_that_change_is_told():
    other = structs.replace(STUDY, folder="/somewhere/of/mine")
    plan = make_plan(STUDY, seed=7)
    method = structs.replace(STUDY.method, decides="cold")
    of_phase = structs.replace(plan, study=structs.replace(plan.study, method=method))
    of_metric = make_plan(decided_by(STUDY, "pss_bytes"), seed=7)
    kept(
        ladder(1.4),
        ladder(1.5),
        # None of these says it: another change, a start of its own, a copy of the study, a phase
        # or a metric that the study does not decide by.
        outcome_of(make_plan(STUDY, seed=7), (KEPT, CACHED, 9.0)),
        pair(START, CACHED, 9.0),
        pair(START.with_values({"statement": "cached"}), CACHED, 9.0),
        outcome_of(make_plan(other, seed=7), (START, KEPT, 9.0)),
        outcome_of(of_phase, (START, KEPT, 9.0)),
        outcome_of(of_metric, (START, KEPT, 9.0)),
    )
    now = here().now
    assert now is not None
    assert (now.run_id, now.verdict, now.metric) == ("2", "better", "throughput_per_s")
    assert now.ratio == pytest.approx(1.5)
    assert now.says.startswith("throughput 1.50 × (1.4")
    assert now.n_starts == 6


def test_a_comparison_of_the_study_s_start_with_that_change_is_one_too():
    kept(ladder(1.5), pair(START, KEPT, 2.0))
    now = here().now
    assert now is not None
    assert now.ratio == pytest.approx(2.0)


def test_what_a_ladder_had_kept_before_is_told():
    cached = next(step for step in make_plan(STUDY, seed=7).steps if step.knob == "statement")
    now = told_of(ladder(), NAME, cached)
    assert now is not None
    assert now.says.endswith("; over the best so far, persistent=true")
    first = told_of(ladder(), NAME, CHANGE)
    assert first is not None
    assert "so far" not in first.says


def test_a_change_that_no_figure_could_be_had_of_is_left_to_an_others_run():
    [step, _] = ladder().steps
    unmeasured = structs.replace(step.comparison, verdict="not_measured")
    outcome = structs.replace(ladder(), steps=(structs.replace(step, comparison=unmeasured),))
    assert told_of(outcome, NAME, CHANGE) is None


def test_a_run_that_cannot_be_read_hides_no_other(monkeypatch):
    kept(ladder(1.5), ladder(1.6))
    whole = Store.outcome

    def outcome(store, run_id):
        if run_id == "2":
            raise StoreError("stored by another version")
        return whole(store, run_id)

    monkeypatch.setattr(Store, "outcome", outcome)
    now = here().now
    assert now is not None
    assert now.run_id == "1"


def test_the_list_the_sheet_the_page_and_the_json_have_it(capsys, folder):
    kept(ladder(1.5))
    out = said(capsys, "book").out
    assert out.index("Advice without figures") > out.index("disk-cache-dynamic-php")
    assert "now: persistent → true: better; throughput 1.50 ×" in out
    assert f"of {len(all_advice())} pieces of advice without figures 1 are measured; " in out
    sheet = said(capsys, f"book show {NAME}").out
    assert "mod_perl tutorial, 2.23" in sheet
    assert "httpdyno report 1" in sheet
    rows = json.loads(said(capsys, "book --json -").out)["advice"]
    assert [row["name"] for row in rows] == [each.name for each in all_advice()]
    row = json.loads(said(capsys, f"book show {NAME} --json -").out)
    assert row.pop("httpdyno") == __version__
    assert row in rows
    assert {*row} >= {"chapter", "study", "runnable", "reason", "says", "now", "measured_at"}
    assert row["now"]["ratio"] == pytest.approx(1.5)
    page = folder / "book.html"
    said(capsys, f"book report --html {page}")
    text = page.read_text()
    assert text.count('class="experiment advice"') == len(all_advice())
    assert "persistent → true: throughput" in text.replace("\N{NO-BREAK SPACE}", " ")


def told(name):
    return Told(
        name=name,
        claim="persistent → true",
        verdict="better",
        badge="better",
        says="throughput 1.50 × (1.4 … 1.6)",
        measured_at="2999-01-01T00:00:00+00:00",
        run_id="1",
    )


@pytest.fixture
def asked(monkeypatch):
    """Let one experiment and one advice run here; return what was asked: name, budget, seed."""
    can = {"pool-sizing-examples": "", NAME: ""}
    monkeypatch.setattr(book_run, "reason_not", lambda each: can.get(each.name, "no package"))
    monkeypatch.setattr(advised, "_reason_not", lambda study: can.get(study.name, "no package"))
    monkeypatch.setattr(command, "taken_anew", lambda: SimpleNamespace(card=None))
    calls: list[tuple[str, float, int]] = []

    def run_advice(one, _host, *, budget_s, seed):
        calls.append((one.name, budget_s, seed))
        return told(one.name)

    def run_experiment(ask, _card):
        calls.append((ask.each.name, ask.budget_s, ask.seed))
        raise KeyboardInterrupt

    monkeypatch.setattr(book_run, "run_advice", run_advice)
    monkeypatch.setattr(book_run, "run_experiment", run_experiment)
    return calls


def test_an_advice_is_run_by_its_name_within_its_study_s_budget_or_another(capsys, asked):
    out = said(capsys, f"book run {NAME} --seed 5").out
    assert asked == [(NAME, STUDY.budget_s, 5)]
    assert "better; throughput 1.50 ×" in out
    rows = json.loads(said(capsys, f"book run {NAME} --seed 5 --budget 30s --json -").out)
    assert asked[1][1] == pytest.approx(30.0, abs=0.1)
    assert [row["name"] for row in rows["advice"]] == [NAME]
    assert rows["experiments"] == []


def test_all_are_the_tables_and_with_advice_the_advice_too(capsys, asked):
    said(capsys, "book run --all --seed 5", code=130)
    assert [name for name, _, _ in asked] == ["pool-sizing-examples"]
    asked.clear()
    err = said(capsys, "book run --all --advice --seed 5", code=130).err
    assert "left out: tls-keep-alive: no package" in err
    assert "0 of 2 are measured" in err
    before = under_way()
    assert before is not None
    assert before.has_advice


def test_one_that_goes_on_has_the_advice_where_it_was_begun_with_it(capsys, asked):
    began_at = "2026-01-01T00:00:00+00:00"
    keep_under_way(UnderWay(began_at=began_at, seed=9, has_advice=True))
    kept(structs.replace(ladder(), began_at="2026-01-02T00:00:00+00:00"))
    said(capsys, "book run --all --resume", code=130)
    assert [name for name, _, _ in asked] == ["pool-sizing-examples"]
    keep_under_way(UnderWay(began_at="2027-01-01T00:00:00+00:00", seed=9, has_advice=True))
    err = said(capsys, "book run --all --resume", code=130).err
    assert "1 of 2: pool-sizing-examples" in err


def test_what_cannot_run_is_said(capsys, asked):
    err = said(capsys, "book run tls-keep-alive", code=2).err
    assert "tls-keep-alive cannot be run here: no package" in err


@pytest.fixture
def ran(monkeypatch):
    """Return the plans that were run, each with an outcome that says nothing of the change."""
    plans = []

    def outcome(plan):
        plans.append(plan)
        return outcome_of(plan)

    monkeypatch.setattr(advised, "rehearse", lambda _plan, _adapter: ())
    return host(outcome), plans


def test_a_run_that_did_not_come_to_the_change_says_so(ran):
    by, plans = ran
    now = run_advice(here(), by, budget_s=33.0, seed=4)
    assert (now.verdict, now.says) == ("not_measured", "the time was over before it")
    [plan] = plans
    assert (plan.study.budget_s, plan.seed, plan.command) == (33.0, 4, "tune")


@pytest.mark.usefixtures("ran")
def test_an_interrupted_run_ends_all():
    cut = structs.replace(ladder(), status="interrupted")
    with pytest.raises(KeyboardInterrupt):
        run_advice(here(), host(lambda _plan: cut), budget_s=33.0, seed=4)
