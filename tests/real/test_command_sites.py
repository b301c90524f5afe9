"""Copies of programs in cells: a port that stands in the code, a configuration in Python."""

import sys
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import structs

from httpdyno.cli.app import run
from httpdyno.model import Configuration, Effective, Member, Reading, Survey
from httpdyno.servers.command.knob import VARIABLE
from httpdyno.servers.command.server import Node
from httpdyno.servers.gunicorn import Gunicorn
from httpdyno.servers.gunicorn.statsd import udp_sockets
from httpdyno.servers.network.address import within
from httpdyno.servers.network.probe import Patience, ask
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.sandbox.namespace import CellSeat, open_cell
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.uvicorn import Uvicorn

pytestmark = [
    pytest.mark.real_server,
    pytest.mark.skipif(possible()[0] != "cell", reason="no cell can be made here"),
]

READY_S = 20.0
NODE = """
const fs = require("fs");
require("http").createServer((request, answer) => {
  let written = "yes";
  try { fs.writeFileSync(__dirname + "/written", "x"); } catch (error) { written = error.code; }
  answer.end(`${process.env.UV_THREADPOOL_SIZE || 4} ${process.argv.slice(2)} ${written}`);
}).listen(3000);
"""
WSGI = """
def application(environ, start_response):
    start_response("200 OK", [])
    return [environ["SERVER_PORT"].encode()]
"""
CONFIG = """
import os
bind = "127.0.0.1:8001"
workers = 1 + int(os.environ.get("MORE_WORKERS", "0"))
pidfile = os.path.join(os.path.dirname(__file__), "shop.pid")
preload_app = True
timeout = 17
"""
ASGI = """
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"asgi"})
"""


@contextmanager
def copies(adapter, member, *configurations):
    """Start a copy for each configuration, side by side; yield seats and what is in force."""
    files = adapter.read(member)
    survey = adapter.survey(member, files, None)
    assert isinstance(survey, Survey)
    with new_run_root() as root:
        started = []
        try:
            for values in configurations:
                changes = adapter.change_set(survey, files, values)
                place = root.new_place("copy")
                seat = open_cell(place, CellWish(files=files.texts, writes=survey.writes))
                assert isinstance(seat, CellSeat), seat
                asked = Configuration(values=values)
                launch = adapter.launch(member, survey, seat, asked, changes)
                process = seat.spawn(
                    launch.command,
                    environment={"PATH": "/usr/bin:/bin", **launch.environment},
                    folder=launch.folder,
                    user=launch.user,
                    log=place.folder / "copy.log",
                )
                started.append((seat, process, launch.insight(process)))
            yield [(seat, in_force(process, insight)) for seat, process, insight in started]
        finally:
            for seat, process, _ in started:
                process.stop()
                seat.close()


def in_force(process, insight):
    deadline_s = time.monotonic() + READY_S
    while lacking := insight.lacking():
        assert process.is_alive(), insight.words()
        assert time.monotonic() < deadline_s, f"{lacking}: {insight.words()}"
        time.sleep(0.01)
    return insight.effective()


def body(seat, address):
    patience = Patience(READY_S)
    found = ask(
        address, "/", patience, body_patience=patience, most_bytes=1 << 16, network=seat.network
    )
    assert found.is_whole, found
    return found.body.decode()


@pytest.fixture
def folder(own_folders):
    """A folder of somebody's, beside those of httpdyno."""
    found = own_folders / "their"
    found.mkdir()
    return found


