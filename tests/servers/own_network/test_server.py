"""Servers in networks of their own: names mean there what the study says, and nothing leads out."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec import structs
from tests.beside import beside
from tests.conformance.adapter import READY_S, AdapterCase, AdapterConformance, complaint_of
from tests.isolation import no_cell
from tests.servers.own_network.test_resolver import wait_for

from httpdyno.errors import AdapterError
from httpdyno.model import (
    Configuration,
    Effective,
    FileEntry,
    PrivateNetwork,
    Resolver,
    ServerLimits,
    ServerSpec,
    SideCommand,
)
from httpdyno.reason import Reason, because
from httpdyno.report.shared.message import text, texts
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command import Command
from httpdyno.servers.limits.control_group import limit_parents
from httpdyno.servers.network.probe import Patience, ask
from httpdyno.servers.own_network.server import WithNetwork
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run.leftovers import reap_leftovers
from httpdyno.servers.run.live_process import process_info
from httpdyno.servers.run.record import read_record
from httpdyno.servers.stack.templates import TemplateStack

pytestmark = pytest.mark.skipif(bool(no_cell()), reason=no_cell() or "can be had")

SCRIPT = """
import http.server, json, os, socket, sys

port, level = int(sys.argv[1]), sys.argv[2]
if level == "13":
    sys.exit("level 13 is not to be had")

def tried(act, *words):
    try:
        return act(*words)
    except OSError as error:
        return str(error)

def name_of(address):
    return socket.getnameinfo((address, 80), socket.NI_NUMERICSERV | socket.NI_NAMEREQD)[0]

def addresses_of(name):
    return sorted({each[4][0] for each in socket.getaddrinfo(name, 80)})

def reached(address):
    socket.create_connection((address, 9), timeout=5)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        act, _, word = self.path.strip("/").partition("/")
        said = {"level": level}
        if act:
            known = {"name": name_of, "addresses": addresses_of, "reach": reached}
            said = tried(known[act], word or socket.gethostname())
        text = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
NETWORK = PrivateNetwork(
    hosts=("192.0.2.7 local.example",),
    resolver=Resolver(
        answers="{knob.resolver}",
        names={"client.example": ("127.0.0.1",), "both.example": ("192.0.2.9", "2001:db8::9")},
    ),
)
START = Configuration(values={"level": 1, "resolver": "at once"})


class CommandInNetwork(WithNetwork):
    """One that a process of its own can make by its name."""

    def __init__(self) -> None:
        super().__init__(TemplateStack(Command()))


def spec_of(folder: Path, network: PrivateNetwork = NETWORK) -> ServerSpec:
    (folder / "said.py").write_text(SCRIPT)
    return ServerSpec(
        adapter="command",
        command=(sys.executable, "{run}/said.py", "{port}", "{knob.level}"),
        files=(FileEntry(source="said.py", to="said.py"),),
        effective_path="/",
        network=network,
    )


class TestInNetwork(AdapterConformance):
    @pytest.fixture
    def case(self, tmp_path):
        return AdapterCase(
            adapter=CommandInNetwork(),
            spec=spec_of(tmp_path),
            study_folder=tmp_path,
            configuration=START,
            nonsense=START.replaced("level", 13),
            words="level 13 is not to be had",
        )


@pytest.fixture
def started(tmp_path):
    """Return what starts a server, ready; all end with the test."""
    running = []
    with new_run_root() as root:

        def start(spec, configuration=START, adapter=None):
            adapter = adapter or CommandInNetwork()
            found = adapter.spawn(spec, tmp_path, configuration, root.new_place("name"))
            assert not isinstance(found, NotRunning), found
            running.append(found)
            assert isinstance(found.await_ready(READY_S), Effective)
            return found

        yield start
        for each in running:
            each.stop()
        assert [path.name for path in root.folder.iterdir() if path.is_dir()] == []


