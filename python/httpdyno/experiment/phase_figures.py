"""What the phases of turns made that do not decide; pure."""

import math
from collections.abc import Iterable, Mapping, Sequence

from httpdyno.model import PhaseFigures, PhaseSeen
from httpdyno.model.metric import QUANTILES
from httpdyno.stats.histogram import can_show, merge, quantile_s


def phase_figures(turns: Iterable[Mapping[str, PhaseSeen]]) -> dict[str, PhaseFigures]:
    """Return what each phase made that does not decide, over all turns."""
    seen: dict[str, list[PhaseSeen]] = {}
    for turn in turns:
        for name, each in turn.items():
            seen.setdefault(name, []).append(each)
    return {name: _figures_of(parts) for name, parts in seen.items()}


def _figures_of(parts: Sequence[PhaseSeen]) -> PhaseFigures:
    measured_s = math.fsum(each.measured_s for each in parts)
    right = sum(each.completed for each in parts)
    # As of the phase that decides, or the two would be told by different measures.
    answered = math.fsum(
        each.measured_completed if each.credit is None else each.credit for each in parts
    )
    offered = sum(each.offered for each in parts)
    latency = merge(each.latency for each in parts)
    shown = {n: quantile_s(latency, q) for n, q in QUANTILES.items() if can_show(latency, q)}
    return PhaseFigures(
        throughput_per_s=answered / measured_s if measured_s > 0 else 0.0,
        cpu_s_per_request=math.fsum(each.cpu_s for each in parts) / right if right else 0.0,
        error_ratio=(offered - right) / offered if offered else 0.0,
        latency_s={**shown, "max": latency.max_s},
    )
