"""A server that loses its own network under load: nothing is measured, no candidate at fault."""

import os
import signal
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs
from tests.experiment.started import Up, measured
from tests.experiment.test_standstill import request_of
from tests.isolation import no_cell
from tests.says import says
from tests.servers.own_network.test_server import START, CommandInNetwork, spec_of

from httpdyno.errors import AdapterError, EngineError
from httpdyno.experiment.decide.usable import disturbance, start_trouble
from httpdyno.experiment.design.smoke_test import one_server
from httpdyno.experiment.trial import server_bench
from httpdyno.experiment.trial.afterwards import Looked
from httpdyno.experiment.trial.arm import Arm, see_networks
from httpdyno.experiment.trial.cycles import CycleMoments
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.model import Effective, Knob, Workload
from httpdyno.report.shared.message import joined
from httpdyno.servers.adapter import own_words

LOST = "the resolver of its network ended with signal 9"
SLOW = CycleMoments(n=8, sum_s=200.0, sum_s2=5000.0)


class Lost(Up):
    """One that is up, and whose resolver is not."""

    def network_trouble(self):
        return own_words(LOST)


def load_that(run, seen=None):
    """Return what stands for the load of a start."""

    class Load:
        silence, shut_out, looked = None, {}, Looked()

        def __init__(self, **asked):
            self.seen = seen or {}
            self._asked = asked

        def run(self, _save):
            return run(**self._asked)

    return Load


def test_a_start_without_its_network_is_disturbed_whoever_lost_it(study, monkeypatch):
    monkeypatch.setattr(server_bench, "StartLoad", load_that(lambda **_: []))
    record = measured(Up(), Lost())
    assert record.statuses == ("complete", "unstable")
    assert disturbance(record) == start_trouble(record, [0], study) == (own_words(LOST),)


def test_nothing_is_learnt_of_its_latencies(study, monkeypatch):
    """Neither by this start, which its warm-up ends, nor for later ones."""
    told = []

    def run(*, is_disturbed, **_):
        told.append(is_disturbed())
        return []

    class Servers:
        def __init__(self):
            self.left = [Up(), Lost(), Up(), Up()]

        def version(self, *_):
            return "fake 1.0"

        def spawn(self, *_):
            return self.left.pop(0)

    monkeypatch.setattr(server_bench, "StartLoad", load_that(run, {0: SLOW}))
    study = structs.replace(study, workload=Workload(requests=()))
    request = request_of(study, warm_up_s=0.1)
    labels = [arm.label() for arm in request.arms]
    with ServerBench(adapter=Servers(), study=study, seed=1) as bench:  # type: ignore[arg-type]
        bench.measure_starts([request], lambda _window: None)
        assert bench._cycles.of(labels) == {}
        bench.measure_starts([request], lambda _window: None)
        assert bench._cycles.has(labels)
    assert told == [True, False]


def test_a_network_that_cannot_be_entered_any_more_ends_its_start_alone(monkeypatch):
    def run(**_):
        raise EngineError("no such network")

    monkeypatch.setattr(server_bench, "StartLoad", load_that(run))
    assert measured(Lost(), Up()).statuses == ("unstable", "complete")
    with pytest.raises(EngineError, match="no such network"):
        measured(Up(), Up())


def test_starts_beside_one_without_its_network_had_their_load_cut_short():
    starts = [[Arm(running=Up()), Arm(running=server())] for server in (Up, Lost)]
    starts[0][1].fail("crashed", own_words("it crashed"))
    assert see_networks(starts)
    assert [[arm.status for arm in arms] for arms in starts] == [
        ["unstable", "crashed"],
        ["complete", "unstable"],
    ]
    assert joined(starts[0][0].detail) == "the network of another start beside it was gone"
    assert not see_networks([[Arm(running=Up()), Arm(running=None)]])


@pytest.mark.parametrize("server", [Up, Lost])
def test_what_was_seen_of_one_server_alone_is_not_told_where_it_lost_its_network(study, server):
    adapter: Any = SimpleNamespace(spawn=lambda *_: server())
    told = nullcontext() if server is Up else pytest.raises(AdapterError, check=says(LOST))
    with told, one_server(adapter, study, study.start_configuration()) as up:
        assert up.effective == Effective()


class Remembering(CommandInNetwork):
    """One that knows what it started."""

    def __init__(self):
        super().__init__()
        self.started = []

    def spawn(self, *asked):
        self.started.append(super().spawn(*asked))
        return self.started[-1]


@pytest.mark.skipif(bool(no_cell()), reason=no_cell() or "can be had")
@pytest.mark.parametrize("name", ["holder", "resolver"])
def test_a_network_that_is_lost_amid_the_windows_is_seen(study, tmp_path, name):
    study = structs.replace(
        study,
        folder=str(tmp_path),
        server=spec_of(tmp_path),
        knobs=tuple(Knob(name=key, start=level, levels=()) for key, level in START.values.items()),
        workload=structs.replace(study.workload, connections=1),
    )
    request = request_of(study, warm_up_s=0.0)
    adapter = Remembering()

    def kill(_window):
        process = adapter.started[0]._network._processes[name]
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)

    with ServerBench(adapter=adapter, study=study, seed=1) as bench:
        [record] = bench.measure_starts([request], kill)
    assert record.statuses == ("unstable", "complete")
    assert joined(record.details[0]) == f"the {name} of its network ended with signal 9"
