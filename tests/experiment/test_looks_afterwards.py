"""Servers are looked at, and their system calls counted, after their windows."""

from dataclasses import replace

import pytest
from msgspec import structs
from tests.experiment.loads import load_of
from tests.load.origin import origin

from httpdyno.experiment.trial import afterwards as looks_afterwards
from httpdyno.experiment.trial.afterwards import Wanted
from httpdyno.experiment.trial.cycles import CycleMoments
from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.model import Constant, Look, Phase, SystemCalls


class Seeing:
    """An onlooker that saw something."""

    def start(self):
        """Begin."""

    def stop(self):
        """Return what was seen."""
        return Look(seconds=0.5, n_samples=9, workers=2.0)


@pytest.mark.parametrize("asked", [{"warm_up_s": 0.05}, {"warm_up_s": 0.0, "lead_in_s": 0.0}])
def test_servers_are_looked_at_after_their_windows(asked):
    with origin("--service", "fixed:1ms") as server:
        load = load_of(server.address, server.address, n_blocks=1, **asked)
        load.wanted = Wanted(onlookers={Place(0, 1): Seeing})
        windows = load.run(lambda _: None)
    assert len(windows) == 2
    assert [*load.looked.looks] == [Place(0, 1)]
    look = load.looked.looks[Place(0, 1)]
    assert look.answers > 0
    assert look.clients > 1
    assert look.client_limit


def test_in_phases_the_load_of_the_one_that_decides_is_looked_at():
    """What limits a server at another rate is not what the claim is about."""
    rates = {"rush": 300.0, "quiet": 40.0}
    phases = [Phase(name=name, rate_per_s=rate, window_s=0.1) for name, rate in rates.items()]
    with origin("--service", "fixed:1ms") as server:
        load = load_of(server.address, n_blocks=1)
        arrival = Constant(rate_per_s=300.0)
        load = replace(
            load,
            workloads=[structs.replace(each, arrival=arrival) for each in load.workloads],
            phases=phases,
            decides="quiet",
            wanted=Wanted(onlookers={Place(0, 0): Seeing}),
        )
        load.run(lambda _: None)
    look = load.looked.looks[Place(0, 0)]
    assert look.offered / look.seconds == pytest.approx(40.0, rel=0.1)


def test_system_calls_are_counted_of_each_server_of_each_start(monkeypatch):
    """And what was looked at has them too, without counting them again."""

    def counted(root_pids, _workload, _start, *, longest_s):
        assert longest_s >= 1.0
        n = float(root_pids[0])
        return SystemCalls(per_request=n, by_kind={"read": n}, n_answers=20)

    monkeypatch.setattr(looks_afterwards, "counted", counted)
    monkeypatch.setattr(looks_afterwards, "with_calls", None)
    places = [Place(start, arm) for start in range(2) for arm in range(2)]
    with origin("--service", "fixed:1ms") as server:
        load = load_of(server.address, server.address, n_blocks=1)
        load = replace(
            load,
            requests=[replace(load.requests[0], start=start) for start in range(2)],
            addresses=dict.fromkeys(places, server.address),
            collectors={},
            known=dict.fromkeys((0, 1), CycleMoments(n=100.0, sum_s=0.1, sum_s2=0.0001)),
            wanted=Wanted(
                onlookers={Place(0, 1): Seeing},
                traced={Place(0, 1): [1]},
                counted={place: [number] for number, place in enumerate(places, 1)},
            ),
        )
        load.run(lambda _: None)
    found = [load.looked.calls_of_start(start, 2) for start in range(2)]
    assert [[each.per_request for each in arms if each] for arms in found] == [[1, 2], [3, 4]]
    look = load.looked.looks[Place(0, 1)]
    assert (look.calls, look.n_traced) == ({"read": 2.0}, 20)
    assert load.looked.cost.n_counts == 0


def test_a_pool_whose_workers_are_replaced_is_looked_at_for_longer(monkeypatch):
    monkeypatch.setattr(looks_afterwards, "LONG_LOOK_S", 0.3)
    monkeypatch.setattr(looks_afterwards, "LOOK_S", 0.1)
    seen = [Look(seconds=0.07, n_samples=2, workers=0.0), Look(seconds=0.2, n_samples=6)]

    class Once(Seeing):
        def stop(self):
            return seen.pop(0)

    with origin("--service", "fixed:1ms") as server:
        load = load_of(server.address, n_blocks=1)
        load.wanted = Wanted(onlookers={Place(0, 0): Once})
        load.run(lambda _: None)
    assert seen == []
    assert load.looked.looks[Place(0, 0)].n_samples == 6
    cost = load.looked.cost
    assert (cost.n_looks, cost.n_counts) == (1, 0)
    assert cost.looks_s >= 0.4
