import importlib.util

import pytest
from msgspec import structs
from tests.conformance.adapter import complaint_of

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, ServerSpec
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.gunicorn.server import Gunicorn
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.templates import TemplateStack

SPEC = ServerSpec(
    adapter="gunicorn",
    base="base.py",
    settings={"application": "hello:application", "directory": "app"},
)


def rendered(tmp_path, **levels):
    (tmp_path / "base.py").write_text("timeout = 7\nbacklog = {{ knob.own }}\n")
    configuration = Configuration(values={"own": 5, **levels})
    return TemplateStack(Gunicorn()).render(SPEC, tmp_path, configuration).files["gunicorn.conf.py"]


def settings(text):
    found: dict[str, object] = {}
    exec(compile(text, "gunicorn.conf.py", "exec"), found)
    return found


def test_the_overlay_comes_after_the_base_and_has_only_gunicorns_knobs(tmp_path):
    found = settings(rendered(tmp_path, workers=3, timeout=9, preload_app=True))
    assert found["backlog"] == 5
    assert found["timeout"] == 9
    assert found["workers"] == 3
    assert found["preload_app"] is True
    assert "own" not in found


def test_it_stays_in_its_place_and_on_its_port(tmp_path):
    found = settings(rendered(tmp_path))
    assert found["bind"] == ["127.0.0.1:PORT"]
    assert found["chdir"] == "RUN/app"
    assert found["wsgi_app"] == "hello:application"
    assert found["control_socket_disable"] is True
    assert found["daemon"] is False


@pytest.mark.parametrize(
    ("level", "folder"), [("disk", "RUN"), ("memory", "MEMORY"), ("/mnt", "/mnt")]
)
def test_the_heartbeat_folder_may_be_named_by_kind_or_by_path(tmp_path, level, folder):
    assert settings(rendered(tmp_path, worker_tmp_dir=level))["worker_tmp_dir"] == folder


def test_hooks_of_the_base_file_are_still_called(tmp_path, monkeypatch):
    (tmp_path / "base.py").write_text("called = []\ndef post_worker_init(w): called.append(w)\n")
    text = (
        TemplateStack(Gunicorn()).render(SPEC, tmp_path, Configuration()).files["gunicorn.conf.py"]
    )
    found = settings(text)

    class Worker:
        age = 3

        class cfg:  # noqa: N801 - as gunicorn has it
            workers = 2

    worker = Worker()
    hook = found["post_worker_init"]
    assert callable(hook)
    hook(worker)
    assert found["called"] == [worker]


def test_a_study_without_an_application_is_an_error_that_says_what_to_set(tmp_path):
    spec = ServerSpec(adapter="gunicorn")
    with pytest.raises(AdapterError) as raised:
        TemplateStack(Gunicorn()).render(spec, tmp_path, Configuration())
    assert 'application = "module:callable"' in raised.value.hint


def test_a_configuration_that_is_a_module_is_refused_before_anything_runs(tmp_path):
    """Nobody could tell whether a run goes on with the same."""
    (tmp_path / "shop.py").write_text("workers = 2")
    spec = structs.replace(SPEC, base="", folder=".", settings={"config": "python:shop"})
    said = complaint_of(Gunicorn(), spec, tmp_path, Configuration())
    assert said.startswith("server.settings.config names the module `python:shop`")
    assert 'config = "gunicorn.conf.py"' in said


@pytest.mark.skipif(importlib.util.find_spec("gevent") is not None, reason="gevent is installed")
def test_gevent_is_refused_where_it_is_not_installed(tmp_path):
    (tmp_path / "base.py").write_text("")
    with new_run_root() as root:
        place = root.new_place("x")
        answer = TemplateStack(Gunicorn()).spawn(
            SPEC, tmp_path, Configuration(values={"worker_class": "gevent"}), place
        )
        assert not place.folder.exists()
    assert isinstance(answer, NotRunning)
    assert answer.status == "refused"
    assert "pip install gevent" in text(answer.detail)
