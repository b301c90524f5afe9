"""Why a comparison has no figure of a metric, in words; pure."""

from collections.abc import Sequence

from httpdyno.experiment.evidence import carries, has_figures, smallest_count
from httpdyno.metrics import Metric, named
from httpdyno.metrics.totals import arm_totals, floor_doubt
from httpdyno.model import StartRecord
from httpdyno.units import format_duration

_SILENT_STARTS = 2
"""Starts without any figure after which no further one is waited for."""


def no_figure(
    starts: Sequence[StartRecord],
    metric: str,
    fewest: int,
    arms: Sequence[int] = (0, 1),
    names: Sequence[str] = ("a", "b"),
) -> str:
    """Return why these starts give no ratio of a metric, and what to do; empty where they may.

    Args:
        starts: Of two arms, or of more.
        metric: As an objective has it.
        fewest: Starts from which something is claimed.
        arms: Those that are to have the figure.
        names: What people call these arms, in their order.
    """
    row = named(metric)
    name = row.ratio
    if len(starts) >= fewest and not carries(starts, name, arms):
        what = "pages" if row.distribution == "page" else "requests"
        return (
            f"a start holds {smallest_count(starts, name, arms):,} {what}, too few {what} for its "
            f"{row.label}; a longer `method.window` or more `blocks_per_start` has more"
        )
    is_told = any(has_figures(start, arms, name) for start in starts)
    is_silent = len(starts) >= _SILENT_STARTS and not is_told
    if row.is_of_code and (is_silent or len(starts) >= fewest):
        doubt = floor_doubt(starts, lambda start, arm: arm_totals(start, arm).call_figures)
        if doubt:
            return doubt
    if is_silent or len(starts) >= fewest:
        doubt = row.no_ratio(starts, arms, names)
        if doubt:
            return doubt
    return _silence(starts, row) if is_silent else ""


def _silence(starts: Sequence[StartRecord], metric: Metric) -> str:
    windows = [window.measurement for start in starts for window in start.windows]
    if not windows:
        return f"no window was measured in {len(starts)} starts"
    if metric.silence:
        return metric.silence.format(n=len(starts))
    longest_s = max(window.latency.max_s for window in windows)
    answered = f": answers take up to {format_duration(longest_s)}" if longest_s > 0 else ""
    return (
        f"in no start did all arms answer within windows of "
        f"{format_duration(windows[0].measured_s)}{answered}; a longer `method.window` may do"
    )
