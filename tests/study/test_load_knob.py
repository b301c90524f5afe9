"""Knobs of the load in study files, and the workloads that they make."""

import tomllib

import pytest
from tests.study.test_file import GOOD, INFOS

from httpdyno.errors import StudyFileError
from httpdyno.model import Configuration
from httpdyno.study.file import study_from

KNOB = """[[knobs]]
name = "{name}"
of = "load"
start = {start}
levels = {levels}

[workload]"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "server.conf.j2").write_text("Debug {{ knob.debug }}\n", encoding="utf-8")
    return tmp_path


def study(folder, name, start, levels, text=GOOD):
    knob = KNOB.format(name=name, start=start, levels=levels)
    text = text.replace("[workload]", knob)
    return study_from(tomllib.loads(text), folder / "study.toml", lambda _adapter: INFOS)


@pytest.mark.parametrize(
    ("name", "start", "level", "what"),
    [
        ("connections", "5", "50", lambda load: load.connections),
        ("path", '"/list"', '"/other"', lambda load: load.requests[0].path),
        ("requests_per_connection", "1", "0", lambda load: load.requests_per_connection),
        ("headers.accept", '"text/html"', '""', lambda load: load.requests[0].headers),
        ("headers.Cookie", '""', '"a=b"', lambda load: load.requests[0].headers),
    ],
)
def test_each_sets_its_part_of_the_load_and_the_server_never_hears_of_it(
    folder, name, start, level, what
):
    found = study(folder, name, start, f"[{level}]")
    first = found.start_configuration()
    other = first.replaced(name, found.knob(name).levels[0])
    assert what(found.load_of(first)) != what(found.load_of(other))
    for each in (first, other):
        assert found.of_server(each) == Configuration(values={"workers": 1, "debug": True})


def test_a_header_is_replaced_whatever_its_case_and_left_out_where_it_is_empty(folder):
    found = study(folder, "headers.accept", '"text/plain"', '[""]')
    first = found.start_configuration()
    assert found.load_of(first).requests[0].headers == (("accept", "text/plain"),)
    assert found.load_of(first.replaced("headers.accept", "")).requests[0].headers == ()


def test_a_study_without_them_has_one_load_and_whole_configurations(folder):
    found = study_from(tomllib.loads(GOOD), folder / "study.toml", lambda _adapter: INFOS)
    start = found.start_configuration()
    assert found.of_server(start) is start
    assert found.load_of(start) == found.workload


@pytest.mark.parametrize(
    ("name", "start", "levels", "words"),
    [
        ("workers2", "1", "[2]", "connections, path"),
        ("headers.", '""', '["a"]', "connections, path"),
        ("connections", "5", "[0]", "at least 1"),
        ("path", '"/list"', '["no path"]', "workload that can be"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(folder, name, start, levels, words):
    with pytest.raises(StudyFileError, match=words):
        study(folder, name, start, levels)


def test_a_candidate_whose_load_cannot_be_is_refused_by_name(folder):
    def with_candidate(path):
        candidate = f'[[candidates]]\nname = "other"\nset = {{ path = "{path}" }}\n\n[objective]'
        text = GOOD.replace("format = 1", "format = 2").replace("[objective]", candidate)
        return study(folder, "path", '"/list"', "[]", text)

    assert with_candidate("/other").candidates
    with pytest.raises(StudyFileError, match=r"\(other\).set is .* a workload that can be"):
        with_candidate("other")


def test_a_path_is_that_of_one_request(folder):
    text = GOOD.replace("[objective]", '[[workload.requests]]\npath = "/more"\n\n[objective]')
    with pytest.raises(StudyFileError, match="a workload of one request"):
        study(folder, "path", '"/list"', '["/other"]', text)
