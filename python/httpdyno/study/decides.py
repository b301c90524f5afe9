"""Another metric that decides a study, as a command line may ask for it."""

from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.metrics.table import CALL_METRIC, RATES, is_among, meant_by
from httpdyno.model import Study
from httpdyno.model.workload import second_metric_of
from httpdyno.study.also import metrics_of, metrics_text, server_for, workload_for


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
    if expected := workload_for(metric, workload) or server_for(metric, study):
        raise UsageError(f"study {study.name} has no {metric}", hint=f"it takes {expected}")
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
