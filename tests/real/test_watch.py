"""Real servers watched, with the status pages that they have."""

import json
import re
import shutil
import socket
import sys
import time
import urllib.request

import pytest
from tests.conftest import PROGRAM_PATH
from tests.real.foreground import await_children, free_port, started_in

from httpdyno.cli.app import run
from httpdyno.errors import TargetError
from httpdyno.inspection.statsd import statsd_status_of
from httpdyno.inspection.status import status_page
from httpdyno.telemetry.watched import Watcher, first_look, next_look

N_WORKERS = 3
N_REQUESTS = 30
APACHE = """
ServerRoot {folder}
ServerName pool.example
PidFile {folder}/pid
DefaultRuntimeDir {folder}
Mutex posixsem
ErrorLog {folder}/error.log
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule status_module /usr/lib/apache2/modules/mod_status.so
Listen 127.0.0.1:{port}
StartServers 3
MinSpareServers 1
MaxSpareServers 3
User nobody
Group nogroup
<Location /status>
    SetHandler server-status
</Location>
"""
NGINX = """
daemon off;
worker_processes 3;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    server {{
        listen 127.0.0.1:{port};
        root {folder};
        location = /status {{ stub_status; }}
        location = /fpm {{
            fastcgi_param SCRIPT_NAME /fpm;
            fastcgi_param SCRIPT_FILENAME /fpm;
            fastcgi_param REQUEST_METHOD GET;
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_pass unix:{folder}/fpm.sock;
        }}
    }}
}}
"""
PHP_FPM = """
[global]
error_log = {folder}/error.log
daemonize = no
[www]
user = nobody
group = nogroup
listen = {folder}/fpm.sock
pm = static
pm.max_children = 3
pm.status_path = /fpm
"""


@pytest.fixture
def start(own_folders):
    with started_in(own_folders) as start:
        yield start


def started(start, file, port, command):
    """Start a server of such a configuration; give its pid when all workers are there."""
    path = shutil.which(command[0], path=PROGRAM_PATH)
    assert path
    file.write_text(file.read_text().format(folder=file.parent, port=port))
    pid = start([path, *command[1:]], port)
    await_children(N_WORKERS, pid)
    return pid


@pytest.fixture
def nginx(start, own_folders):
    port, file = free_port(), own_folders / "nginx.conf"
    file.write_text(NGINX)
    command = ["nginx", "-c", file, "-p", own_folders, "-e", own_folders / "error.log"]
    return started(start, file, port, command), port


def requests_seen(pid, url, asked):
    """Watch a server while it is asked; return what was seen in the end."""
    watcher = Watcher(pid, (), ask=status_page(url, 4.0))
    look = watcher.look()
    assert look is not None
    before = first_look(look)
    for _ in range(N_REQUESTS):
        with urllib.request.urlopen(asked, timeout=10) as answer:
            answer.read()
    look = watcher.look()
    assert look is not None
    seen = next_look(before, look)
    assert seen.requests_per_s is not None
    # A server counts just after it has answered.
    between_s = seen.now.said_at_s - before.now.said_at_s
    assert seen.requests_per_s * between_s == pytest.approx(N_REQUESTS, abs=1)
    return seen


