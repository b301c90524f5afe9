import pytest

from httpdyno.errors import AdapterError
from httpdyno.model import ChangeSet, Member
from httpdyno.report.shared.message import text
from httpdyno.servers.gunicorn import Gunicorn

CONFIG = """
import multiprocessing
bind = ["127.0.0.1:8001", "unix:/run/shop.sock"]
workers = multiprocessing.cpu_count() * 0 + 5
threads = compute()
timeout = 17
preload_app = True
accesslog = "log/access.log"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "gunicorn.conf.py").write_text(CONFIG)
    return tmp_path


def surveyed(folder, *more, **fields):
    command = (".venv/bin/gunicorn", "shop.wsgi", *more)
    member = Member(name="shop", kind="gunicorn", command=command, folder=str(folder), **fields)
    files = Gunicorn().read(member)
    return Gunicorn().survey(member, files, None), files


def test_settings_are_as_found_in_file_variable_and_command_line(folder, monkeypatch):
    monkeypatch.setenv("GUNICORN_CMD_ARGS", "--timeout 20 --keep-alive 9")
    survey, files = surveyed(
        folder, "-w", "3", "--timeout=21", environment_names=("GUNICORN_CMD_ARGS",)
    )
    knobs = Gunicorn().knobs(survey)
    as_found = {name: knobs[name].default for name in ("workers", "timeout", "keepalive")}
    assert as_found == {"workers": 3, "timeout": 21, "keepalive": 9}
    assert knobs["preload_app"].default is True
    assert knobs["backlog"].default == 2048
    assert knobs["threads"].default is None, "only the running arbiter knows"
    assert survey.reading("threads").text == "compute()"
    assert survey.reading("preload_app").origin.line == 7
    assert list(files.texts) == [str(folder / "gunicorn.conf.py")]
    assert [each.address for each in survey.listeners] == ["127.0.0.1:8001", "unix:/run/shop.sock"]
    assert survey.writes == (str(folder / "log"),)


def test_variables_that_are_not_its_own_say_nothing(folder, monkeypatch):
    monkeypatch.setenv("GUNICORN_CMD_ARGS", "--timeout 20")
    survey, _ = surveyed(folder)
    assert survey.reading("timeout").text == "17"


def test_changes_are_flags_and_what_is_in_force_takes_none(folder):
    survey, files = surveyed(folder, "-b", ":9000")
    changes = Gunicorn().change_set(survey, files, {"workers": 2, "timeout": 17, "threads": 4})
    assert changes == ChangeSet(arguments=("--workers", "2", "--threads", "4"))
    assert [each.address for each in survey.listeners] == ["0.0.0.0:9000"]


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("-b", "unix:shop.sock"), "shop.sock"),
        (("--chdir", "app", "--bind=unix:shop.sock"), "app/shop.sock"),
    ],
)
def test_a_socket_lies_where_the_server_runs(folder, words, path):
    survey, _ = surveyed(folder, *words)
    assert [each.address for each in survey.listeners] == [f"unix:{folder / path}"]


def test_a_switch_that_no_flag_turns_off_is_said(folder):
    survey, files = surveyed(folder, "--reuse-port")
    changes = Gunicorn().change_set(
        survey, files, {"preload_app": False, "reuse_port": False, "sendfile": False}
    )
    assert changes.arguments == ("--no-sendfile",)
    assert changes.removed_arguments == ("--preload", "--reuse-port")
    assert len(changes.notes) == 2
    assert "`preload_app = False`" in text(changes.notes[0])


def test_nonsense_is_refused(folder):
    survey, files = surveyed(folder)
    with pytest.raises(AdapterError, match="workers = 0: expected at least 1"):
        Gunicorn().change_set(survey, files, {"workers": 0})
    with pytest.raises(AdapterError, match="it has no such setting"):
        Gunicorn().change_set(survey, files, {"wrokers": 1})


def test_a_title_that_hides_the_command_line_is_an_error_with_a_way_out():
    member = Member(name="shop", kind="gunicorn", command=("gunicorn: master [shop]",))
    with pytest.raises(AdapterError) as caught:
        Gunicorn().read(member)
    assert "unit:shop.service" in caught.value.hint


def test_it_is_recognised_by_script_and_by_module():
    adapter = Gunicorn()
    for words in (("python3", "/srv/venv/bin/gunicorn", "a:b"), ("python3", "-m", "gunicorn", "a")):
        member = adapter.of_process("/usr/bin/python3", words, "/srv")
        assert member is not None
        assert member.kind == "gunicorn"
    assert adapter.of_process("/usr/bin/python3", ("python3", "server.py"), "/srv") is None
