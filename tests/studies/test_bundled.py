"""What holds of every bundled study."""

import re
import runpy
from pathlib import Path

import pytest

from httpdyno.model import level_text
from httpdyno.registry import load_adapter
from httpdyno.study.file import load_study

STUDIES = Path(__file__).parents[2] / "python" / "httpdyno" / "studies"
NAMES = sorted(file.parent.name for file in STUDIES.glob("*/study.toml"))


def study_of(name):
    return load_study(STUDIES / name, lambda adapter: load_adapter(adapter).knobs())


def test_all_three_are_there():
    assert NAMES == ["asp-bookmarks", "bookmarks", "maxclients"]


@pytest.mark.parametrize("name", NAMES)
def test_a_study_can_be_read_and_is_called_like_its_folder(name):
    assert study_of(name).name == name


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_names_every_knob_with_its_start_and_says_how_to_run(name):
    text = (STUDIES / name / "README.md").read_text("utf-8")

    assert f"httpdyno study run {name}" in text
    for knob in study_of(name).knobs:
        assert re.search(rf"\| `{knob.name}` \| {level_text(knob.start)} \|", text), knob.name


@pytest.mark.parametrize("name", NAMES)
def test_every_knob_says_why_it_should_help(name):
    assert all(knob.why and knob.title for knob in study_of(name).knobs)


def test_the_bookmarks_workload_asks_as_visitors_that_are_seeded():
    seeded = runpy.run_path(str(STUDIES / "bookmarks" / "app" / "seed.py"))["owners"]()

    for request in study_of("bookmarks").workload.requests:
        assert dict(request.headers)["Cookie"].removeprefix("bookmarks_session=") in seeded
