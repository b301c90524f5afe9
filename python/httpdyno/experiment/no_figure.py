"""Why a comparison has no figure of a metric; pure."""

from collections.abc import Sequence

from httpdyno.experiment.evidence import carries, has_figures, smallest_count
from httpdyno.metrics import Metric, named
from httpdyno.metrics.totals import arm_totals, not_above_floor
from httpdyno.model import StartRecord
from httpdyno.reason import Reason, because

_SILENT_STARTS = 2
"""Starts without any figure after which no further one is waited for."""


def no_figure(
    starts: Sequence[StartRecord],
    metric: str,
    fewest: int,
    arms: Sequence[int] = (0, 1),
    names: Sequence[str] = ("a", "b"),
) -> Reason | None:
    """Return why these starts give no ratio of a metric; None where they may.

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
        return because(
            "experiment.too_few_pages"
            if row.distribution == "page"
            else "experiment.too_few_requests",
            n=smallest_count(starts, name, arms),
            metric=metric,
        )
    is_told = any(has_figures(start, arms, name) for start in starts)
    is_silent = len(starts) >= _SILENT_STARTS and not is_told
    if is_silent or len(starts) >= fewest:
        figures = (
            (lambda start, arm: arm_totals(start, arm).call_figures) if row.is_of_code else None
        )
        reason = (figures and not_above_floor(starts, figures)) or row.no_ratio(starts, arms, names)
        if reason is not None:
            return reason
    return _silence(starts, row) if is_silent else None


def _silence(starts: Sequence[StartRecord], metric: Metric) -> Reason:
    windows = [window.measurement for start in starts for window in start.windows]
    if not windows:
        return because("experiment.no_window", n=len(starts))
    if metric.silence is not None:
        return metric.silence(len(starts))
    longest_s = max(window.latency.max_s for window in windows)
    return because(
        "experiment.too_slow_for_windows" if longest_s > 0 else "experiment.silent_in_windows",
        window_s=windows[0].measured_s,
        longest_s=longest_s,
    )
