"""What a server under load that gave no right answer in a whole window did, in a word."""

from collections.abc import Collection

from httpdyno.model import Measurement, TrialStatus
from httpdyno.servers.adapter import Running
from httpdyno.servers.session import child_pids

_TIMEOUTS = ("timeout", "connect_timeout")


def silence(
    measurement: Measurement, running: Running, workers: Collection[int]
) -> tuple[TrialStatus, str]:
    """Return how the server failed, and what is known of it.

    `crashed` where a process of it died, `infeasible` where it answered but not rightly, or cut
    every connection; `hung` where it did not answer.

    Args:
        measurement: Of a window without a right answer.
        running: The server.
        workers: The root process's children when it was ready.
    """
    kinds = ", ".join(f"{n} {kind}" for kind, n in measurement.errors.items())
    statuses = ", ".join(f"{n} with {code}" for code, n in measurement.statuses.items())
    seen = f"no right answer in a whole window: {kinds} {statuses}".rstrip()
    if not running.is_alive():
        return "crashed", f"{crash_words(running)}\n{seen}"
    if measurement.statuses:
        return "infeasible", seen
    if any(kind in measurement.errors for kind in _TIMEOUTS):
        return "hung", seen
    gone = set(workers) - set(child_pids(running.root_pid))
    if gone:
        words = f"{len(gone)} of its {len(workers)} processes ended under load"
        return "crashed", f"{words}: {running.last_words()}\n{seen}"
    return "infeasible", seen


def crash_words(running: Running) -> str:
    """Return what a dead server said at last."""
    words = running.last_words()
    return (
        f"its first process ended under load: {words}"
        if words
        else ("its first process ended under load without a word")
    )
