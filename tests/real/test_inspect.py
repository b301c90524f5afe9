"""`httpdyno inspect` of an nginx and a gunicorn that really run, in folders of the test's own."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest
from tests.conftest import PROGRAM_PATH
from tests.real.foreground import await_children, free_port, started_in

from httpdyno.cli.app import run

TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@pytest.fixture
def start(own_folders):
    with started_in(own_folders) as start:
        yield start


def shown(capsys, *words):
    assert run(["inspect", "--json", "-", *words]) == 0
    return json.loads(capsys.readouterr().out)["servers"]


def state(folder):
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_size, path.lstat().st_ino)
        for path in folder.rglob("*")
        if "run" not in path.parts and "data" not in path.parts
    }


@pytest.mark.real_server("nginx")
def test_nginx_is_seen_with_what_serves_it_and_not_touched(start, own_folders, capsys):
    port, behind = free_port(), free_port()
    (own_folders / "shop.py").write_text(
        "def app(environ, answer):\n    answer('200 OK', [])\n    return [b'x']\n"
    )
    gunicorn = [sys.executable, "-m", "gunicorn", "shop:app", "-b", f"127.0.0.1:{behind}", "-w2"]
    gunicorn += ["--threads", "2"]
    gunicorn_pid = start([*gunicorn, "--no-control-socket"], behind)
    program = shutil.which("nginx", path=PROGRAM_PATH)
    assert program
    main = own_folders / "nginx.conf"
    folders = "".join(f"{name}_temp_path {own_folders}/{name};\n" for name in TEMPORARY)
    main.write_text(
        f"pid {own_folders}/pid;\nerror_log {own_folders}/error.log;\nworker_processes 2;\n"
        "daemon off;\nevents {}\nhttp {\n"
        f"access_log {own_folders}/access.log;\n{folders}"
        f"upstream kept {{ server 127.0.0.1:{behind}; keepalive 4; keepalive_timeout 7s; }}\n"
        f"server {{ listen 127.0.0.1:{port}; server_name shop.example;\n"
        f"location / {{ proxy_pass http://127.0.0.1:{behind}; }}\n"
        "location /kept { proxy_pass http://kept; proxy_http_version 1.1; "
        'proxy_set_header Connection ""; } } }\n'
    )
    pid = start([program, "-c", str(main), "-e", f"{own_folders}/error.log"], port)
    await_children(2, pid, gunicorn_pid)
    before = state(own_folders)
    [front] = [each for each in shown(capsys, f":{port}") if each["kind"] == "nginx"]
    said = subprocess.run([program, "-v"], check=True, capture_output=True, text=True).stderr
    assert f"/{front['version']}" in said
    assert (front["pid"], front["main"]) == (pid, str(main))
    assert front["listens"] == [f"127.0.0.1:{port}"]
    assert len(front["child_pids"]) == 2
    assert front["memory_bytes"] > 0
    [back] = [each for each in shown(capsys, f"pid:{gunicorn_pid}") if each["kind"] == "gunicorn"]
    assert back["listens"] == [f"127.0.0.1:{behind}"]
    assert len(back["child_pids"]) == 2
    assert [each["to"] for each in front["survey"]["backends"]] == [f"127.0.0.1:{behind}"]
    [beside] = [each for each in shown(capsys, f":{port}") if each["pid"] == gunicorn_pid]
    # The one that closes an idle connection first is not the one that sends on it.
    told = {each["name"]: each["what"] for each in beside["findings"]}
    assert "nginx keeps it for 7 s" in told["gunicorn-closes-first"]
    assert front["changed_files"] == []
    assert {pid, gunicorn_pid} <= {each["pid"] for each in shown(capsys)}
    assert state(own_folders) == before
    assert run(["inspect", f":{port}"]) == 0
    said = capsys.readouterr().out
    assert f"process {pid} of " in said
    assert f"→ 127.0.0.1:{behind} (gunicorn {gunicorn_pid})" in said
    later_s = time.time() + 60
    os.utime(main, (later_s, later_s))
    [front] = [each for each in shown(capsys, f":{port}") if each["kind"] == "nginx"]
    assert front["changed_files"] == [str(main)]
