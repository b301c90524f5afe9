"""`[fragments]`: code that a program repeats, in place of a server."""

import tomllib

import pytest

from httpdyno.errors import StudyFileError
from httpdyno.model import FileEntry
from httpdyno.registry import load_target
from httpdyno.servers.fragments import FragmentTarget
from httpdyno.study.file import study_from

GOOD = """
format = 2
name = "habits"
title = "What habits cost"

[fragments]
command = ["perl", "bodies.pl"]
knob = "body"
empty = "empty"
environment = { SIZE = "{knob.size}" }
perl_modules = "CGI"

[[fragments.files]]
from = "bodies.pl"
to = "bodies.pl"

[[knobs]]
name = "body"
start = "function"
levels = ["method"]

[[knobs]]
name = "size"
start = 1
levels = [2]

[objective]
metric = "cpu_s_per_call"

[method]
kind = "table"
window = "30ms"
"""


def read(folder, text=GOOD):
    (folder / "bodies.pl").write_text("", "utf-8")
    return study_from(tomllib.loads(text), folder / "study.toml", lambda _: pytest.fail("asked"))


def test_it_says_how_the_program_is_started_and_which_knob_names_bodies(tmp_path):
    study = read(tmp_path)
    assert (study.fragments.knob, study.fragments.empty) == ("body", "empty")
    assert study.server.command == ("perl", "bodies.pl")
    assert study.server.files == (FileEntry(source="bodies.pl", to="bodies.pl"),)
    assert study.server.settings == {"perl_modules": "CGI"}
    assert isinstance(load_target(study), FragmentTarget)


def test_all_of_the_risk_is_that_of_cpu_time_and_no_start_is_beside_another(tmp_path):
    study = read(tmp_path)
    assert study.objective.confidence_of("cpu_s_per_call") == study.objective.confidence
    assert (study.method.side_by_side, study.method.warm_up_s) == (1, 0.0)
    assert not study.method.is_fresh


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('knob = "body"', 'knob = "bdy"', "fragments.knob is 'bdy'; expected a knob: body, size"),
        ('command = ["perl", "bodies.pl"]', "command = []", "a program first"),
        ('from = "bodies.pl"', 'from = "gone.pl"', "fragments.files[0].from is 'gone.pl'"),
        ('empty = "empty"', 'empty = "no body"', "without spaces"),
        ('empty = "empty"', 'empty = "method"', "what the empty one takes is taken off"),
        ('["method"]', '["a method"]', "names of bodies, without spaces"),
        ('"cpu_s_per_call"', '"throughput_per_s"', "expected cpu_s_per_call"),
        ('kind = "table"', 'kind = "ladder"', "table without phases"),
        ("[objective]", '[server]\nadapter = "x"\n[objective]', "exclude each other"),
        ("[objective]", "[workload]\nconnections = 3\n[objective]", "nothing is requested"),
        ("format = 2", "format = 1", "fragments is not a key of format 1"),
        ('name = "size"', 'name = "connections"\nof = "load"', "none of the load"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(tmp_path, old, new, complaint):
    assert old in GOOD
    with pytest.raises(StudyFileError) as refused:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert complaint in str(refused.value)


def test_a_server_has_no_calls(tmp_path):
    start, end = GOOD.index("[fragments]"), GOOD.index("[[knobs]]")
    text = f'{GOOD[:start]}[server]\nadapter = "fake"\n{GOOD[end:]}'
    with pytest.raises(StudyFileError, match="cpu_s_per_call"):
        study_from(tomllib.loads(text), tmp_path / "study.toml", lambda _: {})
