"""Whole sites with planted mistakes: adopted, and started as found and as proposed."""

import os
import shutil
import tempfile
from pathlib import Path

import psutil
import pytest
from msgspec import structs
from tests.isolation import not_safest
from tests.real.sites.own import mod_perl, own_gunicorn, own_node, own_uvicorn, proxied

from httpdyno.catalog import open_study
from httpdyno.cli.app import run
from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.design.smoke_test import one_start, rehearse
from httpdyno.model import level_text
from httpdyno.registry import load_target
from httpdyno.servers.sandbox.available import possible

pytestmark = [
    pytest.mark.skipif(possible()[0] != "cell", reason=not_safest() or "cells can be had"),
    pytest.mark.skipif(os.geteuid() != 0, reason="sites below /srv are root's"),
]


@pytest.fixture
def srv():
    """A folder where sites are; a copy sees the folders of the test's as private ones."""
    folder = Path(tempfile.mkdtemp(dir="/srv", prefix="httpdyno-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def started(study, values):
    """Start a study's server once with these values; return what is in force of them."""
    knobs = tuple(
        structs.replace(knob, start=values[knob.name], levels=()) if knob.name in values else knob
        for knob in study.knobs
    )
    changed = structs.replace(study, knobs=knobs)
    found = one_start(load_target(changed), changed)
    assert found.answers
    assert all(answer.is_right for answer in found.answers), found.answers
    return {name: found.effective.values[name] for name in values}


def running_in(folder):
    """Return who runs from a folder, is in it, or was told of it."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and any(
                str(folder) in text for text in (process.cwd(), *process.cmdline())
            ):
                found.append(f"{process.pid} {' '.join(process.cmdline())}")
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(mod_perl, marks=pytest.mark.real_server("apache2")),
        pytest.param(proxied, marks=pytest.mark.real_server("apache2")),
        pytest.param(own_gunicorn, marks=pytest.mark.real_server),
        pytest.param(own_uvicorn, marks=pytest.mark.real_server),
        pytest.param(own_node, marks=pytest.mark.real_server("node")),
    ],
    ids=lambda build: build.__name__,
)
def test_a_planted_mistake_is_proposed_and_its_copies_run(build, srv, tmp_path, monkeypatch):
    site = build(srv / "site")
    before = site.files
    monkeypatch.chdir(site.folder)
    own = tmp_path / "own"
    assert run(["adopt", "-o", str(own), *site.options, *site.source]) == 0
    study = open_study(str(own))
    rehearse(make_plan(study, seed=1), load_target(study))
    knobs = {knob.name: knob for knob in study.knobs}
    right = {}
    for name, (planted, wanted) in site.mistakes.items():
        assert knobs[name].start == planted
        # How many workers are tried follows from what was seen waiting.
        is_pool = name.endswith(":workers")
        levels = [n for n in knobs[name].levels if n == wanted or (is_pool and n > planted)]
        assert levels, knobs[name]
        right[name] = levels[0]
    for values in ({name: planted for name, (planted, _) in site.mistakes.items()}, right):
        assert started(study, values) == {n: level_text(v) for n, v in values.items()}
    assert site.files == before
    assert running_in(site.folder) == []
