"""The truth of two arms, of what one server tells of once and twice the work."""

import math
import random
from dataclasses import dataclass
from statistics import fmean, stdev

from benches.power.work.load import Cores
from benches.power.work.record import Truths
from benches.power.work.servers import ServerKind
from benches.power.work.truth import server_truth
from research.duets.record import Head


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
