"""What a server under load that gave no right answer in a whole window did, in a word."""

from collections.abc import Collection, Sequence

from httpdyno.model import Measurement, RequestSpec, TrialStatus
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import Running
from httpdyno.servers.run.live_process import children_of

_TIMEOUTS = ("timeout", "connect_timeout")


def silence(
    measurement: Measurement,
    running: Running,
    workers: Collection[int],
    requests: Sequence[RequestSpec] = (),
) -> tuple[TrialStatus, tuple[Reason, ...]]:
    """Return how the server failed, and what is known of it.

    `crashed` where a process of it died, `infeasible` where it answered but not rightly, or cut
    every connection; `hung` where it did not answer.

    Args:
        measurement: Of a window without a right answer.
        running: The server.
        workers: The root processes' children when it was ready.
        requests: Of the workload, for what was expected of the answers.
    """
    seen = _seen(measurement, requests)
    if not running.is_alive():
        return "crashed", (crashed(running), seen)
    if measurement.statuses:
        return "infeasible", (seen,)
    if any(kind in measurement.errors for kind in _TIMEOUTS):
        return "hung", (seen,)
    gone = set(workers) - children_of(running.root_pids)
    if gone:
        died = because(
            "experiment.workers_died", n=len(gone), of=len(workers), words=running.last_words()
        )
        return "crashed", (died, seen)
    return "infeasible", (seen,)


def _seen(measurement: Measurement, requests: Sequence[RequestSpec]) -> Reason:
    """Return `568 wrong status; 568 came with 200, where 201 is expected`."""
    kinds = [because("experiment.so_many", n=n, kind=k) for k, n in measurement.errors.items()]
    came = [because("experiment.came_with", n=n, status=s) for s, n in measurement.statuses.items()]
    if not kinds or not came:
        only = kinds or came
        return because(
            "experiment.no_right_answer_but" if only else "experiment.no_right_answer", what=only
        )
    expected = list(dict.fromkeys(str(each.expect_status or "2xx or 3xx") for each in requests))
    is_other = "wrong_status" in measurement.errors and bool(expected)
    return because(
        "experiment.no_right_answer_of" if is_other else "experiment.no_right_answer_with",
        kinds=kinds,
        came=came,
        expected=expected,
    )


def crashed(running: Running) -> Reason:
    """Return what a dead server said at last."""
    words = running.last_words()
    return because("experiment.crashed" if words else "experiment.crashed_silently", words=words)
