"""What a server under load that gave no right answer in a whole window did, in a word."""

from collections.abc import Collection, Sequence

from httpdyno.model import Measurement, RequestSpec, TrialStatus
from httpdyno.servers.adapter import Running
from httpdyno.servers.run.live_process import children_of

_TIMEOUTS = ("timeout", "connect_timeout")


def silence(
    measurement: Measurement,
    running: Running,
    workers: Collection[int],
    requests: Sequence[RequestSpec] = (),
) -> tuple[TrialStatus, str]:
    """Return how the server failed, and what is known of it.

    `crashed` where a process of it died, `infeasible` where it answered but not rightly, or cut
    every connection; `hung` where it did not answer.

    Args:
        measurement: Of a window without a right answer.
        running: The server.
        workers: The root processes' children when it was ready.
        requests: Of the workload, for what was expected of the answers.
    """
    seen = f"no right answer in a whole window: {_seen(measurement, requests)}".removesuffix(": ")
    if not running.is_alive():
        return "crashed", f"{crash_words(running)}\n{seen}"
    if measurement.statuses:
        return "infeasible", seen
    if any(kind in measurement.errors for kind in _TIMEOUTS):
        return "hung", seen
    gone = set(workers) - children_of(running.root_pids)
    if gone:
        words = f"{len(gone)} of its {len(workers)} processes ended under load"
        return "crashed", f"{words}: {running.last_words()}\n{seen}"
    return "infeasible", seen


def _seen(measurement: Measurement, requests: Sequence[RequestSpec]) -> str:
    """Return `568 wrong status; 568 came with 200, where 201 is expected`."""
    kinds = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in measurement.errors.items())
    if not measurement.statuses:
        return kinds
    came = ", ".join(f"{n} came with {code}" for code, n in measurement.statuses.items())
    words = f"{kinds}; {came}" if kinds else came
    expected = dict.fromkeys(str(each.expect_status or "2xx or 3xx") for each in requests)
    if "wrong_status" not in measurement.errors or not expected:
        return words
    return f"{words}, where {' or '.join(expected)} is expected"


def crash_words(running: Running) -> str:
    """Return what a dead server said at last."""
    words = running.last_words()
    return (
        f"its first process ended under load: {words}"
        if words
        else ("its first process ended under load without a word")
    )
