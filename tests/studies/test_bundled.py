"""What holds of every bundled study."""

import json
import re
import runpy
import shlex
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.conftest import SKIPPED

from httpdyno.cli.app import run
from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.design.smoke_test import one_start, start_of_two
from httpdyno.model import level_text
from httpdyno.registry import load_adapter, load_target
from httpdyno.report.shared.message import joined, text
from httpdyno.servers.limits.limit_group import limits_complaint
from httpdyno.study.file import load_study

pytestmark = pytest.mark.usefixtures("no_looks")

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "python" / "httpdyno" / "studies"
NAMES = sorted(file.parent.name for file in STUDIES.glob("*/study.toml"))


@cache
def study_of(name):
    return load_study(STUDIES / name, lambda adapter: load_adapter(adapter).knobs())


def few_with_all(features):
    """Return names that have every feature between them, those with many first.

    Args:
        features: What each name has.
    """
    missing, chosen = set().union(*features.values()), []
    while missing:
        chosen.append(max(sorted(features), key=lambda name: len(features[name] & missing)))
        missing -= features[chosen[-1]]
    return sorted(chosen)


def of_server(study):
    """Return what a start of a study's servers asks of their adapters."""
    found: set[tuple[object, ...]] = set()
    for spec in (study.server, *study.server.companions):
        # Of Apache each module, too; what is written in braces depends on a knob.
        words = (word for value in spec.settings.values() for word in str(value).split())
        plain = (word for word in words if re.fullmatch(r"\w[\w:]*", word))
        asked = {*spec.settings, *vars_of(spec), *spec.command[:1], *plain}
        asked -= {"settings", "adapter", "folder", "name", "side", "when"}
        found |= {(spec.adapter, each) for each in asked}
    found |= {("companion", each.side, bool(each.when)) for each in study.server.companions}
    found |= {("limits", name) for _, each in study.limits for name in vars_of(each)}
    return found | {("a network", name) for name in vars_of(study.server.network)}


def vars_of(record):
    """Return the fields that say something."""
    names = () if record is None else record.__struct_fields__
    return [name for name in names if getattr(record, name)]


def of_phases(study):
    """Return what the phases of a study have, each alone."""
    return {name for phase in study.method.phases for name in vars_of(phase)} - {"name", "window_s"}


def every_one_if_asked(names, what_it_has):
    """Return names to start: few with all features, and all of them with `--every-study`."""
    few = few_with_all({name: what_it_has(study_of(name)) for name in names})
    return [
        pytest.param(name, marks=() if name in few else pytest.mark.every_study) for name in names
    ]


def test_the_page_of_studies_lists_every_study():
    page = (ROOT / "docs" / "studies.md").read_text("utf-8")
    listed = re.findall(r"^\| \[`([a-z-]+)`\]\((\S+)\)", page, re.M)
    folder = "../python/httpdyno/studies"
    assert sorted(listed) == [(name, f"{folder}/{name}/README.md") for name in NAMES]


def test_a_study_can_be_read_and_is_called_like_its_folder(subtests):
    for name in NAMES:
        with subtests.test(name):
            assert study_of(name).name == name


def test_the_readme_names_every_knob_with_its_start_and_says_how_to_run(subtests):
    for name in NAMES:
        with subtests.test(name):
            text = (STUDIES / name / "README.md").read_text("utf-8")
            assert f"httpdyno study run {name}" in text
            for knob in study_of(name).knobs:
                row = rf"\| `{knob.name}` \| {level_text(knob.start)} \|"
                assert re.search(row, text), knob.name


@pytest.mark.timeout(300)
def test_the_commands_of_the_readme_can_be_typed(subtests, capsys):
    for name in NAMES:
        with subtests.test(name):
            text = (STUDIES / name / "README.md").read_text("utf-8")
            commands = re.findall(r"^ {4,}httpdyno ((?:study run|compare) .*)$", text, re.MULTILINE)
            assert commands
            # Those within sentences may be broken into lines.
            commands += re.findall(r"`httpdyno\s+((?:study\s+run|compare)\s[^`]*)`", text)
            for command in dict.fromkeys(" ".join(each.split()) for each in commands):
                code = run([*shlex.split(command), "--dry-run"])
                assert code == 0, (command, capsys.readouterr().err)


def test_every_knob_says_why_it_should_help(subtests):
    for name in NAMES:
        with subtests.test(name):
            assert all(knob.why and knob.title for knob in study_of(name).knobs)


@pytest.mark.timeout(300)
def test_every_configuration_renders_and_the_plan_names_every_step(subtests, capsys):
    for name in NAMES:
        with subtests.test(name):
            study = study_of(name)
            assert run(["study", "run", name, "--dry-run"]) == 0
            said = " ".join(capsys.readouterr().out.split())
            assert ("cannot run here" in said) == bool(load_target(study).missing(study.server))
            for step in make_plan(study, seed=1).steps:
                assert (f"{step.to:g}" if study.method.kind == "sweep" else step.label) in said


