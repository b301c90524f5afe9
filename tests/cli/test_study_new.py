"""`httpdyno study new`."""

import json
import sys

import pytest
from tests.conformance.adapter import complaint_of

from httpdyno.catalog import open_study
from httpdyno.cli.app import run
from httpdyno.registry import load_adapter


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "shop.py").write_text("def app(environ, start):\n    start('200 OK', [])\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_study_says_where_it_is_and_what_to_do_next(here, capsys):
    words = ["study", "new", "gunicorn", "shop:app", "--python", sys.executable]
    assert run(words) == 0
    out = capsys.readouterr().out
    assert "wrote shop-study/study.toml" in out
    assert "next: `httpdyno study check shop-study`, then `httpdyno tune" in out
    assert "cannot run yet" not in out
    study = open_study("shop-study")
    assert study.server.folder == str(here)
    assert study.server.settings["python"] == sys.executable
    assert run(["tune", "shop-study", "--dry-run"]) == 0
    assert "step 1    with threads: worker_class=gthread, threads=4" in capsys.readouterr().out


def test_a_command_is_given_after_two_dashes(here, capsys):
    words = ["study", "new", "command", "-o", "own", "--", "python3", "-m", "http.server", "{port}"]
    assert run(words) == 0
    assert open_study("own").server.command == ("python3", "-m", "http.server", "{port}")
    assert "wrote own/study.toml" in capsys.readouterr().out


def test_a_template_may_say_where_a_command_listens(here, capsys):
    assert run(["study", "new", "nginx"]) == 0
    study = open_study("nginx-site-study")
    adapter = load_adapter("command")
    start = study.start_configuration()
    assert complaint_of(adapter, study.server, here / "nginx-site-study", start) == ""
    (here / "nginx-site-study" / "nginx.conf.j2").write_text("listen 80;\n")
    assert "says where to listen" in complaint_of(
        adapter, study.server, here / "nginx-site-study", start
    )
    capsys.readouterr()


def test_what_cannot_run_yet_is_said(here, capsys):
    assert run(["study", "new", "gunicorn", "shop:app", "--python", "gone/bin/python"]) == 0
    assert "it cannot run yet: " in capsys.readouterr().out
    assert run(["study", "new", "apache", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["study"] == "apache-site"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gunicorn", "shop:app", "-o", "."], "`.` is there already"),
        (["apache", "--python", "x"], "`--python` is for gunicorn and uvicorn"),
        (["command"], "a command is what is to run"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(here, capsys, words, said):
    assert run(["study", "new", *words]) == 2
    assert said in capsys.readouterr().err
    assert [each.name for each in here.iterdir()] == ["shop.py"]
