"""An application with a SQLite file: seeded in each copy, in a cell and behind a wall."""

import os
import shutil
import sqlite3
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
from msgspec import structs
from tests.isolation import no_wall
from tests.says import says
from tests.servers.stack.toy import Toy

from httpdyno.catalog import open_study
from httpdyno.cli.app import run
from httpdyno.errors import AdapterError
from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.design.smoke_test import one_start, rehearse
from httpdyno.model import (
    Configuration,
    Edit,
    Effective,
    Member,
    ServerSpec,
    SideCommand,
    Site,
    Survey,
)
from httpdyno.registry import load_target
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.network.probe import Patience, ask
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.stack.adapter import Launch
from httpdyno.servers.stack.copies import SITE, CopyStack
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import Found, Snapshot

pytestmark = pytest.mark.real_server

READY_S = 20.0
APPLICATION = """
import os, sqlite3

def application(environ, start_response):
    database = sqlite3.connect(os.environ.get("SHOP_DATABASE", "data/shop.sqlite"))
    with database:
        if environ["PATH_INFO"] == "/add":
            database.execute("insert into items values ('added')")
        rows = [name for name, in database.execute("select name from items order by name")]
    database.close()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [" ".join(rows).encode()]
"""
SEED = """
import os, sqlite3, sys

database = sqlite3.connect(os.environ.get("SHOP_DATABASE", "data/shop.sqlite"))
with database:
    database.execute("create table if not exists items (name text)")
    database.execute("delete from items")
    database.executemany("insert into items values (?)", [(name,) for name in sys.argv[1:]])
database.close()
"""
COMMAND = [sys.executable, "-m", "gunicorn", "-w", "1", "-b", "127.0.0.1:8000", "shop:application"]
OPTIONS = ["--get", "/", "--knob", "workers=2", "--budget", "1m"]


COMMAND_OF_SEED = SideCommand(run=(sys.executable, "seed.py", "one", "two"))
SERVE = """
import sys
from wsgiref.simple_server import make_server
from shop import application
port = dict(line.split(" = ") for line in open(sys.argv[1]))["port"].strip()
make_server("127.0.0.1", int(port), application).serve_forever()
"""

IS_ROOT = os.geteuid() == 0
in_cells = pytest.mark.skipif(
    possible()[0] != "cell" or not IS_ROOT, reason="sites below /srv are root's, in cells"
)


class Walled(Toy):
    """The application by a command of its own, whose port is edited where a copy needs that."""

    def private(self, survey, files, seat):
        del files
        origin = survey.reading("port").origin
        port = seat.port(survey.listeners[0].address).rpartition(":")[2]
        return (Edit(file=origin.file, start=origin.start, end=origin.end, text=port),)

    def launch(self, member, survey, seat, asked, changes):
        del survey, asked, changes
        command = [sys.executable, "-c", SERVE, seat.path(member.main)]
        return Launch(command=command, folder=member.folder)


def walled(folder, **member):
    """Return the server of the application, whose copies sit behind walls."""
    adapter = Walled()
    front = Member(
        name="front", kind="toy", main=str(folder / "main.toy"), folder=str(folder), **member
    )
    files = adapter.read(front)
    survey = adapter.survey(front, files, None)
    assert isinstance(survey, Survey)
    snapshot = Snapshot(members={"front": Found(member=front, files=files, survey=survey)})
    site = Site(members=(front,), isolation="wall")
    return CopyStack(site, snapshot, {"toy": adapter}, seat_maker("wall"))


def spec(*before):
    return ServerSpec(adapter=SITE, before=before)


@pytest.fixture
def shop(own_folders, monkeypatch):
    """A folder of somebody's with a database that has what is real."""
    # Not below /tmp, which each copy has anew: what is written there needs no word in a study.
    at = Path(tempfile.mkdtemp(dir="/srv", prefix="httpdyno-test-")) if IS_ROOT else own_folders
    at.chmod(0o755)
    found = at / "shop"
    (found / "data").mkdir(parents=True)
    (found / "shop.py").write_text(APPLICATION)
    (found / "seed.py").write_text(SEED)
    (found / "main.toy").write_text("port = 8000\n")
    database = sqlite3.connect(found / "data/shop.sqlite")
    with database:
        database.execute("create table items (name text)")
        database.execute("insert into items values ('real')")
    database.close()
    monkeypatch.chdir(found)
    yield found
    if IS_ROOT:
        shutil.rmtree(at)


