"""gunicorn for real, against the conformance suite and its own peculiarities."""

import http.client
import json

import pytest
from msgspec.structs import replace
from tests.conformance.adapter import READY_S, AdapterCase, AdapterConformance

from httpdyno.model import Configuration, Effective, FileEntry, ServerSpec, Template
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.gunicorn.server import Gunicorn
from httpdyno.servers.run.folder import new_run_root

pytestmark = pytest.mark.real_server

APPLICATION = """
import json, os

def application(environ, start_response):
    said = {"debug": os.environ["DEBUG"] == "true", "level": open("level.txt").read().strip()}
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(said).encode()]
"""


@pytest.fixture
def case(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "hello.py").write_text(APPLICATION)
    (tmp_path / "level.j2").write_text("{{ knob.level }}\n")
    (tmp_path / "base.py").write_text("timeout = {{ setting.patience }}\n")
    return AdapterCase(
        adapter=Gunicorn(),
        spec=ServerSpec(
            adapter="gunicorn",
            base="base.py",
            files=(FileEntry(source="app", to="app"),),
            templates=(Template(source="level.j2", to="app/level.txt"),),
            settings={"application": "hello:application", "directory": "app", "patience": 17},
            environment={"DEBUG": "{{ knob.debug }}"},
            effective_path="/settings",
        ),
        study_folder=tmp_path,
        configuration=Configuration(
            values={"workers": 2, "worker_tmp_dir": "memory", "debug": True, "level": "high"}
        ),
        nonsense=Configuration(values={"workers": -1, "debug": True, "level": "high"}),
        words="Value must be positive: -1",
    )


class TestGunicorn(AdapterConformance):
    pass


def started(case, values, spec=None):
    """Return what came of a start, and the answer of a server that was ready."""
    configuration = case.configuration
    for name, value in values.items():
        configuration = Configuration(values={**configuration.values, name: value})
    with new_run_root() as root:
        running = case.stack.spawn(
            spec or case.spec, case.study_folder, configuration, root.new_place("own")
        )
        if isinstance(running, NotRunning):
            return running
        try:
            return running.await_ready(READY_S)
        finally:
            running.stop()


def test_the_base_file_holds_where_the_overlay_says_nothing(case):
    effective = started(case, {})
    assert isinstance(effective, Effective)
    assert effective.values["timeout"] == "17"


def test_the_overlay_wins_over_the_base_file(case):
    effective = started(case, {"timeout": 23})
    assert isinstance(effective, Effective)
    assert effective.values["timeout"] == "23"


def test_the_application_says_its_own_knobs(case):
    effective = started(case, {})
    assert isinstance(effective, Effective)
    assert effective.asked["debug"] == effective.values["debug"] == "true"
    assert effective.asked["level"] == effective.values["level"] == "high"


def test_an_application_that_does_not_do_as_asked_is_refused(case):
    (case.study_folder / "level.j2").write_text("low")
    answer = started(case, {})
    assert isinstance(answer, NotRunning)
    assert answer.status == "refused"
    assert text(answer.detail) == "level is low where high was asked"


def test_threads_turn_the_sync_class_into_another_and_that_is_no_refusal(case):
    answer = started(case, {"worker_class": "sync", "threads": 4})
    assert isinstance(answer, Effective), answer
    assert answer.values["worker_class"] == answer.asked["worker_class"] == "gthread"
    assert isinstance(started(case, {"worker_class": "gthread", "threads": 4}), Effective)
    assert started(case, {"worker_class": "sync", "threads": 1}).values["worker_class"] == "sync"


def test_an_application_that_cannot_be_imported_crashed(case):
    spec = replace(case.spec, settings={**case.spec.settings, "application": "nowhere:application"})
    answer = started(case, {}, spec)
    assert isinstance(answer, NotRunning)
    assert answer.status == "crashed"


def test_an_application_that_only_fails_is_refused_with_its_status(case):
    (case.study_folder / "app" / "hello.py").write_text("def application(e, s): raise ValueError")
    answer = started(case, {})
    assert isinstance(answer, NotRunning)
    assert answer.status == "refused"
    assert "500 Internal Server Error" in text(answer.detail)


def test_variables_of_the_callers_shell_do_not_reach_it(case, monkeypatch):
    monkeypatch.setenv("GUNICORN_CMD_ARGS", "--timeout 99")
    effective = started(case, {})
    assert isinstance(effective, Effective)
    assert effective.values["timeout"] == "17"


def test_answers_come_from_the_application(case):
    with new_run_root() as root:
        running = case.stack.spawn(
            case.spec, case.study_folder, case.configuration, root.new_place("own")
        )
        assert not isinstance(running, NotRunning)
        assert isinstance(running.await_ready(READY_S), Effective)
        connection = http.client.HTTPConnection(running.addresses[0])
        connection.request("GET", "/")
        said = json.loads(connection.getresponse().read())
        connection.close()
        running.stop()
    assert said == {"debug": True, "level": "high"}


def test_the_heartbeat_folder_is_named_as_in_diffs_so_that_starts_can_be_compared(case):
    for level, name in (("disk", "RUN"), ("memory", "MEMORY"), ("/dev", "/dev")):
        effective = started(case, {"worker_tmp_dir": level})
        assert isinstance(effective, Effective), effective
        assert effective.values["worker_tmp_dir"] == effective.asked["worker_tmp_dir"] == name
