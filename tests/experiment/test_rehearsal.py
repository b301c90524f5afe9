"""What is refused before any server is started."""

import os

import pytest

from httpdyno.catalog import bundled_studies, open_study
from httpdyno.cli.app import run
from httpdyno.errors import HttpdynoError, StudyFileError, UsageError
from httpdyno.experiment.design import smoke_test as rehearsal
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.experiment.design.smoke_test import rehearse
from httpdyno.model import Study
from httpdyno.registry import load_adapter, load_target
from httpdyno.servers.adapter import Rendered
from httpdyno.servers.stack.templates import TemplateStack

STUDY = """
format = 1
name = "shop"
title = "A shop"

[server]
adapter = "gunicorn"
base = "base.py"

[server.settings]
application = "shop:application"
directory = "app"
colour = "red"

[server.environment]
MOOD = "{{ knob.mood }}"

[[server.files]]
from = "shop.py"
to = "app/shop.py"

[[knobs]]
name = "workers"
start = 1
levels = [2]

[[knobs]]
name = "mood"
start = "good"
levels = ["bad"]

[workload]
connections = 2

[budget]
time = "1m"
"""
BASE = "colour = '{{ setting.colour }}'\n"


@pytest.fixture
def study(tmp_path):
    def write(text: str = STUDY, base: str = BASE) -> Study:
        (tmp_path / "study.toml").write_text(text)
        (tmp_path / "base.py").write_text(base)
        (tmp_path / "shop.py").write_text("application = None\n")
        return open_study(str(tmp_path))

    return write


def rehearsed(study):
    return rehearse(make_plan(study, seed=1), TemplateStack(load_adapter("gunicorn")))


@pytest.mark.timeout(300)
def test_every_level_of_the_bundled_studies_does_something(subtests):
    for name in bundled_studies():
        with subtests.test(name):
            found = open_study(name)
            notes = rehearse(make_plan(found, seed=1), load_target(found))
            assert all(note.code == "experiment.looked_at_nothing" for note in notes)


def test_a_study_that_asks_something_is_let_through(study):
    assert rehearsed(study()) == ()


class OfVariables(TemplateStack):
    """A gunicorn whose knobs all are variables that the adapter itself sets, as a site's may be."""

    def __init__(self, names):
        super().__init__(load_adapter("gunicorn"))
        self._names = names

    def render(self, spec, study_folder, configuration):
        del spec, study_folder
        return Rendered(
            files={}, environment={n: str(configuration.values[n]) for n in self._names}
        )


def test_a_variable_that_the_adapter_sets_is_a_difference(study):
    text = STUDY.replace('colour = "red"\n', "")
    plan = make_plan(study(text, base=""), seed=1)
    assert rehearse(plan, OfVariables(["workers"])) == ()
    with pytest.raises(StudyFileError, match="1 and 2 of knob workers render the same"):
        rehearse(plan, OfVariables([]))


def test_what_no_budget_mends_is_told_before_the_budget(study):
    short = STUDY.replace('time = "1m"', 'time = "5s"')
    same = short.replace('MOOD = "{{ knob.mood }}"', 'MOOD = "knob.mood"')
    with pytest.raises(StudyFileError, match="render the same"):
        rehearsed(study(same))


