"""`httpdyno study`, `tune` and `compare` up to the point where servers are started."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.report.sample import ladder, sweep

from httpdyno.catalog import bundled_studies, open_study
from httpdyno.cli import launch
from httpdyno.cli.app import run
from httpdyno.cli.compare import parse_configuration
from httpdyno.cli.launch import Resumed
from httpdyno.errors import UsageError
from httpdyno.experiment.design.plan import MAX_STARTS, make_plan
from httpdyno.model import Configuration
from httpdyno.store import Store


@pytest.fixture
def plans(monkeypatch):
    """Keep the plans that would be run, and run none."""
    kept: list[tuple[Any, Any, Any]] = []

    def keep(plan: Any, outputs: Any, *, resume: Any = None) -> int:
        kept.append((plan, outputs, resume))
        return 0

    monkeypatch.setattr(launch, "run_and_report", keep)
    return kept


def test_the_bundled_studies_are_listed(capsys):
    assert run(["study", "list", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["studies"]
    assert {row["name"] for row in rows} == set(bundled_studies())
    assert all(row["title"] and row["budget_s"] > 0 for row in rows)


@pytest.mark.timeout(300)
def test_a_study_can_be_shown_at_80_columns(subtests, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name in bundled_studies():
        with subtests.test(name):
            assert run(["study", "show", name]) == 0
            out = capsys.readouterr().out
            assert max(map(len, out.splitlines())) <= 80
            study = open_study(name)
            assert all(knob.name in out.replace("\n", "") for knob in study.knobs[:1])
            sets = (Configuration(values=each.values).label() for each in study.candidates)
            parts = {part for each in sets for part in each.split(", ") if " " not in part}
            assert parts <= set(re.split(r"[\s,]+", out)), "a number that is cut is another one"


def test_a_study_is_shown_with_its_hard_limits_and_no_unit_of_no_levels(capsys):
    assert run(["study", "show", "lesser-evil"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "limits memory {knob.ceiling}" in lines
    [limit] = [line for line in lines if line.startswith("limit_kb ")]
    assert limit.startswith("limit_kb 0 Apache2::SizeLimit")


def test_a_study_is_shown_with_its_phases_and_which_of_them_decides(capsys):
    assert run(["study", "show", "burst"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "quiet: 3.00 s of load at 2/s; first second: 1.00 s of load" in shown
    assert "`first second` decides" in shown


@pytest.mark.timeout(300)
def test_a_study_can_be_shown_as_json(subtests, capsys):
    for name in bundled_studies():
        with subtests.test(name):
            assert run(["study", "show", name, "--json", "-"]) == 0
            assert json.loads(capsys.readouterr().out)["name"] == name


def test_the_schema_is_one_of_objects(capsys):
    assert run(["study", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert "$ref" in schema or schema["type"] == "object"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", [["tune"], ["study", "run"]])
def test_a_dry_run_says_what_it_would_do_and_does_nothing(subtests, plans, capsys, command):
    for name in bundled_studies():
        with subtests.test(name):
            assert run([*command, name, "--dry-run", "--seed", "7"]) == 0
            out = capsys.readouterr().out
            assert max(map(len, out.splitlines())) <= 80
            assert name in out
            assert "seed 7" in out
            assert plans == []
            with Store.open() as store:
                assert store.runs() == []


def test_a_dry_run_can_be_json(capsys):
    assert run(["tune", "bookmarks", "--dry-run", "--json", "-", "--budget", "90s"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["study"]["budget_s"] == 90
    assert plan["steps"]


def test_a_run_has_the_budget_and_seed_given(plans):
    assert run(["tune", "bookmarks", "--budget", "2m", "--seed", "5", "--html", "x.html"]) == 0
    [(plan, outputs, resume)] = plans
    assert (plan.study.budget_s, plan.seed) == (120.0, 5)
    assert outputs.html == "x.html"
    assert resume is None


EACH = [
    ["tune", "bookmarks"],
    ["study", "run", "bookmarks"],
    ["compare", "bookmarks", "--b", "workers=4"],
    ["demo"],
]


@pytest.mark.parametrize("words", EACH, ids=lambda words: words[0])
def test_decisions_can_end_a_run_instead_of_a_budget(plans, words):
    assert run([*words, "--until-decided"]) == 0
    assert plans[0][0].study.is_until_decided


@pytest.mark.parametrize("words", EACH, ids=lambda words: words[0])
def test_a_time_and_no_time_exclude_each_other(plans, capsys, words):
    assert run([*words, "--until-decided", "--budget", "3m"]) == 2
    error, _, hint = capsys.readouterr().err.splitlines()
    assert error == "error: `--budget 3m` and `--until-decided` exclude each other"
    assert hint.endswith("give one of them")
    assert plans == []


def test_a_plan_that_decisions_end_says_so(capsys):
    assert run(["tune", "bookmarks", "--until-decided", "--dry-run", "--seed", "7"]) == 0
    out = capsys.readouterr().out
    assert f"budget    until decided, or out of reach of {MAX_STARTS} starts, seed 7" in out
    assert run(["tune", "bookmarks", "--until-decided", "--dry-run", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["study"]["budget_s"] is None


def test_the_help_and_the_page_have_the_most_starts(capsys):
    assert run(["compare", "--help"]) == 0
    page = Path(__file__).parents[2] / "docs" / "proof.md"
    for text in (capsys.readouterr().out, page.read_text()):
        assert f"{MAX_STARTS} starts" in " ".join(text.split())


def test_a_sweep_is_not_ended_by_decisions(plans, capsys):
    assert run(["study", "run", "maxclients", "--until-decided"]) == 2
    error, _, hint = capsys.readouterr().err.splitlines()
    assert "study maxclients is a sweep" in error
    assert "`--budget`" in hint
    assert plans == []


def test_a_stored_run_goes_on_until_decided_and_keeps_that(plans):
    outcome = ladder()
    with Store.open() as store:
        run_id = store.create_run(outcome.plan, outcome.host)
        assert run(["tune", "--resume", run_id, "--until-decided"]) == 0
        [(plan, _, _)] = plans
        assert plan.study.is_until_decided
        store.replan(run_id, plan)
    assert run(["tune", "--resume", run_id]) == 0
    assert plans[1][0] == plan
    assert run(["tune", "--resume", run_id, "--budget", "10m"]) == 0
    assert plans[2][0].study.budget_s == 600


def test_a_stored_sweep_does_not_go_on_until_decided(plans, capsys):
    outcome = sweep()
    with Store.open() as store:
        run_id = store.create_run(outcome.plan, outcome.host)
    assert run(["study", "run", "--resume", run_id, "--until-decided"]) == 2
    assert "is a sweep" in capsys.readouterr().err
    assert plans == []


def test_a_run_without_a_seed_records_a_new_one(plans):
    for _ in range(2):
        run(["tune", "bookmarks"])
    assert plans[0][0].seed != plans[1][0].seed


def test_the_demo_is_the_bookmarks_study_with_a_report_here(plans):
    assert run(["demo"]) == 0
    [(plan, outputs, _)] = plans
    assert plan.study.name == "bookmarks"
    # With the build before it, the first command is to end within four minutes.
    assert plan.study.budget_s == 180
    assert str(outputs.html_path("3")) == "httpdyno-bookmarks-3.html"


def test_a_run_is_resumed_by_its_id_alone(plans):
    outcome = ladder()
    with Store.open() as store:
        run_id = store.create_run(outcome.plan, outcome.host)
    assert run(["study", "run", "--resume", run_id]) == 0
    [(plan, _, resume)] = plans
    assert (plan, resume) == (outcome.plan, Resumed(run_id=run_id))


def test_a_run_of_a_study_given_by_path_is_resumed_with_that_path(plans, tmp_path):
    outcome = ladder()
    with Store.open() as store:
        run_id = store.create_run(outcome.plan, outcome.host)
    folder = tmp_path / "elsewhere"
    shutil.copytree(bundled_studies()["bookmarks"].parent, folder)
    file = folder / "study.toml"
    file.write_text(
        file.read_text().replace('name = "bookmarks"', f'name = "{outcome.plan.study.name}"')
    )
    assert run(["study", "run", str(folder), "--resume", run_id]) == 0
    assert plans[0][2].run_id == run_id


def test_a_run_is_resumed_by_its_id_where_its_study_file_has_a_name_of_its_own(tmp_path):
    shutil.copytree(bundled_studies()["bookmarks"].parent, tmp_path / "mine")
    file = (tmp_path / "mine" / "study.toml").rename(tmp_path / "mine" / "first.toml")
    file.write_text(file.read_text().replace('name = "bookmarks"', 'name = "mine"'))
    plan = make_plan(open_study(str(file)), seed=1)
    found = launch._study_as_it_is(launch.Request(study=None, resume="1"), plan)
    assert (found.name, found.file) == ("mine", "first.toml")


def test_a_resumed_run_keeps_its_seed(plans, capsys):
    assert run(["tune", "--resume", "1", "--seed", "1"]) == 2
    assert "its own seed" in capsys.readouterr().err


def test_a_run_whose_budget_was_too_short_can_be_resumed_with_another(plans):
    outcome = ladder()
    with Store.open() as store:
        run_id = store.create_run(outcome.plan, outcome.host)
    assert run(["tune", "--resume", run_id, "--budget", "10m"]) == 0
    [(plan, _, resume)] = plans
    assert (plan.study.budget_s, plan.seed) == (600.0, outcome.plan.seed)
    assert resume.run_id == run_id


def test_a_run_of_another_study_is_not_resumed(plans, capsys):
    outcome = ladder()
    with Store.open() as store:
        run_id = store.create_run(outcome.plan, outcome.host)
    assert run(["study", "run", "maxclients", "--resume", run_id]) == 2
    assert "not `maxclients`" in capsys.readouterr().err
    assert plans == []


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["tune"], 2, "no study was named"),
        (["tune", "bokmarks"], 2, "`bokmarks` is neither a bundled study nor a file"),
        (["tune", "bookmarks", "--budget", "0s"], 2, "no time at all"),
        (["tune", "bookmarks", "--budget", "soon"], 2, "`--budget soon` is not a duration"),
        (["tune", "bookmarks", "--seed", "-1"], 2, "a seed of -1"),
        (["tune", "bookmarks", "--html", "-"], 2, "not stdout"),
        (["tune", "--resume", "99"], 3, "99"),
        (["tune", "bookmarks", "--accept-changes"], 2, "`--accept-changes` is for a run that goes"),
        (["compare", "bookmarks", "--b", "wrokers=2"], 2, "`wrokers=2`"),
        (["compare", "bookmarks", "--b", "workers"], 2, "`workers`"),
        (["compare", "bookmarks", "--b", "workers=many"], 2, "`many`"),
        (["compare", "bookmarks", "--b", "workers=-1"], 2, "expected at least"),
        (["compare", "bookmarks"], 2, "missing option"),
        (
            ["compare", "bookmarks", "--a", "workers=2", "--a", "threads=4", "--b", "threads=2"],
            2,
            "was given 2 times",
        ),
        (
            ["compare", "bookmarks", "--b", "workers=2", "--b", "threads=1,workers=2"],
            2,
            "b1 and `threads=1,workers=2` are the same configuration",
        ),
        (
            ["compare", "bookmarks", "--b", "workers=2", "--b", "workers=1", "--same"],
            2,
            "a and b2 are the same configuration",
        ),
        (["compare", "bookmarks", "--b", "workers=2,workers=4"], 2, "sets workers twice"),
    ],
)
def test_bad_input_is_one_sentence_before_any_server(plans, capsys, words, code, sentence):
    assert run(words) == code
    error, *_ = capsys.readouterr().err.splitlines()
    assert error.startswith("error: ")
    assert sentence in error
    assert plans == []


def test_an_unknown_knob_names_the_nearest(capsys):
    assert run(["compare", "bookmarks", "--b", "wrokers=2"]) == 2
    assert "hint: did you mean `workers`?" in capsys.readouterr().err


def test_an_impossible_workload_is_refused_when_it_is_shown(tmp_path, capsys):
    text = bundled_studies()["maxclients"].read_text()
    shutil.copytree(bundled_studies()["maxclients"].parent, tmp_path / "study")
    file = tmp_path / "study" / "study.toml"
    file.write_text(text.replace("connections = 300", "connections = 2000000"))
    assert run(["study", "show", str(file)]) == 2
    assert "workload.connections is 2000000; expected 1 to 1000000" in capsys.readouterr().err


def test_a_typing_error_in_a_study_file_names_file_and_key(tmp_path, capsys):
    text = bundled_studies()["bookmarks"].read_text().replace("[budget]", "[budgett]")
    file = tmp_path / "study.toml"
    file.write_text(text)
    assert run(["study", "show", str(file)]) == 2
    error = capsys.readouterr().err.splitlines()[0]
    assert str(file) in error
    assert "budget" in error


def test_a_comparison_names_only_what_differs(plans):
    assert run(["compare", "bookmarks", "--a", "workers=1", "--b", "workers=4"]) == 0
    [(plan, _, _)] = plans
    a, b = plan.compare
    assert plan.command == "compare"
    assert a.changes(b) == {"workers": (1, 4)}
    start = open_study("bookmarks").start_configuration()
    assert set(start.changes(a)) <= {"workers"}


def test_the_reference_is_the_start_unless_it_is_named(plans):
    assert run(["compare", "bookmarks", "--b", "workers=4"]) == 0
    assert plans[0][0].compare[0] == open_study("bookmarks").start_configuration()
    assert plans[0][0].study.budget_s == 60


def test_two_references_are_not_made_one_and_the_way_out_says_how_to_give_one(plans, capsys):
    assert (
        run(["compare", "bookmarks", "--b", "threads=4", "--a", "workers=2", "--a", "debug=false"])
        == 2
    )
    said = capsys.readouterr().err
    assert "`workers=2` and `debug=false`" in said
    assert "`--a workers=2,debug=false`" in said
    assert plans == []


def test_a_value_outside_the_knobs_domain_is_refused():
    with pytest.raises(UsageError, match="outside the knob's domain"):
        parse_configuration("workers=0", open_study("bookmarks"))


@pytest.mark.parametrize(
    ("study", "text", "words"),
    [
        ("slow-backend", "connections=0", "`connections=0` makes a load that cannot be: .* is 0"),
        ("request-path", "path=news", "`path=news` makes a load that cannot be"),
        ("keep-alive", "objects=13", "a page of 13 objects, of which 12 are listed"),
        ("compression-slow-line", "slow=modem", "`modem` is not a bandwidth"),
    ],
)
def test_a_load_that_cannot_be_is_refused_before_a_run(study, text, words):
    with pytest.raises(UsageError, match=words):
        parse_configuration(text, open_study(study))


def test_candidates_are_shown_with_what_they_set(capsys, tmp_path):
    text = bundled_studies()["bookmarks"].read_text().replace("format = 1", "format = 2")
    shutil.copytree(bundled_studies()["bookmarks"].parent, tmp_path / "own")
    candidate = '\n[[candidates]]\nname = "wide"\nset = { workers = 3, debug = false }\n'
    (tmp_path / "own" / "study.toml").write_text(text + candidate)
    assert run(["study", "show", str(tmp_path / "own")]) == 0
    out = capsys.readouterr().out
    assert "candidates, several knobs at once" in out
    assert "wide" in out
    assert "workers=3, debug=false" in out


def test_several_candidates_are_each_compared_with_a(plans, capsys, tmp_path):
    text = bundled_studies()["bookmarks"].read_text().replace("format = 1", "format = 2")
    shutil.copytree(bundled_studies()["bookmarks"].parent, tmp_path / "own")
    candidate = '\n[[candidates]]\nname = "wide"\nset = { workers = 3, debug = false }\n'
    (tmp_path / "own" / "study.toml").write_text(text + candidate)
    words = ["compare", str(tmp_path / "own"), "--a", "debug=false", "--budget", "3m"]
    asked = ["--b", "workers=2", "--b", "wide", "--b", "wide, threads=2"]
    assert run([*words, *asked, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "each      with 98.33% confidence" in out
    assert run([*words, *asked]) == 0
    [(plan, _, _)] = plans
    assert plan.study.budget_s == 180.0
    assert [(step.candidate, step.set) for step in plan.steps] == [
        ("b1", {"debug": True, "workers": 2}),
        ("wide", {"workers": 3}),
        ("b3", {"workers": 3, "threads": 2}),
    ]
    assert plan.reference.values["debug"] is False
    assert run([*words, "--b", "wide"]) == 0
    assert plans[-1][0].compare[1].values["workers"] == 3
