"""Loads of starts on servers that a test has at hand."""

from dataclasses import replace

from msgspec import structs

from httpdyno.experiment.trial.bench import StartRequest, block_order
from httpdyno.experiment.trial.cycles import CycleMoments
from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.experiment.trial.load import StartLoad
from httpdyno.model import (
    Configuration,
    Workload,
)


class Counting:
    """A collector that tells how many windows of its server there were."""

    n_windows = 0

    def open(self):
        self.n_windows += 1

    def close(self, seen, *, is_last):
        return structs.replace(seen, n_processes=self.n_windows, pss_bytes=int(is_last))


def load_of(*addresses, n_blocks=4, **asked):
    request = StartRequest(
        comparison=1,
        start=0,
        arms=tuple(Configuration(values={"arm": n}) for n, _ in enumerate(addresses)),
        order=block_order(len(addresses), n_blocks, seed=1, comparison=1, start=0),
        window_s=0.1,
        lead_in_s=0.05,
        warm_up_s=0.05,
    )
    return StartLoad(
        workloads=[Workload(connections=4, timeout_s=5.0)] * len(addresses),
        requests=[replace(request, **asked)],
        addresses={Place(0, arm): address for arm, address in enumerate(addresses)},
        seed=3,
        collectors={Place(0, arm): [Counting()] for arm, _ in enumerate(addresses)},
    )


def side_by_side(*servers, n_starts):
    """Starts of the same servers, whose cycles are known."""
    load = load_of(*servers)
    [request] = load.requests
    requests = [
        replace(request, start=n, order=block_order(2, 4, seed=1, comparison=1, start=n))
        for n in range(n_starts)
    ]
    places = [Place(n, arm) for n in range(n_starts) for arm in range(len(servers))]
    return replace(
        load,
        requests=requests,
        addresses={place: servers[place.arm] for place in places},
        collectors={place: [Counting()] for place in places},
        known={arm: CycleMoments(n=100, sum_s=0.3, sum_s2=0.001) for arm in range(len(servers))},
    )
