"""What the phases of turns made that do not decide; pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from httpdyno.experiment.workers_of_starts import workers_of_starts
from httpdyno.metrics.totals import QUANTILES
from httpdyno.model import HistogramData, PhaseFigures, PhaseSeen
from httpdyno.stats.histogram import can_show, count, merge, quantile_s

_LEAST_TAIL = 3
"""Requests beyond a percentile that a start must hold, as for ratios of it: below, it is about the
start's maximum."""

Turns = Sequence[Mapping[str, PhaseSeen]]
"""Those of a start: by the names of the phases that do not decide."""


def phase_figures(starts: Sequence[Turns]) -> dict[str, PhaseFigures]:
    """Return what each phase made that does not decide, over all turns; (n_starts,)."""
    names = dict.fromkeys(name for turns in starts for turn in turns for name in turn)
    return {
        name: _figures_of([[turn[name] for turn in turns if name in turn] for turns in starts])
        for name in names
    }


def start_latencies(
    starts: Iterable[Iterable[HistogramData]],
) -> dict[str, tuple[float | None, ...]]:
    """Return percentiles of each start's windows; those that no start carries are left out."""
    merged = [merge(windows) for windows in starts]
    found = {
        name: tuple(
            quantile_s(data, q) if count(data) * (1 - q) >= _LEAST_TAIL else None for data in merged
        )
        for name, q in QUANTILES.items()
    }
    return {name: each for name, each in found.items() if any(one is not None for one in each)}


def _figures_of(starts: Sequence[Sequence[PhaseSeen]]) -> PhaseFigures:
    parts = [each for turns in starts for each in turns]
    measured_s = math.fsum(each.measured_s for each in parts)
    right = sum(each.completed for each in parts)
    # As of the phase that decides, or the two would be told by different measures.
    answered = math.fsum(
        each.measured_completed if each.credit is None else each.credit for each in parts
    )
    offered = sum(each.offered for each in parts)
    sizes = [each.pss_bytes for each in parts if each.pss_bytes is not None]
    private = [
        each.uss_bytes / each.n_processes
        for each in parts
        if each.uss_bytes is not None and each.n_processes
    ]
    latency = merge(each.latency for each in parts)
    shown = {n: quantile_s(latency, q) for n, q in QUANTILES.items() if can_show(latency, q)}
    return PhaseFigures(
        throughput_per_s=answered / measured_s if measured_s > 0 else 0.0,
        cpu_s_per_request=math.fsum(each.cpu_s for each in parts) / right if right else 0.0,
        error_ratio=(offered - right) / offered if offered else 0.0,
        latency_s={**shown, "max": latency.max_s},
        start_latency_s=start_latencies((each.latency for each in turns) for turns in starts),
        requests_per_turn=offered / len(parts),
        pss_bytes=fmean(sizes) if sizes else None,
        uss_bytes_per_process=fmean(private) if private else None,
        n_processes=fmean(each.n_processes for each in parts),
        workers=workers_of_starts([each.workers for each in parts if each.workers]),
    )
