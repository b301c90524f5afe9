"""Ratios of the single blocks of a start, and what they say of its noise; pure."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean, stdev

from httpdyno.metrics.totals import are_calls, arm_windows, batch_cpu_s
from httpdyno.model import StartRecord, WindowRecord


def block_log_ratios(
    starts: Sequence[StartRecord], ratio_name: str = "throughput"
) -> list[list[float]]:
    """Return log ratios of each start's blocks; (n_starts, ≤ n_blocks).

    Of throughput, CPU per call, CPU or bytes per request: a window holds too few requests for
    percentiles, and memory is read once in a start.
    """
    if ratio_name not in _WINDOW_FIGURES:
        return [[] for _ in starts]
    figure = _WINDOW_FIGURES[ratio_name]
    table = []
    for start in starts:
        row = []
        pairs = zip(arm_windows(start, 0), arm_windows(start, 1), strict=False)
        for first, second in pairs:
            a, b = figure(first), figure(second)
            if a > 0 and b > 0:
                row.append(math.log(b / a))
        table.append(row)
    return table


_WINDOW_FIGURES: dict[str, Callable[[WindowRecord], float]] = {
    "throughput": lambda window: window.measurement.throughput_per_s,
    "cpu_per_request": lambda window: window.telemetry.cpu_s / max(1, window.measurement.completed),
    "bytes_per_request": lambda window: (
        window.measurement.bytes_received / max(1, window.measurement.completed)
    ),
    "cpu_per_call": batch_cpu_s,
}


def noise(starts: Sequence[StartRecord], ratios: Sequence[float]) -> dict[str, float]:
    """Return the standard deviations between starts and between the blocks of a start."""
    name = "cpu_per_call" if are_calls(starts) else "throughput"
    result = {"between_starts": stdev(ratios)} if len(ratios) > 1 else {}
    between_windows = window_noise(starts, name)
    if between_windows is not None:
        result["between_windows"] = between_windows
    return result


def window_noise(starts: Sequence[StartRecord], ratio_name: str) -> float | None:
    """Return the standard deviation between the blocks of a start of a ratio's own logarithm.

    None where no start has two, or where single windows have no such figure.
    """
    rows = [row for row in block_log_ratios(starts, ratio_name) if len(row) > 1]
    return math.sqrt(fmean(stdev(row) ** 2 for row in rows)) if rows else None
