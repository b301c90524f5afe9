"""`[[companions]]` of a study file: further servers, and which of them is loaded."""

import pytest

from httpdyno.errors import StudyFileError
from httpdyno.metrics import sources
from httpdyno.model import KnobInfo
from httpdyno.study.file import load_study

STUDY = """
format = 2
name = "shop"
title = "The shop"

[server]
adapter = "apache"
base = "app.conf"

[[companions]]
name = "db"
adapter = "command"
command = ["postgres", "-p", "{port}"]
ready = "tcp"

[[companions]]
name = "front"
side = "front"
when = "{{ knob.front == 'on' }}"
adapter = "apache"

[[knobs]]
name = "front"
start = "off"
levels = ["on"]

[[knobs]]
name = "front:Workers"
start = 1
levels = [2]

[workload]
target = "{{ 'front' if knob.front == 'on' else 'server' }}"
"""
WORKERS = {"Workers": KnobInfo(name="Workers", summary="how many", kind="integer", minimum=1)}


def read(folder, text):
    (folder / "app.conf").write_text("")
    (folder / "study.toml").write_text(text)
    return load_study(folder, lambda adapter: WORKERS if adapter == "apache" else {})


def test_companions_are_servers_with_a_name_a_side_and_settings_of_their_own(tmp_path):
    study = read(tmp_path, STUDY)
    db, front = study.server.companions
    assert (db.name, db.side, db.when, db.ready) == ("db", "behind", "", "tcp")
    assert db.command == ("postgres", "-p", "{port}")
    assert (front.side, front.adapter) == ("front", "apache")
    assert study.server.loaded == "{{ 'front' if knob.front == 'on' else 'server' }}"
    assert study.knob("front:Workers").title == "how many"


def test_when_several_servers_are_ready_is_no_metric(tmp_path):
    objective = '\n[objective]\nmetric = "ready_s"\n'
    with pytest.raises(StudyFileError, match=r"metric is 'ready_s'; expected one server"):
        read(tmp_path, STUDY + objective)
    alone = STUDY.partition("[[companions]]")[0]
    knob = '\n[[knobs]]\nname = "Workers"\nstart = 1\nlevels = [2]\n'
    found = read(tmp_path, alone + knob + objective)
    assert "coming up" in sources(found.objective.named)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "front"\nside', 'name = "db"\nside', "a word of its own"),
        ('name = "front"\nside', 'name = "server"\nside', "a word of its own"),
        ('name = "front"\nside', 'name = "A front"\nside', "a word of its own"),
        ("levels = [2]", "levels = [0]", "front:Workers"),
        ('ready = "tcp"', 'ready = "soon"', r"companions\[0\]\.ready"),
        ('adapter = "apache"\n\n[[knobs]]', 'adapter = "apache"\nbase = "no"\n[[knobs]]', "no"),
        ("\"{{ 'front' if knob.front == 'on' else 'server' }}\"", '"cache"', "`front`"),
        (
            'ready = "tcp"',
            'ready = "tcp"\n[[companions.prepare]]\nrun = ["true"]\neach = "run"',
            "commands of a whole run",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(tmp_path, old, new, words):
    assert old in STUDY
    with pytest.raises(StudyFileError, match=words):
        read(tmp_path, STUDY.replace(old, new, 1))


def test_a_target_needs_companions(tmp_path):
    alone = STUDY[: STUDY.index("[[companions]]")] + STUDY[STUDY.index("[[knobs]]") :]
    alone = alone.replace("front:Workers", "Workers")
    with pytest.raises(StudyFileError, match="there are no companions"):
        read(tmp_path, alone)


def test_format_1_has_none(tmp_path):
    with pytest.raises(StudyFileError, match="companions is not a key of format 1"):
        read(tmp_path, STUDY.replace("format = 2", "format = 1"))
