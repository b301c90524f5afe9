"""An adopted application whose copies may answer otherwise than its rehearsal did."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tests.isolation import not_safest

from httpdyno.cli.app import run
from httpdyno.servers.network.probe import Patience, ask
from httpdyno.servers.sandbox.available import possible

pytestmark = [
    pytest.mark.real_server,
    pytest.mark.skipif(possible()[0] != "cell", reason=not_safest() or "cells can be had"),
    pytest.mark.skipif(os.geteuid() != 0, reason="sites below /srv are root's"),
]

APPLICATION = """
import itertools, os, secrets, time
HERE = os.path.dirname(os.path.abspath(__file__))
VISITS = itertools.count(1)
NAME = open(f"{HERE}/name").read()
PAGE = "".join(f"<p>row {n}: all that is in it</p>" for n in range(200))

def application(environ, start):
    body = PAGE
    if environ["PATH_INFO"] == "/asks" and not os.access(f"{HERE}/data", os.W_OK):
        body = "Setup Error: data is not writable"
    if environ["PATH_INFO"] == "/closed" and os.path.exists(f"{HERE}/closed"):
        body = "Closed for now"
    if environ["PATH_INFO"] == "/now":
        token = secrets.token_hex(8)
        body = f"{time.ctime()}: visit {next(VISITS)}, token {token}, by {os.getpid()}"
    if environ["PATH_INFO"] == "/named":
        body = "of " + NAME
    start("200 OK", [("Content-Type", "text/html"), ("Set-Cookie", f"sid={secrets.token_hex(8)}")])
    return [body.encode()]
"""
COMMAND = [sys.executable, "-m", "gunicorn", "-w", "1", "-b", "127.0.0.1:8000", "shop:application"]
ADDRESS = "127.0.0.1:8000"


@pytest.fixture
def shop(monkeypatch):
    """A folder with the application, where a copy sees what really is."""
    folder = Path(tempfile.mkdtemp(dir="/srv", prefix="httpdyno-test-"))
    folder.chmod(0o755)
    (folder / "data").mkdir()
    (folder / "shop.py").write_text(APPLICATION)
    (folder / "name").write_text("the original")
    monkeypatch.chdir(folder)
    yield folder
    shutil.rmtree(folder)


def adopted(study, *paths, source=("--", *COMMAND)):
    asked = [word for path in paths for word in ("--get", path)]
    return run(["adopt", "-o", str(study), *asked, "--knob", "workers=2", *source])


def checked(study, capsys):
    capsys.readouterr()
    code = run(["study", "check", str(study), "--json", "-"])
    return code, json.loads(capsys.readouterr().out)


def test_a_page_that_says_what_a_copy_may_not_is_no_answer_to_tune(shop, tmp_path, capsys):
    assert adopted(tmp_path / "own", "/asks") == 0
    code, found = checked(tmp_path / "own", capsys)
    [answer] = found["answers"]
    if answer["n_bytes"] > 1000:
        assert (code, found["unlike_rehearsal"]) == (0, "")
    else:
        assert code == 1
        assert "at byte 1: `Setup Error: data" in found["unlike_rehearsal"]


def test_what_only_varies_is_measured_and_what_was_changed_since_is_refused(
    shop, tmp_path, capsys, monkeypatch
):
    study = tmp_path / "own"
    assert adopted(study, "/now", "/closed") == 0
    code, found = checked(study, capsys)
    assert (code, found["unlike_rehearsal"]) == (0, "")
    (shop / "closed").touch()
    assert run(["study", "check", str(study)]) == 1
    told = " ".join(capsys.readouterr().out.split())
    difference = (
        "GET /closed with another body: the first difference is at byte 1: `Closed for now`"
    )
    assert difference in told
    assert "adopt them again" in told
    assert run(["tune", str(study)]) == 3
    assert difference in " ".join(capsys.readouterr().err.split())

    def until_ctrl_c():
        raise KeyboardInterrupt

    monkeypatch.setattr("signal.pause", until_ctrl_c)
    assert run(["study", "serve", str(study)]) == 0
    assert difference in " ".join(capsys.readouterr().err.split())


@pytest.fixture
def running(shop):
    """The server itself, which read a file that was changed since; its pid."""
    with subprocess.Popen(COMMAND, stderr=subprocess.DEVNULL) as process:
        try:
            patience = Patience(20.0)
            while (
                ask(ADDRESS, "/", patience, body_patience=patience, most_bytes=9999).status != 200
            ):
                assert not patience.is_over
                time.sleep(0.02)
            (shop / "name").write_text("a copy")
            yield process.pid
        finally:
            process.terminate()


def test_the_server_itself_is_asked_where_somebody_wants_it(running, tmp_path, capsys):
    source = ["--ask-running", f"pid:{running}"]
    assert adopted(tmp_path / "own", "/now", "/named", source=source) == 3
    told = " ".join(capsys.readouterr().err.split())
    assert (
        "the copy answers otherwise than your running server: GET /named with another body" in told
    )
    assert "at byte 4: `a copy` in place of `the original`" in told
    assert not (tmp_path / "own").exists()


def test_who_does_not_run_cannot_be_asked(shop, tmp_path, capsys):
    assert adopted(tmp_path / "own", "/", source=("--ask-running", "--", *COMMAND)) == 2
    assert "listens at 127.0.0.1:8000 here" in capsys.readouterr().err
