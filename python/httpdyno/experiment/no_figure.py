"""Why a comparison has no figure of a metric, in words; pure."""

from collections.abc import Sequence

from httpdyno.experiment.call_figures import floor_doubt
from httpdyno.experiment.count_ratios import no_ratio
from httpdyno.experiment.evidence import carries, has_figures, smallest_count, start_figures
from httpdyno.model import StartRecord
from httpdyno.model.metric import CALL_RATIOS, METRIC_NAMES, RATIO_OF_METRIC
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
    name = RATIO_OF_METRIC[metric]
    if len(starts) >= fewest and not carries(starts, name, arms):
        what = "pages" if metric.startswith("page_") else "requests"
        return (
            f"a start holds {smallest_count(starts, name, arms):,} {what}, too few {what} for its "
            f"{METRIC_NAMES[metric]}; a longer `method.window` or more `blocks_per_start` has more"
        )
    is_told = any(has_figures(start, arms, name) for start in starts)
    is_silent = len(starts) >= _SILENT_STARTS and not is_told
    if name in CALL_RATIOS and (is_silent or len(starts) >= fewest):
        doubt = floor_doubt(starts, lambda start, arm: start_figures(start, arm).calls)
        if doubt:
            return doubt
    if is_silent or len(starts) >= fewest:
        doubt = no_ratio(starts, name, arms, names)
        if doubt:
            return doubt
    return _silence(starts, metric) if is_silent else ""


def _silence(starts: Sequence[StartRecord], metric: str) -> str:
    windows = [window.measurement for start in starts for window in start.windows]
    if not windows:
        return f"no window was measured in {len(starts)} starts"
    if metric in {"cpu_s_per_request", "cpu_s_per_call"}:
        return (
            f"the CPU time of a start is too short to be read in {len(starts)} starts; "
            "a longer `method.window` has more"
        )
    if metric in {"pss_bytes", "uss_bytes_per_process"}:
        return f"the memory of an arm could not be read in {len(starts)} starts"
    longest_s = max(window.latency.max_s for window in windows)
    answered = f": answers take up to {format_duration(longest_s)}" if longest_s > 0 else ""
    return (
        f"in no start did all arms answer within windows of "
        f"{format_duration(windows[0].measured_s)}{answered}; a longer `method.window` may do"
    )