@pytest.mark.real_server("apache2")
def test_apache_says_what_its_workers_do(start, own_folders, capsys):
    port, file = free_port(), own_folders / "apache2.conf"
    file.write_text(APACHE)
    pid = started(start, file, port, ["apache2", "-f", file, "-DFOREGROUND"])
    url = f"http://127.0.0.1:{port}/status?auto"
    seen = requests_seen(pid, url, url)
    assert seen.now.status.server == "Apache"
    assert sum(seen.now.status.states.values()) == seen.now.pool.n_workers
    assert sum(seen.state_ratios.values()) == pytest.approx(1)
    words = ["watch", f"pid:{pid}", "--once", "--every", "1s", "--status"]
    assert run([*words, url]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(r"_ waiting \d+ %.* of the workers' time in 2 samples", text)
    words_of = ["inspect", f"pid:{pid}", "--json", "-", "--status"]
    assert run([*words_of, f"http://127.0.0.1:{port}/status"]) == 0
    served = [each["n_requests"] for each in json.loads(capsys.readouterr().out)["workers"]]
    assert served[0] is None
    assert sum(each or 0 for each in served) >= 2
    assert run([*words_of, url]) == 3
    assert "does not tell how many requests" in capsys.readouterr().err
    # What a browser is shown has the same, and each worker's requests.
    assert run([*words, f"http://127.0.0.1:{port}/status"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Apache \S+/s requests; _ waiting \d+ %.* switches served age", text)


@pytest.mark.real_server("nginx")
def test_nginx_says_what_its_connections_do(nginx):
    pid, port = nginx
    url = f"http://127.0.0.1:{port}/status"
    assert requests_seen(pid, url, url).now.status.server == "nginx"


@pytest.mark.real_server("nginx", "php-fpm8.2")
@pytest.mark.parametrize("query", ["", "?json", "?full"])
def test_php_fpm_says_what_its_processes_do(nginx, start, own_folders, query, capsys):
    _, port = nginx
    file = own_folders / "fpm.conf"
    file.write_text(PHP_FPM)
    # It listens at a socket; nginx has the port.
    pid = started(start, file, port, ["php-fpm8.2", "-F", "-R", "-y", file])
    (own_folders / "fpm.sock").chmod(0o777)
    url = f"http://127.0.0.1:{port}/fpm{query}"
    expected = {"active": 1, "idle": N_WORKERS - 1}
    deadline_s = time.monotonic() + 10
    # Who answered just before may not have come back yet.
    while (seen := requests_seen(pid, url, url)).now.status.states != expected:
        assert time.monotonic() < deadline_s, seen.now.status.states
    assert seen.now.status.server == "php-fpm"
    words = ["watch", f"pid:{pid}", "--once", "--json", "-", "--every", "1s"]
    assert run([*words, "--status", url]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["status"]["remarks"][0] == "0 waiting in its queue"
    [queue] = said["queues"]
    assert queue["address"] == f"unix:{own_folders}/fpm.sock"
    assert said["behind"] == []
    assert run(["watch", f":{port}", "--once", "--json", "-", "--every", "100ms"]) == 0
    [php] = json.loads(capsys.readouterr().out)["behind"]
    assert php == {"to": f"unix:{own_folders}/fpm.sock", "by": f"php-fpm {pid}"}
    if query == "?full":
        assert run(["inspect", f"pid:{pid}", "--json", "-", "--status", url]) == 0
        workers = json.loads(capsys.readouterr().out)["workers"]
        assert sum(each["n_requests"] or 0 for each in workers) >= 2
        assert run(["inspect", f":{port}", "--status", url]) == 3
        assert "tells of other processes than" in capsys.readouterr().err


APPLICATION = """
import time

def application(environ, start_response):
    time.sleep(0.02)
    start_response("200 OK", [("Content-Length", "0")])
    return []
"""


def free_udp_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def started_gunicorn(start, folder, *more):
    """Start a gunicorn of one worker, which sleeps for each answer; give its pid and its port."""
    (folder / "slow.py").write_text(APPLICATION)
    port = free_port()
    words = ["-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--no-control-socket", *more]
    return start([sys.executable, *words, "slow:application"], port), port


@pytest.mark.real_server
def test_gunicorn_says_by_statsd_what_its_workers_do(start, own_folders, capsys):
    place = f"127.0.0.1:{free_udp_port()}"
    more = ("--statsd-host", place, "--statsd-prefix", "shop")
    pid, port = started_gunicorn(start, own_folders, *more)
    with statsd_status_of(pid) as said, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        assert said().n_requests == 0
        for _ in range(N_REQUESTS):
            urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=10).close()
            # Another server's, which sends to the same place.
            other.sendto(b"gunicorn.requests:1|c|@1.0", ("127.0.0.1", int(place.split(":")[1])))
        deadline_s, took_s, n_answers = time.monotonic() + 10, 0.0, 0
        while n_answers < N_REQUESTS and time.monotonic() < deadline_s:
            now = said()
            n_answers, took_s = now.n_requests or 0, now.answer_s or took_s
    assert n_answers == N_REQUESTS
    assert 0.02 <= took_s < 1
    words = ["watch", f"pid:{pid}", "--once", "--every", "100ms", "--status", "statsd"]
    assert run([*words, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["status"]["server"] == "gunicorn"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", int(place.split(":")[1])))
        assert run(words) == 3
    assert f"{place} cannot be heard" in capsys.readouterr().err


@pytest.mark.real_server
def test_a_gunicorn_without_statsd_cannot_be_heard(start, own_folders):
    pid, _ = started_gunicorn(start, own_folders)
    with pytest.raises(TargetError, match="sends no statsd"), statsd_status_of(pid):
        pass