def test_a_table_s_row_that_does_nothing_by_itself_is_refused(study):
    text = STUDY.replace("{{ knob.mood }}", "{{ knob.mood if knob.workers == 2 else 'good' }}")
    assert rehearsed(study(text.replace('colour = "red"\n', ""), base="")) == ()
    table = text.replace('colour = "red"\n', "") + '[method]\nkind = "table"\n'
    with pytest.raises(StudyFileError, match="mood good → bad changes nothing"):
        rehearsed(study(table, base=""))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('MOOD = "{{ knob.mood }}"', 'MOOD = "knob.mood"', "good and bad of knob mood render the"),
        (
            'MOOD = "{{ knob.mood }}"',
            "MOOD = \"{{ 'x' if knob.mood == 'worse' else 'y' }}\"",
            "good and bad of knob mood render the same: the server would be the same",
        ),
        ('MOOD = "{{ knob.mood }}"', 'MOOD = "{{ knob.mod }}"', "'knob.mod' is undefined"),
        ('name = "workers"', 'name = "wrokers"', "1 and 2 of knob wrokers render the same"),
        ('directory = "app"', 'direcotry = "app"', "server.settings.direcotry does nothing"),
        ('colour = "red"', "threads = 4", "server.settings.threads does nothing"),
        ('to = "app/shop.py"', 'to = "../shop.py"', "leads out of the run folder"),
        (
            'to = "app/shop.py"',
            'to = "elsewhere/shop.py"',
            "module `shop` is neither",
        ),
        ("shop:application", "shopp:application", "module `shopp` is neither installed nor"),
        ('"shop.py"\nto', '"/nowhere/shop.py"\nto', "`/nowhere/shop.py`, which is not there"),
        ('time = "1m"', 'time = "5s"', "a budget of 5.00 s is too short: one step takes 6 starts"),
        ("connections = 2", "connections = 2000000000", "workload.connections is 2000000000"),
        (
            "connections = 2",
            'connections = 2\n[[workload.requests]]\npath = "/"\nheaders = { "a b" = "c" }',
            "`a b` is not a header's name",
        ),
    ],
)
def test_what_cannot_come_to_anything_is_refused_by_name(study, before, after, said):
    assert before in STUDY
    base = BASE if "colour" in STUDY.replace(before, after) else ""
    with pytest.raises(HttpdynoError) as caught:
        rehearsed(study(STUDY.replace(before, after), base))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "hint"),
    [
        ('name = "workers"', 'name = "wrokers"', "did you mean `workers`?"),
        ('directory = "app"', 'direcotry = "app"', "did you mean `directory`?"),
        ('colour = "red"', "threads = 4", "`threads` is a knob of gunicorn: give it a [[knobs]]"),
    ],
)
def test_the_hint_names_what_was_probably_meant(study, before, after, hint):
    base = BASE if "colour" in STUDY.replace(before, after) else ""
    with pytest.raises(StudyFileError) as caught:
        rehearsed(study(STUDY.replace(before, after), base))
    assert hint in caught.value.hint


def test_two_words_for_one_line_are_one_load(study):
    knob = '[[knobs]]\nname = "slow"\nof = "load"\nstart = "none"\nlevels = {}\n\n[workload]'
    both = STUDY.replace("[workload]", knob.format('["1Mbit", "1000kbit:100%"]'))
    with pytest.raises(StudyFileError, match="render the same: the load would be the same"):
        rehearsed(study(both))
    assert rehearsed(study(STUDY.replace("[workload]", knob.format('["1Mbit"]')))) == ()


def test_a_knob_that_only_works_beside_another_is_let_through(study):
    text = STUDY.replace("{{ knob.mood }}", "{{ knob.mood if knob.workers > 1 else '' }}")
    assert rehearsed(study(text)) == ()


CANDIDATE = """
[[candidates]]
name = "both"
set = { workers = 2, mood = "bad" }
"""


@pytest.mark.parametrize("is_variable", [True, False])
def test_a_knob_that_the_adapter_makes_a_variable_of_does_something(
    study, monkeypatch, is_variable
):
    def render(_self, _spec, _folder, configuration):
        variables = {"N": repr(configuration.values["workers"])} if is_variable else {}
        return Rendered(files={"base.py": "colour = 'red'"}, environment=variables)

    text = STUDY.replace('colour = "red"\n', "")
    plan, adapter = (
        make_plan(study(text, "timeout = 9\n"), seed=1),
        TemplateStack(load_adapter("gunicorn")),
    )
    monkeypatch.setattr(type(adapter), "render", render)
    if is_variable:
        rehearse(plan, adapter)
        return
    with pytest.raises(StudyFileError, match="1 and 2 of knob workers render the same"):
        rehearse(plan, adapter)


def test_a_candidate_whose_every_value_does_something_is_let_through(study):
    assert rehearsed(study(STUDY.replace("format = 1", "format = 2") + CANDIDATE)) == ()


def test_a_value_of_a_candidate_that_does_nothing_is_refused_by_name(study):
    text = (STUDY + CANDIDATE).replace("format = 1", "format = 2").replace('levels = ["bad"]', "")
    text = text.replace("{{ knob.mood }}", "{{ knob.mood if knob.workers == 1 else '' }}")
    with pytest.raises(StudyFileError, match="mood=bad of candidate both does nothing"):
        rehearsed(study(text))


