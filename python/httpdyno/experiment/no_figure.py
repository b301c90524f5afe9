"""Why a comparison has no figure of a metric, in words; pure."""

from collections.abc import Sequence

from httpdyno.model import StartRecord
from httpdyno.units import format_duration


def no_figure(starts: Sequence[StartRecord], metric: str) -> str:
    """Return why no start gives a ratio of this metric, and what to do."""
    windows = [window.measurement for start in starts for window in start.windows]
    if not windows:
        return f"no window was measured in {len(starts)} starts"
    if metric == "cpu_s_per_request":
        return (
            f"the CPU time of a start is too short to be read in {len(starts)} starts; "
            "a longer `method.window` has more"
        )
    if metric == "pss_bytes":
        return f"the memory of one of both could not be read in {len(starts)} starts"
    longest_s = max(window.latency.max_s for window in windows)
    answered = f": answers take up to {format_duration(longest_s)}" if longest_s > 0 else ""
    return (
        f"in no start did both arms answer within windows of "
        f"{format_duration(windows[0].measured_s)}{answered}; a longer `method.window` may do"
    )
