"""A burst at a rehearsal: a limit, a short queue, and TLS that is never taken up are seen."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from httpdyno.adopt.smoke_test import burst
from httpdyno.catalog import open_study
from httpdyno.cli.app import run
from httpdyno.model import Effective, Workload
from httpdyno.registry import load_target
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.stack.running import RunningCopy

pytestmark = [
    pytest.mark.real_server,
    pytest.mark.skipif(
        possible()[0] != "cell" or os.geteuid() != 0, reason="sites below /srv are root's, in cells"
    ),
]

NGINX = """worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  limit_req_zone $binary_remote_addr zone=one:1m rate=10r/s;
  server {{
    listen 127.0.0.1:8080;
    root {folder}/pages;
    location /limited/ {{ limit_req zone=one burst=1 nodelay; }}
  }}
  server {{
    listen 127.0.0.1:8443 ssl;
    keepalive_timeout 0;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/key.pem;
    ssl_session_tickets off;
    ssl_protocols TLSv1.2;
    root {folder}/pages;
  }}
}}
"""
LIMITED = "    location /limited/ { limit_req zone=one burst=1 nodelay; }"
SLOW = """
import time

def application(environ, start_response):
    time.sleep(0.2)
    start_response("200 OK", [])
    return [b"slow"]

async def blocking(scope, receive, send):
    if scope["type"] == "http":
        time.sleep(0.05)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"slow"})
"""


@pytest.fixture
def srv(monkeypatch):
    folder = Path(tempfile.mkdtemp(dir="/srv", prefix="httpdyno-test-"))
    folder.chmod(0o755)
    monkeypatch.chdir(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def nginx(srv):
    (srv / "pages/limited").mkdir(parents=True)
    for page in ("index.html", "limited/index.html"):
        (srv / "pages" / page).write_text("a page of some length\n")
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=shop.example"]
    subprocess.run([*key, *names], cwd=srv, check=True, capture_output=True)
    file = srv / "nginx.conf"
    file.write_text(NGINX.format(folder=srv))
    return file


@pytest.mark.real_server("nginx")
def test_a_limit_is_named_with_its_line_and_files_are_told(nginx, own_folders, capsys):
    options = ["-o", str(own_folders / "study"), "--listener", "8080", "-c", "8"]
    assert run(["adopt", *options, "--get", "/", "--get", "/limited/", str(nginx)]) == 0
    out = capsys.readouterr().out
    assert " clients at a time were limited (`limit_req zone=one burst=1 nodelay`, " in out
    assert f"{nginx}:{1 + nginx.read_text().splitlines().index(LIMITED)})" in out
    # Pages are files: what costs to open them is proposed, or listed with what it needs.
    assert "open_file_cache" in (own_folders / "study/study.toml").read_text()


@pytest.mark.real_server("nginx")
def test_handshakes_that_are_never_taken_up_propose_a_cache(nginx, own_folders, capsys):
    options = ["-o", str(own_folders / "study"), "--listener", "8443", "-c", "8"]
    assert run(["adopt", *options, "--get", "/", str(nginx)]) == 0
    out = capsys.readouterr().out
    assert "ssl_session_cache  none → 10m/5m: " in out
    assert "0 sessions taken up again" in out


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("gunicorn -w 2 -b 127.0.0.1:8000 slow:application", "waiting"),
        ("gunicorn -w 2 -b unix:slow.sock slow:application", "waiting"),
        # It accepts everybody at once, and then reads nobody.
        ("uvicorn --workers 2 slow:blocking", "unread"),
    ],
)
def test_workers_that_all_sleep_are_seen_whatever_others_do_on_this_machine(
    srv, own_folders, capsys, command, where
):
    (srv / "slow.py").write_text(SLOW)
    study = own_folders / "study"
    options = ["-o", str(study), "-c", "40", "--get", "/", "--knob", "backlog=9"]
    assert run(["adopt", *options, "--", sys.executable, "-m", *command.split()]) == 0
    out = capsys.readouterr().out
    seen = json.loads((study / "rehearsal.json").read_text())["burst"]
    assert sum(seen[where].values()) > 2
    assert "workers  2 → 16, 32: all 2 were taken and connections waited, while 0." in out


def test_a_queue_that_overflows_is_counted(srv, own_folders):
    (srv / "slow.py").write_text(SLOW)
    study = own_folders / "study"
    command = [sys.executable, "-m", "gunicorn", "-w", "1", "--backlog", "2"]
    options = ["-o", str(study), "-c", "2", "--get", "/", "--knob", "workers=2"]
    words = ["adopt", *options, "--", *command, "-b", "127.0.0.1:8000", "slow:application"]
    assert run(words) == 0
    own = open_study(str(study))
    with new_run_root() as root:
        arm = load_target(own).spawn(
            own.server, root.folder, own.start_configuration(), root.new_place("arm")
        )
        assert isinstance(arm, RunningCopy), arm
        try:
            assert isinstance(arm.await_ready(20.0), Effective)
            seen = burst(arm, Workload(connections=40), 1.0)
        finally:
            arm.stop()
    assert seen is not None
    assert seen.overflows
    assert max(seen.waiting.values()) >= 2
    assert seen.cpus_busy < 1
