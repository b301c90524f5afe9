"""What the users' first steps came to, such as their logins, in words. Pure."""

from httpdyno.model import Measurement, RequestSpec, Workload


def n_entered(entrance: Measurement, workload: Workload) -> int:
    """Return how many users got through all first steps."""
    parts = _parts(entrance, workload)
    return parts[-1][1] if parts else 0


def entrance_trouble(entrance: Measurement, workload: Workload) -> str:
    """Return in words who did not get through the first steps, and why; empty where all did.

    `6 of 6 users did not get through the first steps: POST /login was answered 200, where 302 is
    expected`.
    """
    n_users = workload.connections
    n_out = n_users - n_entered(entrance, workload)
    if not n_out:
        return ""
    words = [
        f"{request.method} {request.path} {_ended(request, entrance, workload)}"
        for request, _, n_failed in _parts(entrance, workload)
        if n_failed
    ]
    why = f": {'; '.join(words)}" if words else ""
    return f"{n_out:,} of {n_users:,} users did not get through the first steps{why}"


def _parts(entrance: Measurement, workload: Workload) -> list[tuple[RequestSpec, int, int]]:
    """Return each first step with how often it was done, and how often it failed."""
    portions = entrance.by_request[len(workload.requests) :]
    return [
        (request, portion.completed, portion.n_errors)
        for request, portion in zip(workload.first, portions, strict=False)
    ]


def _ended(request: RequestSpec, entrance: Measurement, workload: Workload) -> str:
    """Return how the step ended that failed: `was answered 200, where 302 is expected`."""
    portions = entrance.by_request[len(workload.requests) :]
    errors = portions[workload.first.index(request)].errors
    kinds = [kind.replace("_", " ") for kind, n in errors.items() if n and kind != "wrong_status"]
    if not errors.get("wrong_status"):
        return f"failed ({', '.join(kinds)})"
    # Statuses are counted over all steps: what is right for one of them tells nothing of another.
    wrong = [
        status
        for status, n in entrance.statuses.items()
        if n and not any(_is_right(status, each.expect_status) for each in workload.first)
    ]
    wanted = "2xx or 3xx" if request.expect_status is None else str(request.expect_status)
    text = f"was answered {' or '.join(wrong)}" if wrong else "got another status"
    return f"{text}, where {wanted} is expected" + (f" ({', '.join(kinds)} too)" if kinds else "")


def _is_right(status: str, wanted: int | None) -> bool:
    return status[:1] in {"2", "3"} if wanted is None else status == str(wanted)
