"""Servers that pretend, and starts of them."""

import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.model import (
    Configuration,
    Effective,
    Method,
    Objective,
    ServerSpec,
    Workload,
)
from httpdyno.servers.adapter import NotRunning, Running, own_words

DEADLINE_S = 10.0


class Fake(Running):
    """What runs as far as it says so: none of it can be overridden but as an attribute."""

    addresses: tuple[str, ...] = ("127.0.0.1:1",)
    networks: tuple[str, ...] = ("",)
    root_pids: tuple[int, ...] = (0,)
    keeper_pids: tuple[int, ...] = ()
    groups: tuple[Path, ...] = ()


class Server(Fake):
    """One that comes up only when it is ended, or does what it is told."""

    def __init__(self, comes_up=None):
        self._comes_up = comes_up
        self._is_over = threading.Event()

    def await_ready(self, timeout_s):
        if self._comes_up is not None:
            return self._comes_up()
        assert self._is_over.wait(DEADLINE_S), "nobody ended it"
        return NotRunning(status="crashed", detail=own_words(""))

    def is_alive(self):
        return not self._is_over.is_set()

    def last_words(self):
        return "farewell"

    def stop(self):
        self._is_over.set()


def measured(  # noqa: PLR0913 - what a test of a start may say
    *servers,
    configurations=None,
    line_up=(),
    seen=None,
    objective=None,
    told=None,
    header="",
    n_starts=1,
):
    """Measure starts of these servers, or of what stands in their place; return the last one."""
    left = list(servers)

    def spawn(_server, _folder, configuration, place):
        if seen is not None:
            seen.append((configuration.values["n"], place.folder.name))
        return left.pop(0)

    adapter = SimpleNamespace(spawn=spawn, version=lambda: "1", name="fake")
    study = SimpleNamespace(
        server=ServerSpec(adapter="fake"),
        folder=".",
        site=None,
        workload=Workload(requests=()),
        of_server=lambda configuration: configuration,
        load_of=lambda _configuration: Workload(requests=()),
        start_configuration=lambda: Configuration(values={"n": 0}),
        may_differ=(),
        counted_header=header,
        method=Method(),
        objective=objective or Objective(),
    )
    arms = configurations or tuple(
        Configuration(values={"n": number}) for number in range(len(servers))
    )
    request = StartRequest(
        comparison=1,
        start=0,
        arms=arms,
        order=((),),
        window_s=1,
        lead_in_s=0,
        warm_up_s=0,
        line_up=line_up,
        tell=[].append if told is None else told.append,
    )
    with ServerBench(adapter=cast(Any, adapter), study=cast(Any, study), seed=1) as bench:
        for number in range(n_starts):
            asked = replace(request, start=number)
            [record] = bench.measure_starts([asked], lambda _window: None)
        return record


class Up(Server):
    """One that is up, and says nothing of itself."""

    def __init__(self):
        super().__init__(Effective)
