"""Pools of servers that httpdyno did not start, without a module in them, seen from outside."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest
from tests.conftest import PROGRAM_PATH
from tests.real.foreground import await_children, free_port, started_in
from tests.store.postgresql import engine_of, postgresql

from httpdyno.cli.app import run

N_WORKERS = 3
APPLICATION = """
CATALOGUE = {n: f"article {n}" for n in range(100_000)}

def app(environ, answer):
    answer("200 OK", [])
    return [CATALOGUE[7].encode()]
"""
APACHE = """
ServerRoot {folder}
ServerName pool.example
PidFile {folder}/pid
DefaultRuntimeDir {folder}
Mutex posixsem
ErrorLog {folder}/error.log
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
Listen 127.0.0.1:{port}
StartServers 3
MinSpareServers 3
MaxSpareServers 3
User nobody
Group nogroup
"""
PHP_FPM = """
[global]
error_log = {folder}/error.log
daemonize = no
[www]
user = nobody
group = nogroup
listen = 127.0.0.1:{port}
pm = static
pm.max_children = 3
"""
GUNICORN = [sys.executable, "-m", "gunicorn", "shop:app", "-w3", "--preload", "--no-control-socket"]


@pytest.fixture
def start(own_folders):
    with started_in(own_folders) as start:
        yield start


@pytest.fixture
def gunicorn(own_folders, start):
    port = free_port()
    (own_folders / "shop.py").write_text(APPLICATION)
    pid = start([*GUNICORN, "-b", f"127.0.0.1:{port}"], port)
    await_children(N_WORKERS, pid)
    # A worker that has answered has done all that it does first.
    urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10).close()
    return pid, port


def started(start, folder, program, text, words):
    path = shutil.which(program, path=PROGRAM_PATH)
    assert path
    port, file = free_port(), folder / f"{program}.conf"
    file.write_text(text.format(folder=folder, port=port))
    pid = start([path, *(word.format(file=file) for word in words)], port)
    await_children(N_WORKERS, pid)
    return pid, port, file


def shown(capsys, *words):
    assert run(["inspect", "--json", "-", *words]) == 0
    return json.loads(capsys.readouterr().out)["servers"]


def sizes_of(pid):
    """Process → what the kernel says of its memory, of a whole tree."""
    root = psutil.Process(pid)
    return {each.pid: each.memory_full_info() for each in (root, *root.children(recursive=True))}


def agrees(server, pid, before):
    """The pool is what the kernel tells another program of the same processes.

    What of their libraries others share with them changes as those come and go: with sizes of
    `before`, it lies between both.
    """
    sizes = sizes_of(pid)
    assert server["workers"][0]["pid"] == pid
    assert {each["pid"] for each in server["workers"]} == set(sizes)
    seen = server["pool"]
    for name in ("uss", "pss"):
        sums = [sum(getattr(each, name) for each in of.values()) for of in (before, sizes)]
        assert 0.9 * min(sums) <= seen[f"{name}_bytes"] <= 1.1 * max(sums)
    assert seen["uss_bytes"] <= seen["pss_bytes"] <= seen["rss_bytes"]
    assert seen["n_workers"] == len(sizes) - 1
    return seen


def test_a_preloaded_application_is_counted_once(gunicorn, capsys):
    pid, port = gunicorn
    before = sizes_of(pid)
    [server] = shown(capsys, "--pid", str(pid))
    seen = agrees(server, pid, before)
    # The catalogue is in four resident sizes, and in memory about once.
    assert seen["rss_bytes"] > 2 * seen["pss_bytes"]
    assert seen["n_workers"] == N_WORKERS
    bound = seen["bound"]
    assert bound["n"] > bound["n_by_rss"] > 0
    [queue] = seen["sockets"]["queues"]
    assert queue["address"] == f"127.0.0.1:{port}"
    assert queue["backlog"] > 0
    assert all(each["age_s"] > 0 and each["cpu_s"] >= 0 for each in server["workers"])
    assert run(["inspect", f"pid:{pid}"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "counted once" in text
    assert all(f"{each['pid']} " in text for each in server["workers"])


@pytest.mark.real_server("apache2")
def test_apache_needs_no_module(start, own_folders, capsys):
    pid, _, file = started(start, own_folders, "apache2", APACHE, ["-f", "{file}", "-DFOREGROUND"])
    for words in (["--config", str(file)], [f"pid:{pid}"], ["--server", "apache2"]):
        before = sizes_of(pid)
        [server] = [each for each in shown(capsys, *words) if each["pid"] == pid]
        assert agrees(server, pid, before)["n_workers"] == N_WORKERS


@pytest.mark.real_server("php-fpm8.2")
def test_php_fpm_needs_no_module(start, own_folders, capsys):
    words = ["-F", "-R", "-y", "{file}"]
    pid, port, _ = started(start, own_folders, "php-fpm8.2", PHP_FPM, words)
    before = sizes_of(pid)
    [server] = shown(capsys, "--pid", str(pid))
    seen = agrees(server, pid, before)
    assert seen["n_workers"] == N_WORKERS
    assert [each["address"] for each in seen["sockets"]["queues"]] == [f"127.0.0.1:{port}"]


@pytest.mark.real_server("postgres", "initdb")
def test_postgresql_is_a_pool_as_any_other(capsys):
    with postgresql() as url:
        folder = Path(url.partition("?host=")[2])
        pid = int((folder / "data/postmaster.pid").read_text().splitlines()[0])
        engine = engine_of(url)
        try:
            with engine.connect():
                before = sizes_of(pid)
                [server] = shown(capsys, f"pid:{pid}")
                seen = agrees(server, pid, before)
        finally:
            engine.dispose()
    assert server["kind"] == "command"
    # What its processes share is memory of its own making; each resident size has it.
    assert seen["rss_bytes"] > seen["pss_bytes"]
    assert [each["address"] for each in seen["sockets"]["queues"]] == [
        f"unix:{folder}/.s.PGSQL.5432"
    ]


def test_another_users_pool_says_what_it_does_not_show(gunicorn):
    pid, _ = gunicorn
    code = (
        "import os, sys\n"
        "from httpdyno.cli.app import run\n"
        "look = ['inspect', '--json', '-', f'pid:{sys.argv[1]}']\n"
        # What is imported on the way may lie where only root may read.
        "run(look)\n"
        "print('as nobody', flush=True)\n"
        "if os.geteuid() == 0:\n"
        "    os.setgroups([])\n    os.setgid(65534)\n    os.setuid(65534)\n"
        "sys.exit(run(look))\n"
    )
    # For an ordinary user the first process is root's.
    target = pid if os.geteuid() == 0 else 1
    seen = subprocess.run(
        [sys.executable, "-c", code, str(target)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path("/"),
    )
    [server] = json.loads(seen.stdout.partition("as nobody\n")[2])["servers"]
    assert server["pool"]["pss_bytes"] is None
    assert server["pool"]["bound"] is None
    assert server["pool"]["rss_bytes"] > 0
    assert "memory not visible without root" in server["not_seen"]
