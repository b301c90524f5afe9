"""Phases of a start under a real load: what is told, and when commands act."""

import time
from dataclasses import replace

from tests.experiment.loads import load_of
from tests.load.origin import origin
from tests.words import joined

from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.model import (
    Phase,
    RequestSpec,
    Workload,
)


def test_a_server_that_falls_silent_in_a_phase_is_told_with_the_phase():
    wrong = Workload(requests=(RequestSpec(expect_status=204),), connections=1)
    with origin() as server:
        load = load_of(server.address, n_blocks=1, warm_up_s=0.0)
        load = replace(load, workloads=[wrong], phases=(Phase(name="cold"),), decides="cold")
        assert load.run(lambda _: None) == []
    assert load.silence is not None
    [(place, told)] = load.shut_out.items()
    assert (place, joined(told)) == (Place(0, 0), "that was in phase cold")


def test_the_time_of_a_command_runs_from_the_window_on_and_not_from_a_login_before_it():
    acted: list[float] = []

    def act(*_):
        acted.append(time.monotonic())

    patient = Workload(connections=1, first=(RequestSpec(path="/login"),), timeout_s=5.0)
    phase = Phase(name="warm", run=("kill",), at_s=0.1, window_s=0.3)
    with origin("--service", "fixed:200ms") as server:
        load = replace(
            load_of(server.address, n_blocks=1, warm_up_s=0.0),
            workloads=[patient],
            phases=(phase,),
            decides="warm",
            act=act,
        )
        [record] = load.run(lambda _: None)
    # It is told just before, and the login took 200 ms.
    assert acted[0] > record.measurement.opened_s
