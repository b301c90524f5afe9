"""The gunicorn of somebody's own virtual environment, with a configuration that is code."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.conformance.adapter import READY_S, AdapterCase, AdapterConformance, complaint_of

from httpdyno.model import Configuration, Effective, ServerSpec
from httpdyno.report.shared.message import text, texts
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.gunicorn import Gunicorn
from httpdyno.servers.run.folder import new_run_root

pytestmark = pytest.mark.real_server

APPLICATION = """
import os, sys
import only_there

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{sys.prefix} {os.getcwd()} {only_there.NAME}".encode()]
"""
CONFIG = """
import os
here = os.path.dirname(os.path.abspath(__file__))
bind = "127.0.0.1:1"  # which nobody else may listen at
pidfile = os.path.join(here, "theirs.pid")
errorlog = os.path.join(here, "error.log")
accesslog = os.path.join(here, "access.log")
daemon = True
workers = 1
timeout = 17
keepalive = 9
preload_app = True

def when_ready(server):
    print("their hook", server.cfg.timeout, flush=True)
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A folder with an application and a virtual environment, which has gunicorn by a link."""
    folder = tmp_path_factory.mktemp("production")
    venv.create(folder / "venv", symlinks=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    there = folder / "venv" / "lib" / version / "site-packages"
    installed = Path(sysconfig.get_path("purelib"))
    for package in ("gunicorn", "packaging"):
        if (installed / package).is_dir():
            (there / package).symlink_to(installed / package)
    (there / "only_there.py").write_text("NAME = 'theirs'\n")
    (folder / "shop").mkdir()
    (folder / "shop" / "wsgi.py").write_text(APPLICATION)
    (folder / "shop" / "gunicorn.conf.py").write_text(CONFIG)
    return folder


@pytest.fixture
def case(theirs):
    return AdapterCase(
        adapter=Gunicorn(),
        spec=ServerSpec(
            adapter="gunicorn",
            folder="shop",
            settings={"application": "wsgi", "python": "venv/bin/python"},
        ),
        study_folder=theirs,
        configuration=Configuration(
            values={"workers": 2, "threads": 3, "worker_tmp_dir": "memory", "preload_app": False}
        ),
        nonsense=Configuration(values={"workers": -1}),
        words="Value must be positive: -1",
    )


class TestProduction(AdapterConformance):
    pass


def contents(folder):
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}


def started(case, values, spec=None, use=None):
    with new_run_root() as root:
        running = case.stack.spawn(
            spec or case.spec, case.study_folder, Configuration(values=values), root.new_place("x")
        )
        assert not isinstance(running, NotRunning), text(running.detail)
        try:
            answer = running.await_ready(READY_S)
            return answer if use is None else use(running, answer)
        finally:
            running.stop()


def test_their_configuration_holds_where_no_knob_says_otherwise(case):
    effective = started(case, {"workers": 2})
    assert isinstance(effective, Effective), effective
    assert effective.values["timeout"] == "17"
    assert effective.values["keepalive"] == "9"
    assert effective.values["workers"] == "2"
    assert effective.values["preload_app"] == "true"


@pytest.mark.parametrize("level", [True, False])
def test_a_switch_goes_either_way(case, level):
    for name in ("preload_app", "reuse_port", "sendfile"):
        effective = started(case, {name: level})
        assert isinstance(effective, Effective), effective
        assert effective.values[name] == str(level).lower()


def test_nothing_is_written_beside_theirs_and_their_hooks_are_called(case, theirs):
    before = contents(theirs)
    words = started(case, {"workers": 1}, use=lambda running, _: running.last_words())
    assert "their hook 17" in words
    assert contents(theirs) == before


def test_it_is_their_interpreter_in_their_folder_that_answers(case, theirs, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("GUNICORN_CMD_ARGS", "--timeout 99")

    def ask(running, effective):
        url = f"http://{running.addresses[0]}/"
        body = subprocess.run(
            [sys.executable, "-c", f"import urllib.request as u; print(u.urlopen('{url}').read())"],
            capture_output=True,
            text=True,
            check=True,
            env={},
        ).stdout
        return body, effective

    body, effective = started(case, {"workers": 1}, use=ask)
    assert f"{theirs}/venv {theirs}/shop theirs" in body
    assert effective.values["timeout"] == "17"
    [source] = texts(effective.sources)
    assert f"{theirs}/venv/bin/python" in source
    assert "gunicorn" in source


def test_the_version_is_of_their_interpreter(case, theirs):
    version = case.stack.version(case.spec, theirs)
    assert version.startswith("gunicorn ")
    assert version.endswith(f"({theirs}/venv/bin/python)")


def test_a_class_that_is_not_installed_there_is_refused_in_gunicorns_words(case):
    answer = started(case, {"worker_class": "tornado"})
    assert isinstance(answer, NotRunning)
    assert answer.status == "refused"
    assert "tornado" in text(answer.detail)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"python": "venv/bin/pypy"}, "which is no program"),
        ({"config": "nowhere.py"}, "which is not there"),
        ({"python": "/bin/true"}, "gunicorn is not installed for `/bin/true`"),
    ],
)
def test_what_cannot_work_is_known_before(case, theirs, change, complaint):
    spec = replace(case.spec, settings={**case.spec.settings, **change})
    assert complaint in complaint_of(case.adapter, spec, theirs, case.configuration)
    assert complaint_of(case.adapter, case.spec, theirs, case.configuration) == ""


def test_the_command_line_is_shown_with_the_knobs_at_its_end(case, theirs):
    rendered = case.stack.render(case.spec, theirs, case.configuration)
    line = rendered.files["command line"].splitlines()
    assert line[0] == f"{theirs}/venv/bin/python"
    assert line[-7:] == ["--workers", "2", "--threads", "3", "--worker-tmp-dir", "MEMORY", "wsgi"]
    assert "preload_app = False" in rendered.files["overlay.conf.py"]
