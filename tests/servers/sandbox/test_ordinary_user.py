"""Cells of a user who is not root, in a process that ran itself anew in a user namespace."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import msgspec
import pytest
from tests.isolation import no_cell, no_wall

import httpdyno
from httpdyno.servers.sandbox import landlock_rules, user_namespace

NOBODY = 65534
SCRIPT = """
from httpdyno.host.rights import (outside_ids,)
from httpdyno.host.rights import (is_root_of_the_machine,)
from httpdyno.servers.sandbox.user_namespace import run_anew_in_user_namespace
run_anew_in_user_namespace()
import json, os, sys, time, urllib.request
from httpdyno.servers.network.address import within
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.attempts import Attempts
from httpdyno.servers.sandbox.namespace import open_cell
from httpdyno.servers.sandbox.sandbox import CellWish
SERVER = '''
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(f"{sys.argv[1]} of {os.getuid()}".encode())
HTTPServer(("0.0.0.0", 80), Handler).serve_forever()
'''
def answer():
    deadline_s = time.monotonic() + 10
    while True:
        try:
            return urllib.request.urlopen("http://203.0.113.80/", timeout=10).read().decode()
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.01)
found = {"ids": outside_ids(), "is_root": is_root_of_the_machine(), "answers": []}
with new_run_root() as root:
    wish = CellWish(files={"/etc/hostname": b"edited"}, writes=["/srv", sys.argv[1]])
    seats = [open_cell(root.new_place("cell"), wish) for _ in range(2)]
    if not hasattr(seats[0], "spawn"):
        sys.exit(text(seats[0].detail))
    processes = [
        seat.spawn([sys.executable, "-I", "-S", "-c", SERVER, f"copy {n}"], environment={},
            user="root", log=seat.folder / "log")
        for n, seat in enumerate(seats)
    ]
    found["answers"] = [within(seat.network, answer) for seat in seats]
    for process in processes:
        process.stop()
    words = "id -u; cat /etc/hostname; cd /var/log; echo x > new; touch /etc/new || echo kept; " \\
        f"cat {sys.argv[1]}/theirs; echo x > {sys.argv[1]}/theirs"
    said = seats[0].run(["sh", "-c", words], environment={"PATH": "/usr/bin:/bin"})
    found["said"] = said.output
    found["written"] = seats[0].written()
    with Attempts(seats[0]) as attempts:
        seats[0].run([sys.executable, "-I", "-S", "-c", sys.argv[2]], environment={})
        found["refused"] = attempts.refused()
        found["complaint"] = attempts.complaint
    for seat in seats:
        seat.close()
print(json.dumps(found))
"""
CALLER = """
import socket
for family, address in ((socket.AF_UNIX, "/nobody/db.sock"), (socket.AF_INET, ("10.0.0.5", 5432))):
    try:
        socket.socket(family).connect(address)
    except OSError:
        pass
"""
WALL_SCRIPT = """
import json, sys
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.attempts import Attempts
from httpdyno.servers.sandbox.landlock import open_wall
from httpdyno.servers.sandbox.sandbox import CellWish
with new_run_root() as root:
    seat = open_wall(root.new_place("wall"), CellWish())
    with Attempts(seat) as attempts:
        seat.run([sys.executable, "-I", "-S", "-c", sys.argv[1]], environment={})
        print(json.dumps([attempts.refused(), attempts.reached(), attempts.complaint]))
    seat.close()
"""


@cache
def interpreter():
    """Return a Python of this version that nobody may run; empty where there is none."""
    if os.geteuid() != 0:
        return sys.executable
    version = ".".join(str(n) for n in sys.version_info[:2])
    ask = "import sys; print('.'.join(str(n) for n in sys.version_info[:2]))"
    for path in (sys.executable, f"/usr/bin/python{version}"):
        try:
            said = subprocess.run([path, "-c", ask], **as_nobody({}), check=False)
        except OSError:
            continue
        if said.stdout.strip() == version:
            return path
    return ""


def as_nobody(environment):
    found = {"capture_output": True, "text": True, "env": environment, "cwd": "/"}
    if os.geteuid() == 0:
        found |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    return found


@pytest.fixture
def theirs(own_folders):
    """A folder of the user's own."""
    folder = own_folders / "theirs"
    folder.mkdir()
    (folder / "theirs").write_text("as found\n")
    for path in (folder, folder / "theirs"):
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    return folder


def run_as_nobody(folder, script, *words):
    """Run a script as an ordinary user who has a run folder of his own."""
    run = folder / "own-run"
    run.mkdir()
    if os.geteuid() == 0:
        os.chown(run, NOBODY, NOBODY)
    packages = [Path(str(each.__file__)).parent.parent for each in (httpdyno, msgspec)]
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(str(path) for path in packages),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HTTPDYNO_RUN_DIR": str(run),
    }
    command = [interpreter(), "-c", script, *words]
    return subprocess.run(command, **as_nobody(environment), check=False)


@pytest.mark.skipif(bool(no_cell()), reason=no_cell() or "cells can be had")
def test_an_ordinary_user_has_cells_too_and_runs_in_them_as_himself(own_folders, theirs):
    if not interpreter():
        pytest.skip("there is no Python of this version that an ordinary user may run")
    before = Path("/proc/self/mountinfo").read_text()
    said = run_as_nobody(own_folders, SCRIPT, str(theirs), CALLER)
    if "cell: cannot make namespaces" in said.stderr:
        pytest.skip("ordinary users get no user namespaces here")
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    uid, gid = (NOBODY, NOBODY) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    assert found == {
        "ids": [uid, gid],
        "is_root": False,
        "answers": [f"copy 0 of {uid}", f"copy 1 of {uid}"],
        "said": f"{uid}\nedited" + "kept\nas found\n",
        "written": [str(theirs / "theirs"), "/var/log/new"],
        "refused": ["unix:/nobody/db.sock", "tcp 10.0.0.5:5432"],
        "complaint": None,
    }
    assert (theirs / "theirs").read_text() == "as found\n"
    assert Path("/proc/self/mountinfo").read_text() == before


@pytest.mark.skipif(
    bool(no_wall()) or not landlock_rules.keeps_tcp(),
    reason="a wall with rules for TCP is needed",
)
def test_an_ordinary_users_copy_is_named_behind_a_wall_too(own_folders):
    if not interpreter():
        pytest.skip("there is no Python of this version that an ordinary user may run")
    said = run_as_nobody(own_folders, WALL_SCRIPT, CALLER)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout) == [["unix:/nobody/db.sock", "tcp 10.0.0.5:5432"], [], None]


def test_root_and_who_did_so_already_does_not_run_anew(monkeypatch):
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("it runs anew"))
    for user, mark in ((0, ""), (1000, "1")):
        monkeypatch.setattr(os, "geteuid", lambda u=user: u)
        if mark:
            monkeypatch.setenv("HTTPDYNO_USER_NAMESPACE", mark)
        user_namespace.run_anew_in_user_namespace()


def test_a_command_runs_anew_with_its_own_words(monkeypatch):
    asked = []
    monkeypatch.setattr(os, "execve", lambda *words: asked.append(words))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv("HTTPDYNO_USER_NAMESPACE", raising=False)
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "httpdyno", "tune", "shop"])
    user_namespace.run_anew_in_user_namespace()
    ((program, words, environment),) = asked
    assert program == sys.executable
    assert words[-5:] == [sys.executable, "-m", "httpdyno", "tune", "shop"]
    assert environment["HTTPDYNO_USER_NAMESPACE"] == "1"
