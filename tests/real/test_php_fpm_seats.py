"""php-fpm where its copies really sit: in a cell at its own address, and behind a wall."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec import structs
from tests.isolation import no_cell, not_safest
from tests.servers.sandbox.test_ordinary_user import NOBODY, as_nobody, interpreter

from httpdyno.host.process_identity import process_users
from httpdyno.model import Configuration, Edit, Effective, Level, Member, Survey
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.php_fpm.copy import PhpFpmInsight
from httpdyno.servers.php_fpm.fastcgi import ask
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox import landlock_rules
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.sandbox.landlock import WallSeat, open_wall
from httpdyno.servers.sandbox.namespace import CellSeat, open_cell
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.stack.snapshot import edited_files
from httpdyno.telemetry.status import status

pytestmark = pytest.mark.real_server("php-fpm8.2", "ss")

ADAPTER = PhpFpm()
DEADLINE_S = 15.0
POOL = """[shop]
user = www-data
group = www-data
listen = {listen}
listen.owner = www-data
access.log = {folder}/$pool.access.log
pm = ondemand
pm.max_children = 5
[other]
user = www-data
listen = 127.0.0.1:9102
pm = static
pm.max_children = 2
"""
VALUES: dict[str, Level] = {
    "pm@shop": "dynamic",
    "pm.max_children@other": 3,
    "listen.backlog@shop": 77,
    "opcache.memory_consumption": 64,
    "opcache.jit": "tracing/32M",
    "opcache.revalidate_freq": 60,
    "opcache.revalidate_freq@shop": 30,
}


class Sat:
    """A copy with values, in a seat."""

    def __init__(self, kind, place, member):
        files = ADAPTER.read(member)
        survey = ADAPTER.survey(member, files, None)
        assert isinstance(survey, Survey)
        changes = ADAPTER.change_set(survey, files, VALUES)
        private: tuple[Edit, ...] = ()
        if kind == "wall":
            # What a wall changes is asked of a seat that nothing is in yet.
            private = ADAPTER.private(survey, files, WallSeat(place, "wall"))
        edits = (*changes.edits, *private)
        added = {path: text.encode() for path, text in changes.added.items()}
        wish = CellWish(
            files={**files.texts, **edited_files(files.texts, edits), **added},
            writes=survey.writes,
        )
        seat = open_cell(place, wish) if kind == "cell" else open_wall(place, wish)
        assert isinstance(seat, CellSeat | WallSeat), seat
        self.seat, self.place = seat, place
        self.launch = ADAPTER.launch(
            member, survey, seat, Configuration(values=dict(VALUES)), changes
        )

    def __enter__(self):
        self.process = self.seat.spawn(
            self.launch.command,
            environment={"PATH": os.defpath, **self.launch.environment},
            folder=self.launch.folder,
            user=self.launch.user,
            log=self.place.folder / "php.log",
        )
        assert self.launch.insight is not None
        insight = self.launch.insight(self.process)
        assert isinstance(insight, PhpFpmInsight)
        return insight

    def __exit__(self, *_):
        self.process.stop()
        self.seat.close()
        assert not Path(f"/proc/{self.process.pid}").exists()


@pytest.fixture
def place():
    with new_run_root() as root:
        yield root.new_place("php")


def member_at(folder, listen):
    main = folder / "php-fpm.conf"
    main.write_text(f"[global]\nerror_log = {folder}/theirs.log\ninclude={folder}/*.pool\n")
    (folder / "all.pool").write_text(POOL.format(listen=listen, folder=folder))
    return Member(name="php", kind="php-fpm", main=str(main), program="/usr/sbin/php-fpm8.2")


def in_force(insight):
    deadline_s = time.monotonic() + DEADLINE_S
    while lacking := insight.lacking():
        assert time.monotonic() < deadline_s, f"{lacking}\n{insight.words()}"
        time.sleep(0.02)
    found = insight.effective()
    assert isinstance(found, Effective)
    return found


@pytest.mark.parametrize(
    ("kind", "listen"),
    [("cell", "/run/shop.sock"), ("cell", "127.0.0.1:9101"), ("wall", "127.0.0.1:9101")],
)
def test_what_was_asked_is_in_force_and_theirs_are_untouched(place, own_folders, kind, listen):
    if kind == "cell" and possible()[0] != "cell":
        pytest.skip(not_safest())
    if kind == "wall" and not landlock_rules.version():
        pytest.skip("this kernel has no Landlock")
    member = member_at(own_folders, listen)
    before = {path: path.read_bytes() for path in own_folders.iterdir() if path.is_file()}
    with Sat(kind, place, member) as insight:
        found = in_force(insight)
        assert {name: found.values[name] for name in VALUES} == found.asked
        # What php-fpm would have refused was put right.
        assert found.values["pm.spare_servers@shop"] == "1/1/2"
        assert insight.status("other").n_total == 3
        said = [status(page.text(DEADLINE_S)) for page in insight.status_pages()]
        assert all(each is not None and each.server == "php-fpm" for each in said)
        assert [sum(each.states.values()) for each in said if each is not None][-1] == 3
    after = {path: path.read_bytes() for path in own_folders.iterdir() if path.is_file()}
    assert after == before
    assert not Path("/run/shop.sock").exists()
    assert not Path("/etc/php/8.2/fpm/conf.d/99-httpdyno.ini").exists()


def test_a_page_keeps_its_session_in_the_copy(place, own_folders):
    if possible()[0] != "cell":
        pytest.skip(not_safest())
    script = own_folders / "session.php"
    script.write_text(
        "<?php session_id('httpdyno-test'); session_start(); "
        "$_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1; "
        "echo $_SESSION['n'], error_get_last()['message'] ?? '';"
    )
    member = member_at(own_folders, "/run/shop.sock")
    sat = Sat("cell", place, member)
    with sat as insight:
        in_force(insight)
        parameters = {"SCRIPT_FILENAME": str(script), "SCRIPT_NAME": "/session.php"}
        inside = f"unix:{Path('/proc', str(sat.process.pid), 'root', 'run/shop.sock')}"
        answers = [ask(inside, parameters, timeout_s=DEADLINE_S).body for _ in range(2)]
    assert answers == [b"1", b"2"]
    assert not list(Path("/var/lib/php/sessions").glob("sess_httpdyno-test"))


USERS_COPY = """
from httpdyno.servers.sandbox.user_namespace import run_anew_in_user_namespace
run_anew_in_user_namespace()
import json, sys
from httpdyno.model import Member
from tests.real.test_php_fpm_seats import Sat, in_force
from httpdyno.servers.run.folder import new_run_root
member = Member(name="php", kind="php-fpm", main=sys.argv[1], program="/usr/sbin/php-fpm8.2")
with new_run_root() as root, Sat("cell", root.new_place("php"), member) as insight:
    found = in_force(insight)