def said(running, path, patience_s=READY_S):
    answer = ask(
        running.addresses[0],
        path,
        Patience(patience_s),
        body_patience=Patience(patience_s),
        most_bytes=1 << 16,
        network=running.networks[0],
    )
    return json.loads(answer.body) if answer.is_whole else answer.line


def test_names_mean_what_the_study_says_and_questions_are_counted(started, tmp_path):
    running = started(spec_of(tmp_path))
    # As it came up it asked for its own name.
    n_before = running.n_lookups()
    assert said(running, "/name/127.0.0.1") == "client.example"
    assert running.n_lookups() == n_before + 1
    assert said(running, "/addresses/both.example") == ["192.0.2.9", "2001:db8::9"]
    assert running.n_lookups() == n_before + 3
    # These are in the hosts file.
    assert said(running, "/addresses/local.example") == ["192.0.2.7"]
    assert said(running, "/addresses") == ["127.0.1.1"]
    assert running.n_lookups() == n_before + 3
    assert "not known" in said(running, "/addresses/elsewhere.example")


def test_every_address_is_its_own_and_none_leads_out(started, tmp_path):
    running = started(spec_of(tmp_path))
    for address in ("192.0.2.1", "8.8.8.8"):
        assert "refused" in said(running, f"/reach/{address}")


def test_a_dead_resolver_is_given_up_after_a_second(started, tmp_path):
    running = started(spec_of(tmp_path), START.replaced("resolver", "never"))
    n_before = running.n_lookups()
    assert "failure in name resolution" in said(running, "/name/127.0.0.1")
    assert running.n_lookups() == n_before + 1


def test_without_a_resolver_nobody_answers_and_nothing_is_counted(started, tmp_path):
    running = started(spec_of(tmp_path, PrivateNetwork()), Configuration(values={"level": 1}))
    assert running.n_lookups() is None
    assert "failure in name resolution" in said(running, "/name/127.0.0.1")


def test_what_the_network_is_is_in_force_and_its_knob_need_not_be_told(tmp_path, started):
    running = started(spec_of(tmp_path))
    effective = running.await_ready(READY_S)
    assert effective.asked == {"level": "1", "resolver": "at once"}
    assert effective.values == effective.asked
    assert effective.unverified == ()


def test_a_change_of_the_network_is_in_the_diff(tmp_path):
    adapter, spec = CommandInNetwork(), spec_of(tmp_path)
    one, other = (
        adapter.render(spec, tmp_path, START.replaced("resolver", level)).files
        for level in ("at once", "never")
    )
    assert {name for name in one if one[name] != other[name]} == {"network/resolver"}


def test_commands_of_a_start_and_of_a_phase_run_in_it_and_where_they_always_do(started, tmp_path):
    words = "import os, sys; open(sys.argv[1], 'w').write(os.readlink('/proc/self/ns/net'))"
    command = (sys.executable, "-c", words)
    spec = structs.replace(spec_of(tmp_path), prepare=(*command, "before"))
    running = started(spec)
    assert running.act(SideCommand(run=(*command, "meanwhile"))) is None
    pid = running.root_pids[0]
    folder, network = Path(f"/proc/{pid}/cwd"), Path(f"/proc/{pid}/ns/net").readlink()
    assert {(folder / name).read_text() for name in ("before", "meanwhile")} == {str(network)}
    assert network != Path("/proc/self/ns/net").readlink()


@pytest.mark.parametrize("name", ["behind", "network"])
def test_companions_are_in_the_same_network_and_the_machine_sees_none_of_it(
    started, tmp_path, name
):
    before = {path: Path(path).read_bytes() for path in ("/etc/hosts", "/etc/resolv.conf")}
    spec = spec_of(tmp_path)
    behind = beside(structs.replace(spec, network=None), name=name)
    adapter = WithNetwork(TemplateStack(Command(), {name: Command()}))
    values = Configuration(values={**START.values, f"{name}:level": 2})
    running = started(structs.replace(spec, companions=(behind,)), values, adapter)
    networks = {Path(f"/proc/{pid}/ns/net").readlink() for pid in running.root_pids}
    assert len(running.root_pids) == 2
    assert len(networks) == 1
    assert {path: Path(path).read_bytes() for path in before} == before
    for address in running.addresses:
        host, _, port = address.rpartition(":")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=5).close()


