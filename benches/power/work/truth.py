"""The truth: what a request costs when it works once and twice as much, in the same process.

Two processes of one configuration differ, so that a comparison of two knows its truth no better
than that. Here one server is asked for both amounts in turn, so what differs is the work. What a
figure grows by is in proportion to the work, so any planted size follows.
"""

import random
from collections.abc import Mapping, Sequence

from benches.power.work.load import Cores, Job, alone
from benches.power.work.record import METRICS, Truths, Window
from benches.power.work.servers import Server, ServerKind
from benches.power.work.way import CIRCUMSTANCES, Way

from httpdyno.model import HistogramData
from httpdyno.stats.histogram import merge, quantile_s

ROUNDS = 6
"""Of both amounts in all circumstances, for each server."""
_GUESS_S = 1e-3
"""What a request costs, before anything is known."""
_QUANTILES = {"p50": 0.5, "p90": 0.9}


def server_truth(
    kind: ServerKind,
    cores: Cores,
    draw: random.Random,
    circumstances: Mapping[str, Way] = CIRCUMSTANCES,
) -> tuple[Truths, dict[str, float]]:
    """Measure one server; return its shares and costs, both by circumstances.

    A share is by how much a figure grows when a request works twice as much, over what it is; of a
    throughput it is that of its inverse. A cost is the CPU seconds of a request that works once.

    Args:
        kind: Of the server.
        cores: For server and client.
        draw: For orders and seeds.
        circumstances: Those in which it is measured, by name.
    """
    with kind.running([kind.units]) as [server]:
        found = _figures(kind, server, cores, draw, circumstances)
    return (
        {where: _shares(once, twice) for where, (once, twice) in found.items()},
        {where: once["cpu"] for where, (once, _) in found.items()},
    )


Figures = dict[str, float]


def _figures(
    kind: ServerKind,
    server: Server,
    cores: Cores,
    draw: random.Random,
    circumstances: Mapping[str, Way],
) -> dict[str, tuple[Figures, Figures]]:
    """Return the figures with once and twice the work, by circumstances."""
    amounts = (kind.units, 2 * kind.units)
    cost_s = _pilot_cost_s(kind, server, cores, draw)
    windows: dict[tuple[str, int], list[Window]] = {}
    latencies: dict[tuple[str, int], list[HistogramData]] = {}
    for _ in range(ROUNDS):
        jobs = [(where, units) for where in circumstances for units in amounts]
        for where, units in draw.sample(jobs, len(jobs)):
            # The rate is the same for both, as it is for both arms of a start.
            job = _job(circumstances[where], kind, cores, draw, cost_s)
            done = alone(job, server, units)
            windows.setdefault((where, units), []).extend(done.windows)
            latencies.setdefault((where, units), []).extend(h for _, h in done.latencies)
    once, twice = amounts
    return {
        where: (
            _totals(windows[where, once], latencies[where, once]),
            _totals(windows[where, twice], latencies[where, twice]),
        )
        for where in circumstances
    }


def _pilot_cost_s(kind: ServerKind, server: Server, cores: Cores, draw: random.Random) -> float:
    """Return what a request of twice the work costs; this warms the server up as well."""
    job = _job(CIRCUMSTANCES["closed-apart"], kind, cores, draw, _GUESS_S)
    windows = alone(job, server, 2 * kind.units).windows
    return sum(w.cpu_s for w in windows) / sum(w.n_right for w in windows)


def _job(way: Way, kind: ServerKind, cores: Cores, draw: random.Random, cost_s: float) -> Job:
    return Job(way=way, workload=kind.study.workload, cost_s=cost_s, cores=cores, draw=draw)


def _totals(windows: Sequence[Window], latencies: Sequence[HistogramData]) -> Figures:
    latency = merge(latencies)
    return {
        "cpu": sum(w.cpu_s for w in windows) / sum(w.n_right for w in windows),
        "throughput": sum(w.right for w in windows) / sum(w.measured_s for w in windows),
        **{name: quantile_s(latency, q) for name, q in _QUANTILES.items()},
    }


def _shares(once: Figures, twice: Figures) -> Figures:
    shares = {name: twice[name] / once[name] - 1 for name in METRICS if name != "throughput"}
    return {**shares, "throughput": once["throughput"] / twice["throughput"] - 1}
