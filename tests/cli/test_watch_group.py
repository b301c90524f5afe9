"""`httpdyno watch` on control groups: a unit of systemd, and several servers in one group."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.forking_server import N_WORKERS, forking_server
from tests.telemetry.test_account import grouped, has_groups

from httpdyno.cli.app import run
from httpdyno.servers.limits.control_group import make_group, remove_group
from httpdyno.servers.run.live_process import children_of
from httpdyno.servers.systemd import UnitFacts


@pytest.fixture
def server():
    with forking_server() as started:
        yield started


@pytest.fixture
def service():
    """Give the folder of a control group that is called as a unit of systemd is."""
    group = make_group(f"test-{os.getpid()}.service")
    assert group is not None
    yield group
    (group / "cgroup.kill").write_text("1")
    remove_group(group)


@pytest.fixture
def agent(tmp_path):
    """Give a process that is below no server, and has an error log."""
    command = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]
    with (
        (tmp_path / "agent.log").open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log) as process,
    ):
        yield process


@has_groups
def test_a_unit_is_all_that_is_in_its_control_group(server, service, agent, monkeypatch, capsys):
    facts = UnitFacts(name=service.name, files=("/x",), main_pid=server.process.pid)
    monkeypatch.setattr("httpdyno.servers.discover.find.unit", lambda _: facts)
    words = ["--once", "--json", "-", "--every", "100ms"]
    for pid in (server.process.pid, agent.pid, *children_of([server.process.pid])):
        (service / "cgroup.procs").write_text(str(pid))
    assert run(["watch", f"unit:{service.name}", *words]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert run(["watch", f":{server.port}", *words]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert run(["watch", f":{server.port}", "-n", "1", "--every", "100ms"]) == 0
    told = capsys.readouterr().err
    assert run(["inspect", f"unit:{service.name}", "--json", "-"]) == 0
    inspected = json.loads(capsys.readouterr().out)
    assert whole["server"]["pid"] == server.process.pid
    assert whole["server"]["group"].endswith(f"/{service.name}")
    assert (whole["pool"]["n_workers"], whole["pool"]["detached_pids"]) == (4, [agent.pid])
    assert whole["beside"] == []
    assert (tree["pool"]["n_workers"], tree["server"]["group"]) == (3, None)
    assert whole["error_log"]["n_lines"] == 0
    assert tree["error_log"] is None
    assert [each["pid"] for each in tree["beside"]] == [agent.pid]
    assert f"({agent.pid}) of its unit is not below the parent; not counted" in told
    assert inspected["servers"][0]["beside_pids"] == [agent.pid]


@has_groups
def test_a_control_group_of_several_servers_is_one(server, capsys):
    with forking_server() as second:
        pids = sorted([server.process.pid, second.process.pid])
        with grouped("several", [*pids, *children_of(pids)]) as group:
            path = Path(f"/proc/{pids[0]}/cgroup").read_text().rpartition("0::")[2].strip()
            assert run(["watch", f"cgroup:{path}", "--once", "--json", "-"]) == 0
            seen = json.loads(capsys.readouterr().out)
            assert run(["watch", f"cgroup:{path}", "--once"]) == 0
            text = " ".join(capsys.readouterr().out.split())
    assert group.name in path
    assert seen["server"]["root_pids"] == pids
    assert (seen["server"]["pid"], seen["server"]["group"]) == (None, path)
    assert seen["pool"]["n_workers"] == 2 * N_WORKERS
    assert {each["address"] for each in seen["queues"]} == {
        f"127.0.0.1:{each.port}" for each in (server, second)
    }
    assert f"cgroup:{path}" in text
    assert "6 workers below 2 parents (" in text
    assert all(f"^ {pid} " in text for pid in pids)
