"""Whether a start can be used as evidence, and why not; pure.

A start in which the reference did not run as it should says nothing of the candidate. It is an
outcome like any other: stored, named, and tried again.

The objective's limits, which make no change better but forbid it; pure.
"""

import math
from collections import Counter
from collections.abc import Sequence

from msgspec import structs

from httpdyno.metrics.totals import arm_windows
from httpdyno.model import ArmSummary, Objective, RequestSpec, StartRecord, Study, WindowRecord
from httpdyno.reason import Reason, because
from httpdyno.stats.histogram import quantile_s


def limit_broken(arm: ArmSummary, objective: Objective) -> Reason | None:
    """Return the objective's limit that the arm breaks; None when it keeps all."""
    most_ratio = objective.max_error_ratio
    if arm.error_ratio > most_ratio:
        return because("experiment.errors_over_limit", ratio=arm.error_ratio, limit=most_ratio)
    for name, phase in arm.phases.items():
        if phase.error_ratio > most_ratio:
            return because(
                "experiment.phase_errors_over_limit",
                ratio=phase.error_ratio,
                limit=most_ratio,
                phase=name,
            )
    # From however few requests: a limit that needs a large sample to bind would protect nobody.
    p99_s = quantile_s(arm.latency, 0.99)
    if objective.max_p99_s is not None and p99_s > objective.max_p99_s:
        return because("experiment.p99_over_limit", p99_s=p99_s, limit_s=objective.max_p99_s)
    held, most = arm.largest_pss_bytes, objective.max_memory_bytes
    if held is not None and most is not None and held > most:
        return because("experiment.memory_over_limit", held=held, limit=most)
    return None


def within_limits(summary: ArmSummary, objective: Objective) -> ArmSummary:
    """Return an arm's summary; one that breaks a limit of the objective is `infeasible`."""
    broken = limit_broken(summary, objective) if summary.status == "complete" else None
    if broken is None:
        return summary
    return structs.replace(summary, status="infeasible", detail=(broken,))


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


def disturbance(start: StartRecord) -> tuple[Reason, ...]:
    """Return what disturbed the start as a whole; empty where nothing did."""
    if "unstable" not in start.statuses:
        return ()
    arm = start.statuses.index("unstable")
    return (start.details[arm] if start.details else ()) or (because("experiment.was_unstable"),)


def are_too_many(failures: Sequence[StartRecord]) -> bool:
    """Tell whether starts have failed too often in a row; those that were disturbed count apart."""
    n_disturbed = sum(bool(disturbance(each)) for each in failures)
    n_failed = len(failures) - n_disturbed
    return n_failed >= N_FAILED_STARTS or n_disturbed >= N_DISTURBED_STARTS


def start_trouble(
    start: StartRecord, references: Sequence[int], study: Study
) -> tuple[Reason, ...]:
    """Return why a start cannot be used; empty where it can.

    Args:
        start: What was measured.
        references: Arms that must have run as they should. Without any, some arm must have run.
        study: Its objective says what is too many failures.
    """
    if disturbed := disturbance(start):
        return disturbed
    if not references and "complete" in start.statuses:
        return ()
    arms = references or range(len(start.statuses))
    troubles = tuple(filter(None, (arm_trouble(start, arm, study) for arm in arms)))
    return troubles[:1] if references else tuple(dict.fromkeys(troubles))


def arm_trouble(start: StartRecord, arm: int, study: Study) -> Reason | None:
    """Return why an arm of a start was not measured as it should be; None if it was."""
    if start.statuses[arm] != "complete":
        why = start.details[arm] if start.details else ()
        return because(
            "experiment.arm_failed_because" if why else "experiment.arm_failed",
            status=start.statuses[arm],
            why=why,
        )
    return failing(arm_windows(start, arm), study.objective, study.workload.requests)


def failing(
    windows: Sequence[WindowRecord], objective: Objective, requests: Sequence[RequestSpec] = ()
) -> Reason | None:
    """Return which requests failed, where that is beyond the objective's limit by more than chance.

    None where the limit is kept, or broken by so few that luck may have done it: those are judged
    when all is measured.
    """
    offered = sum(window.measurement.offered for window in windows)
    failed = offered - sum(window.measurement.completed for window in windows)
    are_all = failed == offered > 0
    proven = failed - _PROVEN_SDS * math.sqrt(failed)
    if not are_all and proven <= objective.max_error_ratio * offered:
        return None
    return because(
        "experiment.all_failed" if are_all else "experiment.too_many_failed",
        what=_what_failed(windows, requests),
        failed=failed,
        offered=offered,
        limit=objective.max_error_ratio,
    )


def forbidden(
    windows: Sequence[WindowRecord], objective: Objective, requests: Sequence[RequestSpec] = ()
) -> Reason | None:
    """Return which requests failed, in whatever phase, where none at all may; None elsewhere.

    That one can fail is proven by one that did, so luck is no excuse for a candidate. A reference
    is left to `failing`: without it nothing could be compared.
    """
    if objective.max_error_ratio > 0:
        return None
    offered = sum(window.measurement.offered for window in windows)
    if failed := offered - sum(window.measurement.completed for window in windows):
        what = _what_failed(windows, requests)
        return because("experiment.none_may_fail", what=what, failed=failed, offered=offered)
    for name in dict.fromkeys(name for each in windows for name in each.measurement.beside):
        phases = [
            each.measurement.beside[name] for each in windows if name in each.measurement.beside
        ]
        offered = sum(each.offered for each in phases)
        if failed := offered - sum(each.completed for each in phases):
            return because(
                "experiment.none_may_fail_in_phase", failed=failed, offered=offered, phase=name
            )
    return None


def _what_failed(windows: Sequence[WindowRecord], requests: Sequence[RequestSpec]) -> Reason:
    """Return the request that failed most, and how: `GET /x got status 500`."""
    worst = _worst_request(windows, len(requests))
    request = requests[worst] if worst is not None else None
    name = f"{request.method} {request.path}" if request else because("experiment.the_workload")
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
    asked = request.expect_status if request else None
    if kind == "wrong_status" and wrong:
        return because(
            "experiment.got_status" if asked in _USUAL else "experiment.got_other_status",
            name=name,
            status=wrong.most_common(1)[0][0],
            asked=asked,
        )
    if kind == "wrong_status" and request is not None:
        return because(
            "experiment.no_such_status" if asked else "experiment.no_good_status",
            name=name,
            asked=asked,
        )
    return because("experiment.failed_as", name=name, kind=kind)


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
