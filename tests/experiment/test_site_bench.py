"""A server of two process trees: loaded at its first address, a unix socket, measured whole."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs
from tests.experiment.started import Fake
from tests.namespace import may_make_networks, serving_elsewhere

from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.model import Configuration, Effective, RequestSpec
from httpdyno.report.shared.message import joined
from httpdyno.servers.network.address import HeldPort
from httpdyno.servers.network.probe import Patience
from httpdyno.servers.ready import await_answer

FRONT = """
import socket, sys, threading
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(64)
print("up", flush=True)

def serve(connection):
    while connection.recv(65536):
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")

while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
BACK = """
import time
print("up", flush=True)
while True:
    until = time.process_time() + 0.005
    while time.process_time() < until:
        pass
    time.sleep(0.01)
"""


class Site(Fake):
    """Two processes that are one server."""

    def __init__(self, socket):
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-S", "-c", script, str(socket)], stdout=subprocess.PIPE
            )
            for script in (FRONT, BACK)
        ]
        self.addresses = (f"unix:{socket}", "127.0.0.1:1")
        self.networks = ("", "")
        self.root_pids = tuple(each.pid for each in self.processes)

    def await_ready(self, timeout_s):
        for each in self.processes:
            assert each.stdout is not None
            assert each.stdout.readline() == b"up\n"
        return Effective()

    def is_alive(self):
        return all(each.poll() is None for each in self.processes)

    def last_words(self):
        return ""

    def stop(self):
        for each in self.processes:
            each.kill()
            each.communicate()


class Elsewhere(Fake):
    """A server in a network of its own."""

    def __init__(self, port, network):
        self.addresses = (f"127.0.0.1:{port}",)
        self.networks = (network,)
        self.root_pids = (int(network.split("/")[2]),)

    def await_ready(self, timeout_s):
        patience, [address], [network] = Patience(timeout_s), self.addresses, self.networks
        ready = await_answer(address, "/", self.is_alive, patience, network=network)
        assert ready.kind == "answers"
        return Effective()

    def is_alive(self):
        return True

    def last_words(self):
        return ""

    def stop(self):
        """It ends with the test."""


def measured(study, site):
    """One start of one such server, two windows of it."""
    adapter = SimpleNamespace(spawn=lambda *_arguments: site, version=lambda: "1", name="site")
    request = StartRequest(
        comparison=1,
        start=0,
        arms=(Configuration(values={"n": 1}),),
        order=((0,), (0,)),
        window_s=0.2,
        lead_in_s=0.05,
        warm_up_s=0.05,
    )
    loaded = structs.replace(study, workload=structs.replace(study.workload, connections=2))
    with ServerBench(adapter=cast(Any, adapter), study=loaded, seed=1) as bench:
        [record] = bench.measure_starts([request], lambda _window: None)
        return record


def test_the_first_address_is_loaded_and_all_trees_are_measured(study, tmp_path):
    record = measured(study, Site(tmp_path / "front"))
    assert (record.statuses, record.details) == (("complete",), ((),))
    assert len(record.windows) == 2
    for window in record.windows:
        assert window.measurement.completed > 0
        assert window.measurement.n_errors == 0
        assert window.telemetry.n_processes == 2
    assert record.windows[-1].telemetry.pss_bytes > 0


@pytest.mark.skipif(not may_make_networks(), reason="only root can make networks")
def test_a_server_in_another_network_is_loaded_there(study):
    with HeldPort() as port, serving_elsewhere(port.number) as network:
        record = measured(study, Elsewhere(port.number, network))
    assert (record.statuses, record.details) == (("complete",), ((),))
    assert len(record.windows) == 2
    for window in record.windows:
        assert window.measurement.completed > 0
        assert window.measurement.n_errors == 0


def test_a_server_that_users_do_not_get_into_is_an_arm_that_failed(study, tmp_path):
    login = RequestSpec(path="/login", method="POST", expect_status=302)
    workload = structs.replace(study.workload, first=(login,))
    record = measured(structs.replace(study, workload=workload), Site(tmp_path / "front"))
    assert record.statuses == ("infeasible",)
    assert tuple(map(joined, record.details)) == (
        "2 of 2 users did not get through the first steps: POST /login was answered 200, where "
        "302 is expected",
    )
    assert record.windows == ()