print(json.dumps([found.values, found.asked]))
"""


@pytest.mark.skipif(bool(no_cell()), reason=no_cell() or "cells can be had")
def test_an_ordinary_user_has_a_copy_of_what_root_runs(own_folders):
    if not interpreter():
        pytest.skip("there is no Python of this version that an ordinary user may run")
    member = member_at(own_folders, "/run/shop.sock")
    run = own_folders / "own-run"
    run.mkdir()
    if os.geteuid() == 0:
        os.chown(run, NOBODY, NOBODY)
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join([path for path in sys.path if path]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HTTPDYNO_RUN_DIR": str(run),
    }
    said = subprocess.run(
        [interpreter(), "-c", USERS_COPY, member.main],
        **as_nobody(environment),
        check=False,
        timeout=50,
    )
    if "cell: cannot make namespaces" in said.stderr:
        pytest.skip("ordinary users get no user namespaces here")
    assert said.returncode == 0, said.stderr
    values, asked = json.loads(said.stdout)
    assert {name: values[name] for name in asked} == asked


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs another user's server")
def test_root_has_a_copy_of_what_an_ordinary_user_runs(place, own_folders):
    if possible()[0] != "cell":
        pytest.skip(not_safest())
    member = structs.replace(member_at(own_folders, "127.0.0.1:9101"), user="nobody")
    for path in (own_folders, *own_folders.glob("*.*")):
        os.chown(path, NOBODY, NOBODY)
    sat = Sat("cell", place, member)
    with sat as insight:
        found = in_force(insight)
        assert {name: found.values[name] for name in VALUES} == found.asked
        assert insight.status("other").n_total == 3
        assert process_users(sat.process.pid) == {NOBODY}