def test_a_network_ends_with_a_server_that_was_refused(tmp_path):
    spec = structs.replace(spec_of(tmp_path), prepare=(sys.executable, "-c", "raise SystemExit(3)"))
    with new_run_root() as root:
        found = CommandInNetwork().spawn(spec, tmp_path, START, root.new_place("refused"))
        assert isinstance(found, NotRunning)
        assert [path.name for path in root.folder.iterdir() if path.is_dir()] == []


@pytest.mark.skipif(
    isinstance(limit_parents(frozenset({"memory"})), Reason), reason="no limits can be set here"
)
def test_its_limits_are_seen_and_that_it_ran_into_one(tmp_path):
    spec = structs.replace(spec_of(tmp_path), limits=ServerLimits(memory="8MiB"))
    with new_run_root() as root:
        running = CommandInNetwork().spawn(spec, tmp_path, START, root.new_place("small"))
        assert not isinstance(running, NotRunning)
        found = running.await_ready(READY_S)
        assert isinstance(found, NotRunning)
        assert found.status == "infeasible"
        assert [each.values.memory_bytes for each in running.limits] == [8 << 20]
        assert running.limit_hit() == found.detail
        running.stop()


@pytest.mark.parametrize("name", ["holder", "resolver"])
def test_a_process_of_the_network_that_ends_alone_is_named(started, tmp_path, name):
    running = started(spec_of(tmp_path))
    assert running.network_trouble() is None
    os.kill(running._network._processes[name].pid, signal.SIGKILL)
    wait_for(running.network_trouble)
    lost = running.network_trouble()
    assert text(lost) == f"the {name} of its network ended with signal 9"
    assert running.await_ready(0.1) == NotRunning(status="unstable", detail=lost)
    assert running.is_alive()


def test_what_makes_no_sense_is_said_before_anything_is_made(tmp_path):
    adapter, spec = CommandInNetwork(), spec_of(tmp_path)
    wrong = START.replaced("resolver", "soon")
    assert "`network.resolver.answers` says `soon`" in complaint_of(adapter, spec, tmp_path, wrong)
    with new_run_root() as root:
        place = root.new_place("wrong")
        with pytest.raises(AdapterError, match="says `soon`"):
            adapter.spawn(spec, tmp_path, wrong, place)
        assert [*place.folder.iterdir()] == []


def test_a_machine_without_such_networks_says_why(tmp_path, monkeypatch):
    where = "httpdyno.servers.own_network.server.namespaces_complaint"
    cannot = because("sandbox.cannot", step="make_namespaces", error="Operation not permitted")
    monkeypatch.setattr(where, lambda: cannot)
    [missing] = CommandInNetwork().missing(spec_of(tmp_path))
    words = "a network of its own cannot make namespaces: Operation not permitted"
    assert texts([missing]) == (words,)


def test_the_resolver_and_the_namespaces_end_when_httpdyno_is_killed(tmp_path):
    words = [f"{CommandInNetwork.__module__}:{CommandInNetwork.__qualname__}", str(tmp_path)]
    command = [sys.executable, "-m", "tests.conformance.server_holder", *words]
    asked = b"\n".join(map(msgspec.json.encode, (spec_of(tmp_path), START, "")))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        owner.stdin.write(asked)
        owner.stdin.flush()
        folder = Path(json.loads(owner.stdout.readline())["folder"])
        sessions = read_record(folder).sessions
        owner.kill()
    # The holder of the namespaces, the resolver, the server.
    assert len(sessions) == 3
    wait_for(lambda: not any(is_alive(*each) for each in sessions))
    reap_leftovers()
    assert not folder.exists()


def is_alive(pid, started_ticks):
    info = process_info(pid)
    return info is not None and info.started_ticks == started_ticks
