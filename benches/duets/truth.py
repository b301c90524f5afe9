"""The truth: what a request costs when it works once and twice as much, in the same process.

Two processes of one configuration differ, so that a comparison of two knows its truth no better
than that. Here one server is asked for both amounts in turn, so what differs is the work. What a
figure grows by is in proportion to the work, so any planted size follows.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from benches.duets.load import Cores, Job, alone
from benches.duets.record import METRICS, Head, Truths, Window
from benches.duets.servers import Server, ServerKind
from benches.duets.way import CIRCUMSTANCES, Way

from httpdyno.model import HistogramData
from httpdyno.stats.histogram import merge, quantile_s

ROUNDS = 6
"""Of both amounts in all circumstances, for each server."""
_GUESS_S = 1e-3
"""What a request costs, before anything is known."""
_QUANTILES = {"p50": 0.5, "p90": 0.9}


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is known of the truth, by circumstances and metric."""

    shares: Truths
    """By how much a figure grows when a request works twice as much, over what it is."""
    errors: Truths
    """Standard errors of those, over servers."""
    costs_s: dict[str, float]
    """CPU seconds of a request that works once."""


def log_ratio(metric: str, share: float, units: tuple[int, int], once: int) -> float:
    """Return the true log(b / a).

    Args:
        metric: One of `METRICS`.
        share: By how much the figure, or for a throughput its inverse, grows with twice the work.
        units: What a request works in the arms.
        once: The work that `share` belongs to.
    """
    a, b = (1 + share * (each - once) / once for each in units)
    return math.log(b / a) * (-1 if metric == "throughput" else 1)


def truths(head: Head, units: tuple[int, int]) -> Truths:
    """Return the true log(b / a) of two arms."""
    return {
        where: {name: log_ratio(name, share, units, head.units) for name, share in shares.items()}
        for where, shares in head.shares.items()
    }


def known_truth(kind: ServerKind, cores: Cores, draw: random.Random, n_servers: int) -> Known:
    """Measure it on some servers, one after the other.

    Args:
        kind: Of the servers.
        cores: For server and client.
        draw: For orders and seeds.
        n_servers: At least 2: the truth's own error is over them.
    """
    found = [server_truth(kind, cores, draw) for _ in range(n_servers)]
    shares, costs = [each for each, _ in found], [each for _, each in found]
    whole = {
        w: {m: [each[w][m] for each in shares] for m in found} for w, found in shares[0].items()
    }
    n_root = math.sqrt(n_servers)
    return Known(
        shares={w: {m: fmean(each) for m, each in found.items()} for w, found in whole.items()},
        errors={
            w: {m: stdev(each) / n_root for m, each in found.items()} for w, found in whole.items()
        },
        costs_s={where: fmean(each[where] for each in costs) for where in costs[0]},
    )


def server_truth(
    kind: ServerKind,
    cores: Cores,
    draw: random.Random,
    circumstances: Mapping[str, Way] = CIRCUMSTANCES,
) -> tuple[Truths, dict[str, float]]:
    """Measure one server; return its shares and costs, as `Known` has them.

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
