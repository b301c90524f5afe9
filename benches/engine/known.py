"""Runs of the engine against the oracle, of which a formula knows the truth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benches.engine.origin import Oracle
from benches.engine.quiet import MAX_TRIES, Watch, quiet_text
from benches.engine.setting import Setting
from scipy import optimize
from tests.stats import simulated
from tests.stats.simulated import Truth

from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
from httpdyno.load.plan import SPIN_S
from httpdyno.model import Closed, Measurement, Poisson, Workload
from httpdyno.stats.histogram import merge, quantile_s


def multi_server_truth(rate_per_s: float, mean_s: float, n_workers: int) -> Truth:
    """Return the truth of M/M/c: Erlang's C waits, exponentially; the others do not."""
    service_per_s, busy = 1 / mean_s, rate_per_s * mean_s
    waiting = busy**n_workers / math.factorial(n_workers) / (1 - busy / n_workers)
    some = sum(busy**k / math.factorial(k) for k in range(n_workers))
    p_wait, leave_per_s = waiting / (some + waiting), n_workers * service_per_s - rate_per_s

    def beyond(t_s: float) -> float:
        served, left = math.exp(-service_per_s * t_s), math.exp(-leave_per_s * t_s)
        both = (leave_per_s * served - service_per_s * left) / (leave_per_s - service_per_s)
        return (1 - p_wait) * served + p_wait * both

    def at(q: float) -> float:
        return float(optimize.brentq(lambda t_s: beyond(t_s) - (1 - q), 0, 100 * mean_s))

    mean_s += p_wait / leave_per_s
    return Truth(throughput=rate_per_s, mean=mean_s, p50=at(0.5), p90=at(0.9), p99=at(0.99))


@dataclass(frozen=True, kw_only=True)
class Known:
    """A setting of the oracle and the engine, with its truth by formula.

    The formula knows nothing of the time that the machine itself takes (some 0.1 ms where it is
    quiet), so service times are long enough to drown it. What all runs show together is the
    second truth: it holds the machine's time too, but not how much that differs between runs.
    """

    oracle: tuple[str, ...]
    workload: Workload
    truth: Truth


KNOWN = {
    "Poisson 1,000/s, exponential 100 ms": Known(
        oracle=("--service", "exp:100ms"),
        workload=Workload(arrival=Poisson(rate_per_s=1000), connections=1000),
        truth=simulated.exponential_truth(1000, 0.1),
    ),
    "closed loop, 100 users, exponential 100 ms": Known(
        oracle=("--service", "exp:100ms"),
        workload=Workload(arrival=Closed(), connections=100),
        truth=simulated.exponential_truth(1000, 0.1),
    ),
    "Poisson 1,500/s, exponential 20 ms, 38 workers": Known(
        oracle=("--service", "exp:20ms", "--workers", "38"),
        workload=Workload(arrival=Poisson(rate_per_s=1500), connections=1000),
        truth=multi_server_truth(1500, 0.02, 38),
    ),
}
LEAD_IN_S = 1.0
"""Ten times the longest mean: what was there before does not matter any more."""


def measured(
    known: Known, setting: Setting, n_runs: int, *, seed: int
) -> tuple[list[Measurement], str]:
    """Return runs of 2 s, and what to say of those that were disturbed; empty where none was.

    Those are repeated, whatever they showed: the truth is that of a server that nobody stops.
    """
    kept: list[Measurement] = []
    n_repeated = n_disturbed = 0
    with Oracle(setting, "--seed", str(seed), *known.oracle) as oracle:
        for attempt in range(MAX_TRIES):
            n_left = n_runs - len(kept)
            seen = _watched(known.workload, oracle, setting, n_left, seed + attempt)
            is_last = attempt == MAX_TRIES - 1
            kept += [each for each, was_disturbed in seen if is_last or not was_disturbed]
            n_disturbed = sum(was_disturbed for _, was_disturbed in seen)
            if n_disturbed == 0 or is_last:
                break
            n_repeated += n_disturbed
    return kept, quiet_text(n_repeated, n_disturbed) if n_repeated else ""


def pooled(seen: Sequence[Measurement]) -> Truth:
    """Return what all runs show together; its own error is a fourteenth of one run's, for 200."""
    latency = merge(each.latency for each in seen)
    measured_s = sum(each.measured_s for each in seen)
    return Truth(
        throughput=sum(each.measured_completed for each in seen) / measured_s,
        mean=latency.sum_s / sum(latency.counts),
        p50=quantile_s(latency, 0.5),
        p90=quantile_s(latency, 0.9),
        p99=quantile_s(latency, 0.99),
    )


def _watched(
    workload: Workload, oracle: Oracle, setting: Setting, n_runs: int, seed: int
) -> list[tuple[Measurement, bool]]:
    """Return runs one after the other on standing connections, each with whether it was disturbed.

    Its first second counts too: what waits then waits still when it is measured.
    """
    window = WindowPlan(arm=0, lead_in_s=LEAD_IN_S, measure_s=simulated.RUN_S)
    watches: dict[int, Watch] = {}
    disturbed: dict[int, bool] = {}

    def on_edge(index: int, is_opening: bool) -> None:
        if is_opening:
            watches[index] = Watch(server=oracle.pid)
        else:
            disturbed[index] = watches[index].was_disturbed()

    handle = start_load(
        workload,
        [oracle.address],
        [window] * n_runs,
        cpus=[setting.client_cpu],
        seed=seed,
        spin_s=0.0 if setting.client_cpu == setting.server_cpu else SPIN_S,
        on_edge=on_edge,
    )
    try:
        handle.wait()
    finally:
        handle.stop()
    return [(each, disturbed[index]) for index, each in enumerate(handle.measurements())]