@pytest.mark.real_server("apache2")
@pytest.mark.parametrize("is_far_end", [False, True], ids=["start", "far-end"])
@pytest.mark.parametrize(
    "name",
    every_one_if_asked(
        [name for name in NAMES if study_of(name).fragments is None], what_it_has=of_server
    ),
)
def test_a_real_start_has_what_was_asked_and_answers_right(name, is_far_end):
    study = study_of(name)
    if cannot := limits_complaint(limits for _, limits in study.limits):
        pytest.skip(text(cannot))
    if is_far_end:
        study = begun_with(
            study, {knob.name: knob.levels[-1] for knob in study.knobs if knob.levels}
        )
    found = started(study)
    assert all(answer.is_right for answer in found.answers), found.answers
    # What is in force is compared with what was asked before any answer; nothing may be left out.
    asked = study.of_server(study.start_configuration())
    # A limit that a knob sets is told once more, as what the kernel holds.
    assert found.effective.asked.keys() - {"limits.memory"} == asked.values.keys()


@pytest.mark.real_server("perl")
@pytest.mark.parametrize("name", [name for name in NAMES if study_of(name).fragments])
def test_every_body_of_code_can_be_called(name, capsys):
    study = study_of(name)
    if missing := load_target(study).missing(study.server):
        pytest.skip(SKIPPED + joined(missing))
    assert run(["study", "check", name, "--json", "-"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {each["status"] for each in said["bodies"]} == {"complete"}
    assert len(said["bodies"]) == len(make_plan(study, seed=1).steps) + 1


@pytest.mark.real_server("apache2")
def test_a_script_that_loses_its_query_is_no_gain():
    study = study_of("mount-style")
    [candidate] = study.candidates
    [answer] = started(begun_with(study, candidate.values)).answers
    assert (answer.status, answer.is_right) == (200, False)


@pytest.mark.real_server("apache2")
def test_a_handler_under_modperl_is_not_made_to_have_the_environment_of_cgi():
    study = begun_with(study_of("mount-style"), {"mount": "handler-modperl"})
    rendered = load_target(study).render(
        study.server, Path(study.folder), study.start_configuration()
    )
    assert not [name for name, text in rendered.files.items() if "+SetupEnv" in text]


@pytest.mark.real_server("apache2")
def test_a_client_who_is_kept_out_for_want_of_a_name_is_no_gain():
    study = study_of("hostname-lookups")
    [candidate] = [each for each in study.candidates if each.name == "host and dead"]
    [answer] = started(begun_with(study, candidate.values)).answers
    assert (answer.status, answer.is_right) == (403, False)


@pytest.mark.real_server("apache2")
def test_a_module_that_another_brought_along_is_not_told_as_one_of_the_list():
    found = started(begun_with(study_of("preload-list"), {"encode": "yes"}))
    assert found.effective.values["encode"] == "yes"
    assert found.effective.values["storable"] == "no"
    assert found.effective.values["came along"] == "Storable.pm, by Encode.pm"


ACTING = [name for name in NAMES if any(p.command for p in study_of(name).method.phases)]


@pytest.mark.real_server("apache2")
@pytest.mark.parametrize("name", every_one_if_asked(ACTING, what_it_has=of_phases))
def test_what_its_phases_run_can_be_run_and_costs_no_answer(name):
    study = study_of(name)
    adapter, method = load_target(study), study.method
    if missing := adapter.missing(study.server):
        pytest.skip(SKIPPED + joined(missing))
    # What comes under load comes before the load is over.
    short = [
        replace(p, window_s=0.3 + (p.at_s or 0.0), pause_s=min(p.pause_s, 1.0))
        for p in method.phases
    ]
    study = replace(study, method=replace(method, phases=tuple(short), blocks_per_start=1))
    record = start_of_two(adapter, study, seed=5)
    assert record.statuses == ("complete", "complete"), record.details
    for window in record.windows:
        beside = window.measurement.beside.values()
        assert window.measurement.completed == window.measurement.offered > 0
        assert all(each.completed == each.offered > 0 for each in beside), beside


def begun_with(study, levels):
    knobs = tuple(replace(knob, start=levels.get(knob.name, knob.start)) for knob in study.knobs)
    return replace(study, knobs=knobs)


def started(study):
    """Return what one start showed; skip where something of the study is not installed."""
    adapter = load_target(study)
    if missing := adapter.missing(study.server):
        pytest.skip(SKIPPED + joined(missing))
    return one_start(adapter, study)


def test_the_bookmarks_workload_asks_as_visitors_that_are_seeded():
    seeded = runpy.run_path(str(STUDIES / "bookmarks" / "app" / "seed.py"))["owners"]()

    for request in study_of("bookmarks").workload.requests:
        assert dict(request.headers)["Cookie"].removeprefix("bookmarks_session=") in seeded