def contents(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.real_server("node")
def test_two_copies_of_a_program_with_its_port_in_its_code_run_side_by_side(folder):
    (folder / "server.js").write_text(NODE)
    before = contents(folder)
    member = Member(
        name="api",
        kind="node",
        command=("node", "server.js", "--threads=4"),
        folder=str(folder),
    )
    one, other = {"UV_THREADPOOL_SIZE": 4, "threads": 4}, {"UV_THREADPOOL_SIZE": 16, "threads": 8}
    with copies(Node(), member, one, other) as ((first, in_first), (second, in_second)):
        assert body(first, "127.0.0.1:3000").startswith("4 --threads=4 ")
        assert body(second, "127.0.0.1:3000").startswith("16 --threads=8 ")
        assert in_first.values == in_first.asked == {"UV_THREADPOOL_SIZE": "4", "threads": "4"}
        assert in_second.values == in_second.asked == {"UV_THREADPOOL_SIZE": "16", "threads": "8"}
    assert contents(folder) == before


@pytest.mark.real_server("node")
def test_a_variable_is_in_force_where_the_processes_that_listen_have_it(folder):
    (folder / "server.js").write_text(NODE)
    member = Member(
        name="api",
        kind="node",
        command=("env", "FIXED=no", "node", "server.js"),
        folder=str(folder),
    )

    class WithVariables(Node):
        def survey(self, member, files, seat):
            survey = super().survey(member, files, seat)
            assert isinstance(survey, Survey)
            slow = self.with_variables(member, survey, ["SLOW"])
            fixed = Reading(name="FIXED", scope=VARIABLE, text="")
            return structs.replace(slow, readings=(*slow.readings, fixed))

    values = {"env.SLOW": "yes", "env.FIXED": "yes"}
    with copies(WithVariables(), member, {"env.SLOW": ""}, values) as ((_, first), (_, second)):
        assert first.values == first.asked == {"env.SLOW": ""}
        assert second.asked == values
        # What a command sets itself is not hidden by what was asked.
        assert second.values == {"env.SLOW": "yes", "env.FIXED": "no"}


def test_gunicorn_runs_with_a_configuration_that_is_executed_and_not_edited(folder, monkeypatch):
    monkeypatch.setenv("GUNICORN_CMD_ARGS", "--statsd-host=127.0.0.1:8126 --keep-alive 3")
    (folder / "shop.py").write_text(WSGI)
    (folder / "gunicorn.conf.py").write_text(CONFIG)
    before = contents(folder)
    member = Member(
        name="shop",
        kind="gunicorn",
        environment_names=("GUNICORN_CMD_ARGS",),
        command=(
            *(sys.executable, "-m", "gunicorn", "shop", "--threads", "2"),
            *("--statsd-host", "127.0.0.1:8125"),
        ),
        folder=str(folder),
    )
    changed = {"workers": 2, "preload_app": False, "threads": 3}
    with copies(Gunicorn(), member, {"workers": 1}, changed) as (
        (first, in_first),
        (second, in_second),
    ):
        assert body(first, "127.0.0.1:8001") == body(second, "127.0.0.1:8001") == "8001"
        assert isinstance(in_first, Effective), in_first
        assert in_first.asked == {"workers": "1"}
        assert {in_first.values[name] for name in ("preload_app", "timeout")} == {"true", "17"}
        wanted = {"workers": "2", "preload_app": "false", "threads": "3"}
        assert {name: in_second.values[name] for name in wanted} == in_second.asked == wanted
        assert in_second.values["timeout"] == "17"
        assert in_first.values["keepalive"] == "3"
        tables = [within(each.network, _udp_table) for each in (first, second)]
        assert [udp_sockets(table) for table in tables] == [{}, {}], "no statsd, whatever says so"
    assert contents(folder) == before


def _udp_table():
    return Path("/proc/thread-self/net/udp").read_text(encoding="ascii")


def test_uvicorn_runs_with_its_flags_and_further_ones(folder):
    pytest.importorskip("uvicorn")
    (folder / "shop.py").write_text(ASGI)
    member = Member(
        name="shop",
        kind="uvicorn",
        command=(sys.executable, "-m", "uvicorn", "shop:app", "--port", "8002", "--http", "h11"),
        folder=str(folder),
    )
    with copies(Uvicorn(), member, {"workers": 1}, {"workers": 2, "backlog": 77}) as (
        (first, in_first),
        (second, in_second),
    ):
        assert body(first, "127.0.0.1:8002") == body(second, "127.0.0.1:8002") == "asgi"
        assert in_first.values["http"] == "h11"
        assert in_second.values["workers"] == "2"
        assert in_second.values["backlog"] == "77"
    assert list(contents(folder)) == ["shop.py"]


@pytest.mark.real_server("node")
def test_a_command_with_its_port_in_its_code_is_adopted(folder, own_folders, monkeypatch):
    (folder / "server.js").write_text(NODE)
    monkeypatch.chdir(folder)
    study = own_folders / "study"
    command = ["node", "server.js", "--rounds", "9"]
    options = ["-o", str(study), "--listener", "3000", "--knob", "rounds=4"]
    options += ["--knob", "env.CACHE=,01"]
    assert run(["adopt", *options, "--", *command]) == 0
    found = tomllib.loads((study / "study.toml").read_text())
    assert found["site"]["members"][0]["command"] == command
    knobs = {knob["name"]: knob["levels"] for knob in found["knobs"]}
    assert knobs["node:rounds"] == [4]
    assert knobs["node:env.CACHE"] == ["01"]  # unset is where it starts
    # The study is read as it was written, and starts there.
    assert run(["study", "check", str(study)]) == 0
    assert list(contents(folder)) == ["server.js"]
