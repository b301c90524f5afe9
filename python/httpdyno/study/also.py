"""Metrics that have a verdict of their own beside the objective's."""

from collections.abc import Sequence

from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.model import Objective, Workload
from httpdyno.model.metric import CALL_METRIC, RATES, REQUEST_METRICS, metric_named, of_request


def metrics_of(workload: Workload) -> tuple[str, ...]:
    """Return the metrics of a server under a load, and those of its requests that have a name."""
    names = filter(None, workload.request_names)
    return (*REQUEST_METRICS, *(metric for name in names for metric in of_request(name)))


def with_also(objective: Objective, names: Sequence[str], workload: Workload) -> Objective:
    """Return the objective with a claim of its own for each of these metrics, and for those it has.

    One that is told beside the metric anyway stays what it is.

    Args:
        objective: Of a study.
        names: `latency_p99_s`, or `p99_s` for short.
        workload: That the study has.

    Raises:
        UsageError: One of them is no metric, decides already, or compares nothing.
    """
    known = [*metrics_of(workload)]
    if workload.is_open_loop:
        known = [each for each in known if each not in RATES]
    if objective.metric == CALL_METRIC:
        known = []  # no request is made
    known = [each for each in known if each not in {objective.metric, objective.tie_breaker}]
    also = list(objective.also)
    for name in names:
        metric = metric_named(name)
        if metric not in known:
            raise UsageError(f"`{name}` cannot be told beside the metric", hint=", ".join(known))
        if metric not in {*objective.beside, *also}:
            also.append(metric)
    return structs.replace(objective, also=tuple(also))


def workload_for(metric: str, workload: Workload) -> str:
    """Return which workload has figures of a metric, in words; empty where this one has."""
    if metric.startswith("page_") and not workload.has_pages:
        return "a workload with pages: requests with `objects`"
    if metric.startswith("usual_") and workload.slow is None:
        return "a workload in which some are `slow`"
    return ""
