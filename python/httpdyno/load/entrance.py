"""What the users' first steps came to, such as their logins. Pure."""

from httpdyno.model import Measurement, RequestSpec, Workload
from httpdyno.reason import Reason, because


def n_entered(entrance: Measurement, workload: Workload) -> int:
    """Return how many users got through all first steps."""
    parts = _parts(entrance, workload)
    return parts[-1][1] if parts else 0


def entrance_trouble(entrance: Measurement, workload: Workload) -> Reason | None:
    """Return who did not get through the first steps, and why; None where all did."""
    n_users = workload.connections
    n_out = n_users - n_entered(entrance, workload)
    if not n_out:
        return None
    steps = [
        _ended(request, entrance, workload)
        for request, _, n_failed in _parts(entrance, workload)
        if n_failed
    ]
    return because(
        "load.not_entered_at" if steps else "load.not_entered", n=n_out, of=n_users, steps=steps
    )


def _parts(entrance: Measurement, workload: Workload) -> list[tuple[RequestSpec, int, int]]:
    """Return each first step with how often it was done, and how often it failed."""
    portions = entrance.by_request[len(workload.requests) :]
    return [
        (request, portion.completed, portion.n_errors)
        for request, portion in zip(workload.first, portions, strict=False)
    ]


def _ended(request: RequestSpec, entrance: Measurement, workload: Workload) -> Reason:
    """Return how the step ended that failed: `was answered 200, where 302 is expected`."""
    portions = entrance.by_request[len(workload.requests) :]
    errors = portions[workload.first.index(request)].errors
    kinds = [kind.replace("_", " ") for kind, n in errors.items() if n and kind != "wrong_status"]
    if not errors.get("wrong_status"):
        return because("load.step_failed", method=request.method, path=request.path, kinds=kinds)
    # Statuses are counted over all steps: what is right for one of them tells nothing of another.
    wrong = [
        status
        for status, n in entrance.statuses.items()
        if n and not any(_is_right(status, each.expect_status) for each in workload.first)
    ]
    why = because(
        "load.step_answered" if wrong else "load.step_answered_otherwise",
        method=request.method,
        path=request.path,
        statuses=wrong,
        wanted=because("load.any_success")
        if request.expect_status is None
        else str(request.expect_status),
    )
    return because("load.step_and", why=why, kinds=kinds) if kinds else why


def _is_right(status: str, wanted: int | None) -> bool:
    return status[:1] in {"2", "3"} if wanted is None else status == str(wanted)