def contents(folder):
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def said(running, path="/"):
    patience = Patience(READY_S)
    answer = ask(
        running.addresses[0],
        path,
        patience,
        body_patience=patience,
        most_bytes=1 << 16,
        network=running.networks[0],
    )
    assert answer.is_whole, answer
    return answer.body.decode()


def side_by_side(server, own, start=None):
    """Start two arms at the same time; return what each has after one of them was written to."""
    start = start or Configuration()
    running = []
    with new_run_root() as root:
        try:
            for number in range(2):
                place = root.new_place(f"arm-{number}")
                arm = server.spawn(own, root.folder, start, place)
                assert not isinstance(arm, NotRunning), arm
                running.append(arm)
                ready = arm.await_ready(READY_S)
                assert isinstance(ready, Effective), ready
            said(running[1], "/add")
            return [said(arm) for arm in running]
        finally:
            for arm in running:
                arm.stop()


@in_cells
def test_in_a_cell_each_arm_has_the_database_at_its_path(shop, own_folders, capsys):
    before = contents(shop)
    own = own_folders / "study"
    seed = f"{sys.executable} seed.py one two"
    options = ["-o", str(own), *OPTIONS, "--isolation", "cell", "--prepare", seed]
    assert run(["adopt", *options, "--", *COMMAND]) == 0
    written = tomllib.loads((own / "study.toml").read_text())["site"]
    assert written["prepare"] == [{"run": seed.split()}]
    assert written["writes"] == [str(shop / "data")]
    study = open_study(str(own))
    rehearse(make_plan(study, seed=1), load_target(study))
    arms = side_by_side(load_target(study), study.server, study.start_configuration())
    assert arms == ["one two", "added one two"]
    assert contents(shop) == before
    capsys.readouterr()
    assert run(["study", "check", str(own)]) == 0
    assert "of which its `prepare` took" in capsys.readouterr().out
    file = own / "study.toml"
    built = f"""[[site.prepare]]
run = ["sh", "-c", "SHOP_DATABASE={{shared}}/all {seed}"]
each = "run"

[[site.prepare]]
run = ["cp", "{{shared}}/all", "data/shop.sqlite"]

[workload]"""
    at = file.read_text().index("[[site.prepare]]")
    end = file.read_text().index("[workload]") + len("[workload]")
    file.write_text(file.read_text()[:at] + built + file.read_text()[end:])
    assert run(["study", "check", str(own)]) == 0
    assert contents(shop) == before


@pytest.mark.skipif(bool(no_wall()), reason=no_wall() or "walls can be had")
def test_behind_a_wall_each_arm_has_it_in_a_folder_of_its_own(shop):
    before = contents(shop)
    server = walled(shop, environment={"SHOP_DATABASE": "{run}/shop.sqlite"})
    assert side_by_side(server, spec(COMMAND_OF_SEED)) == ["one two", "added one two"]
    assert contents(shop) == before


@pytest.mark.skipif(bool(no_wall()), reason=no_wall() or "walls can be had")
def test_behind_a_wall_a_seed_cannot_write_in_what_is_theirs(shop):
    before = contents(shop)
    with new_run_root() as root:
        place = root.new_place("arm")
        outcome = walled(shop).spawn(spec(COMMAND_OF_SEED), root.folder, Configuration(), place)
    assert isinstance(outcome, NotRunning)
    assert outcome.status == "refused"
    assert "readonly database" in text(outcome.detail)
    assert contents(shop) == before


@in_cells
def test_what_a_seed_says_when_it_fails_is_told(shop, own_folders, capsys):
    own = own_folders / "study"
    options = ["-o", str(own), *OPTIONS, "--isolation", "cell"]
    assert run(["adopt", *options, "--prepare", "cat no-such-file", "--", *COMMAND]) == 3
    assert "`cat no-such-file` ended with 1" in capsys.readouterr().err
    assert not own.exists()
    assert run(["adopt", *options, "--", *COMMAND]) == 0
    study = open_study(str(own))
    broken = structs.replace(study.server, before=(SideCommand(run=("cat", "no-such-file")),))
    refused = says("refused its configuration: `cat no-such-file` ended")
    with pytest.raises(AdapterError, check=refused):
        one_start(load_target(study), structs.replace(study, server=broken))
