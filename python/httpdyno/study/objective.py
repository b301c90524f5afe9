"""`[objective]` of a study file: the metric that decides, and those with a verdict besides."""

from collections.abc import Sequence

from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.metrics import named
from httpdyno.metrics.metric import Needs
from httpdyno.metrics.table import (
    ANY_OF,
    CALL_METRIC,
    RATES,
    REQUEST_METRICS,
    calls_of_kind,
    is_among,
    meant_by,
    of_request,
)
from httpdyno.model import Objective, Replay, Study, Workload
from httpdyno.model.workload import second_metric_of
from httpdyno.telemetry.syscalls.trace import COUNTED


def metrics_of(workload: Workload) -> tuple[str, ...]:
    """Return the metrics of a server under a load, and those of its requests that have a name.

    System calls are also those of each kind. Answers that say a word are one: any may be theirs.
    """
    names = filter(None, workload.request_names)
    of_one = (metric for name in names for metric in of_request(name))
    return (*REQUEST_METRICS, *of_one, *map(calls_of_kind, COUNTED), *ANY_OF)


def metrics_text(metrics: Sequence[str]) -> str:
    """Return metrics in a row; those of kinds of calls as one, for there are many."""
    of_kinds = {*map(calls_of_kind, COUNTED)}
    told = [each for each in metrics if each not in of_kinds]
    kinds = [calls_of_kind("KIND")] if len(told) < len(metrics) else []
    return ", ".join([*told, *kinds])


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
    taken = {objective.metric, objective.tie_breaker}
    known = [each for each in known if each not in taken]
    also = list(objective.also)
    for name in names:
        metric = meant_by(name)
        if metric in taken or not is_among(metric, known):
            raise UsageError(f"`{name}` cannot be told beside the metric", hint=metrics_text(known))
        if metric not in {*objective.beside, *also}:
            also.append(metric)
    return structs.replace(objective, also=tuple(also))


def check_workload_for(metric: str, workload: Workload) -> None:
    """Refuse a workload that has no figures of a metric.

    Raises:
        ValueError: With which one has.
    """
    needs = named(metric).needs
    if needs == "pages" and not workload.has_pages:
        raise ValueError("a workload with pages: requests with `objects`")
    if needs in {"usual users", "slow users"}:
        _check_users(needs, workload)
    if needs == "TLS" and workload.tls is None:
        raise ValueError("a workload over TLS: a server with `tls = true`")
    if needs == "requests" and isinstance(workload.arrival, Replay):
        raise ValueError("a workload with requests of its own: those of a log are not sent twice")


def _check_users(needs: Needs, workload: Workload) -> None:
    slow, n = workload.slow, workload.connections
    if slow is None:
        raise ValueError("a workload in which some are `slow`")
    if needs == "usual users" and slow.ratio >= 1:
        raise ValueError("a workload in which some are not `slow`: without a share all of them are")
    # As the engine counts users of a closed loop; in an open one it draws for each arrival.
    if needs == "slow users" and not workload.is_open_loop and n * slow.ratio + 1e-9 < 1:
        raise ValueError(
            f"a workload in which some are `slow`: {slow.ratio * 100:g} % of {n} connections are "
            "none"
        )


def check_server_for(metric: str, study: Study) -> None:
    """Refuse servers that have no figures of a metric.

    Raises:
        ValueError: With which ones have.
    """
    needs, network = named(metric).needs, study.server.network
    if needs == "one server" and (study.site is not None or study.server.companions):
        raise ValueError(
            "one server: of a site, or beside companions, nobody tells when it is ready"
        )
    if needs == "resolver" and (network is None or network.resolver is None):
        raise ValueError("servers with a resolver of names of their own: `[network.resolver]`")
    if needs == "header" and not study.counted_header:
        raise ValueError(
            'a study that counts a header: `[workload]` with `count_header = "X-Cache"`'
        )


# Another metric that decides a study, as a command line may ask for it.


def check_has(metric: str, study: Study) -> None:
    """Refuse a metric that a study's load or servers have no figures of.

    Raises:
        UsageError: With what it takes.
    """
    try:
        check_workload_for(metric, study.workload)
        check_server_for(metric, study)
    except ValueError as error:
        raise UsageError(f"study {study.name} has no {metric}", hint=f"it takes {error}") from error


def decided_by(study: Study, name: str) -> Study:
    """Return the study with this metric deciding; as it is where that does already.

    What the file says of its own metric goes with it: the tie breaker, and published figures.

    Args:
        study: As its file has it.
        name: `latency_p95_s`, or `p95_s` for short.

    Raises:
        UsageError: It is no metric, or compares nothing in this study.
    """
    metric, workload, objective = meant_by(name), study.workload, study.objective
    if metric == objective.metric:
        return study
    known = [] if objective.metric == CALL_METRIC else [*metrics_of(workload)]
    if workload.is_open_loop:
        known = [each for each in known if each not in RATES]
    if not is_among(metric, known):
        raise UsageError(
            f"`{name}` cannot decide study {study.name}",
            hint=f"there are {metrics_text(known)}" if known else f"{objective.metric} decides it",
        )
    check_has(metric, study)
    second = second_metric_of(metric, "", is_open_loop=workload.is_open_loop)
    also = tuple(each for each in objective.also if each not in {metric, second})
    return structs.replace(
        study,
        book_ratio=None,
        book_figure="",
        knobs=tuple(structs.replace(each, book_ratio=()) for each in study.knobs),
        candidates=tuple(structs.replace(each, book_ratio=None) for each in study.candidates),
        objective=structs.replace(
            objective, metric=metric, tie_breaker="", second_metric=second, also=also
        ),
    )