def test_a_level_that_works_only_beside_a_candidate_is_let_through(study):
    text = (STUDY + CANDIDATE).replace("format = 1", "format = 2").replace("levels = [2]", "")
    assert rehearsed(study(text.replace("{{ knob.mood }}", "{{ knob.mood * knob.workers }}"))) == ()
    only = text.replace("{{ knob.mood }}", "{{ knob.mood if knob.workers > 1 else '' }}")
    assert rehearsed(study(only)) == ()


def test_a_comparison_of_what_renders_the_same_is_refused(study):
    found = study(STUDY.replace("{{ knob.mood }}", "{{ knob.mood | length > 9 }}"))
    start = found.start_configuration()
    plan = compare_plan(found, start, start.replaced("mood", "bad"), seed=1)
    with pytest.raises(StudyFileError, match="mood good → bad changes nothing"):
        rehearse(plan, TemplateStack(load_adapter("gunicorn")))


def test_a_base_that_is_no_file_is_not_read(study, tmp_path):
    found = study()
    (tmp_path / "base.py").unlink()
    os.mkfifo(tmp_path / "base.py")
    with pytest.raises(HttpdynoError, match=r"`base.py` of the study cannot be read: it is a FIFO"):
        rehearsed(found)


@pytest.mark.parametrize("source", ["fifo", "/dev/zero", "folder"])
def test_files_that_could_not_be_copied_are_refused(study, tmp_path, source):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    os.mkfifo(tmp_path / "folder" / "fifo")
    with pytest.raises(StudyFileError, match=r"server.files names .* is not a regular file"):
        rehearsed(study(STUDY.replace('from = "shop.py"', f'from = "{source}"')))


def test_cores_of_their_own_take_two(study, monkeypatch):
    wanted = study(STUDY.replace("[budget]", '[method]\ncores = "apart"\n\n[budget]'))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1})
    assert rehearsed(wanted) == ()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {1})
    with pytest.raises(UsageError, match="may use one core only") as caught:
        rehearsed(wanted)
    assert caught.value.hint


def test_more_than_can_be_copied_for_each_start_is_refused(study, monkeypatch):
    monkeypatch.setattr(rehearsal, "_MOST_FILES", 0)
    with pytest.raises(StudyFileError, match=r"more than 0 files or 2\.00 GiB to copy"):
        rehearsed(study())


def test_a_replay_is_read(study, tmp_path):
    (tmp_path / "access.log").write_text("nothing\n")
    with pytest.raises(UsageError, match="holds no line in common or combined log format"):
        rehearsed(
            study(
                STUDY.replace("connections = 2", 'replay = "access.log"')
                + '\n[objective]\nmetric = "cpu_s_per_request"\n'
            )
        )


def test_a_dry_run_refuses_what_a_run_would(study, capsys, tmp_path):
    study(STUDY.replace("{{ knob.mood }}", "x"))
    assert run(["tune", str(tmp_path), "--dry-run"]) == 2
    assert "of knob mood render the same" in capsys.readouterr().err


@pytest.mark.parametrize(("extra", "code"), [([], 2), (["--same"], 0)])
def test_a_configuration_against_itself_has_to_be_asked_for(capsys, extra, code):
    words = ["compare", "bookmarks", "--b", "workers=1", "--dry-run", *extra]
    assert run(words) == code
    assert ("a and b are the same configuration" in capsys.readouterr().err) is (code == 2)


LIMITED = f"""{STUDY}
[[knobs]]
name = "memory"
start = "none"
levels = ["64MiB"]

[server.limits]
memory = "{{knob.memory}}"
"""


def test_a_knob_of_the_limits_alone_does_something(study):
    assert rehearsed(study(LIMITED)) == ()
    words = "1GiB and 1024MiB of knob memory render the same"
    alike = LIMITED.replace('"none"', '"1GiB"').replace("64MiB", "1024MiB")
    with pytest.raises(StudyFileError, match=words):
        rehearsed(study(alike))


def test_a_level_that_is_no_limit_is_refused_before_anything_is_started(study):
    with pytest.raises(StudyFileError, match=r"memory=small: limits\.memory is `small`"):
        rehearsed(study(LIMITED.replace("64MiB", "small")))
