"""Whether a start can be used as evidence, and in which words not; pure.

A start in which the reference did not run as it should says nothing of the candidate. It is an
outcome like any other: stored, named, and tried again.
"""

import math
from collections import Counter
from collections.abc import Sequence

from httpdyno.metrics.totals import arm_windows
from httpdyno.model import Objective, RequestSpec, StartRecord, Study, WindowRecord
from httpdyno.units import format_percent

N_FAILED_STARTS = 3
"""A start that fails is tried again. So many in a row are no accident: they end the run."""

N_DISTURBED_STARTS = 10
"""So many in a row in which this process stood still, or lost what it runs beside a server: nothing
can be measured here now. It takes more of them, because it is nobody's fault, and passes."""

_PROVEN_SDS = 3.0
"""So many standard deviations (of a count: its root) must lie between the failures that were seen
and those that the limit allows, before one start is enough to judge by."""

_SUCCESSES = range(200, 400)

_USUAL = (None, 200)
"""What nobody has to be told was expected."""


def disturbance(start: StartRecord) -> str:
    """Return in words what disturbed the start as a whole; empty where nothing did."""
    if "unstable" not in start.statuses:
        return ""
    arm = start.statuses.index("unstable")
    return (start.details[arm] if start.details else "") or "it was unstable"


def are_too_many(failures: Sequence[StartRecord]) -> bool:
    """Tell whether starts have failed too often in a row; those that were disturbed count apart."""
    n_disturbed = sum(bool(disturbance(each)) for each in failures)
    n_failed = len(failures) - n_disturbed
    return n_failed >= N_FAILED_STARTS or n_disturbed >= N_DISTURBED_STARTS


def start_trouble(start: StartRecord, references: Sequence[int], study: Study) -> str:
    """Return in words why a start cannot be used; empty where it can.

    Args:
        start: What was measured.
        references: Arms that must have run as they should. Without any, some arm must have run.
        study: Its objective says what is too many failures.
    """
    words = disturbance(start)
    if words:
        return words
    if references:
        return next(filter(None, (arm_trouble(start, arm, study) for arm in references)), "")
    if "complete" in start.statuses:
        return ""
    troubles = (arm_trouble(start, arm, study) for arm in range(len(start.statuses)))
    return "; ".join(dict.fromkeys(troubles))


def arm_trouble(start: StartRecord, arm: int, study: Study) -> str:
    """Return in words why an arm of a start was not measured as it should be; empty if it was."""
    status = start.statuses[arm]
    if status != "complete":
        detail = start.details[arm] if start.details else ""
        return f"{status}: {detail}".removesuffix(": ")
    return failing_words(arm_windows(start, arm), study.objective, study.workload.requests)


def failing_words(
    windows: Sequence[WindowRecord], objective: Objective, requests: Sequence[RequestSpec] = ()
) -> str:
    """Return which requests failed, where that is beyond the objective's limit by more than chance.

    `GET /x got status 500 in 312 of 624 requests; the limit is 0.1 %`. Empty where the limit is
    kept, or broken by so few that luck may have done it: those are judged when all is measured.
    """
    offered = sum(window.measurement.offered for window in windows)
    failed = offered - sum(window.measurement.completed for window in windows)
    are_all = failed == offered > 0
    proven = failed - _PROVEN_SDS * math.sqrt(failed)
    if not are_all and proven <= objective.max_error_ratio * offered:
        return ""
    limit = format_percent(objective.max_error_ratio)
    end = "no answer was right" if are_all else f"the limit is {limit}"
    return f"{_what_failed(windows, requests)} in {failed:,} of {offered:,} requests; {end}"


def forbidden_words(
    windows: Sequence[WindowRecord], objective: Objective, requests: Sequence[RequestSpec] = ()
) -> str:
    """Return which requests failed, in whatever phase, where none at all may; empty elsewhere.

    That one can fail is proven by one that did, so luck is no excuse for a candidate. A reference
    is left to `failing_words`: without it nothing could be compared.
    """
    if objective.max_error_ratio > 0:
        return ""
    offered = sum(window.measurement.offered for window in windows)
    if failed := offered - sum(window.measurement.completed for window in windows):
        return f"{_what_failed(windows, requests)} in {failed:,} of {offered:,} requests; none may"
    for name in dict.fromkeys(name for each in windows for name in each.measurement.beside):
        phases = [
            each.measurement.beside[name] for each in windows if name in each.measurement.beside
        ]
        offered = sum(each.offered for each in phases)
        if failed := offered - sum(each.completed for each in phases):
            return f"{failed:,} of {offered:,} requests failed in phase {name}; none may"
    return ""


def _what_failed(windows: Sequence[WindowRecord], requests: Sequence[RequestSpec]) -> str:
    """Return the request that failed most, and how: `GET /x got status 500`."""
    worst = _worst_request(windows, len(requests))
    request = requests[worst] if worst is not None else None
    name = f"{request.method} {request.path}" if request else "the workload"
    errors: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    for window in windows:
        errors.update(window.measurement.errors)
        statuses.update(window.measurement.statuses)
    kind = errors.most_common(1)[0][0] if errors else "no_answer"
    # Statuses are counted over all requests: what is right for another may be this one's or not.
    wrong = Counter(
        {
            code: n
            for code, n in statuses.items()
            if not any(_is_right(int(code), each) for each in requests or (None,))
        }
    )
    if kind == "wrong_status" and wrong:
        got = f"{name} got status {wrong.most_common(1)[0][0]}"
        asked = request.expect_status if request else None
        return f"{got} where {asked} is expected" if asked not in _USUAL else got
    if kind == "wrong_status" and request is not None:
        return f"{name} did not get status {request.expect_status or '2xx or 3xx'}"
    return f"{name} failed ({kind.replace('_', ' ')})"


def _worst_request(windows: Sequence[WindowRecord], n_requests: int) -> int | None:
    """Return the index of the request with the most failures; None where nobody knows."""
    if n_requests == 1:
        return 0
    counts: Counter[int] = Counter()
    for window in windows:
        for index, portion in enumerate(window.measurement.by_request):
            counts[index] += portion.n_errors
    worst = counts.most_common(1)
    return worst[0][0] if worst and worst[0][1] and worst[0][0] < n_requests else None


def _is_right(status: int, request: RequestSpec | None) -> bool:
    if request is None or request.expect_status is None:
        return status in _SUCCESSES
    return status == request.expect_status
