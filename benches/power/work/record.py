"""What is kept of a window."""

import msgspec

METRICS = ("cpu", "throughput", "p50", "p90")
"""CPU seconds per request, right answers per second, latencies."""

Truths = dict[str, dict[str, float]]
"""By circumstances (`Way.truth`) and metric."""


class Window(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A window on one arm; times in seconds."""

    arm: int
    block: int
    """The windows of a block are one right after the other, or at the same time."""
    n_offered: int
    n_right: int
    right: float
    """Right answers of the measured part, by cycles in a closed loop."""
    measured_s: float
    total_s: float
    cpu_s: float
    """Of the server, over the whole window."""
    p50_s: float
    """0 where no request was due in the measured part."""
    client_cpu_s: float
    work_cpu_s: float
    """What the known work took before the window and after it, the mean; 0 where none was done."""
    work_wall_s: float
    others_s: float
    """CPU time of neither the server nor this process, on the whole machine: a difference of
    accounts, one of which counts in hundredths of a second, so it may be below 0."""
    steal_s: float
    wait_s: float
    """For which the server's processes stood in the queue for a core."""
