"""What makes no sense as a workload, each in one sentence, before anything is sent."""

import math
import re
import string

from httpdyno.errors import UsageError
from httpdyno.foreign import opened_regular, reason
from httpdyno.model import (
    Closed,
    Constant,
    Poisson,
    RateStage,
    Replay,
    RequestSpec,
    Sessions,
    SlowUsers,
    Stages,
    Users,
    VisitStep,
    Workload,
)
from httpdyno.model.arrival import MAX_RATE_PER_S, n_expected
from httpdyno.units import format_rate

PLACEHOLDERS = ("n", "user", "random")
"""What `{…}` can stand for in a path, a header's value or a body."""

# `{{n}}` is the text `{n}` itself.
_PLACEHOLDER = re.compile(r"\{\{[A-Za-z_]+\}\}|\{([A-Za-z_]+)\}")
# RFC 9110 section 5.6.2.
_TOKEN = frozenset("!#$%&'*+-.^_`|~" + string.digits + string.ascii_letters)
# As the engine has them; what is beyond would only be a mistake.
_MAX_CONNECTIONS = 1_000_000
_MAX_CONNECTIONS_PER_PAGE = 1000
_MAX_STEPS = 2**32 - 1
_MAX_VISIT_STEPS = 1e9
_MAX_TIME_S = 1e9
_MAX_BUFFER_BYTES = 1 << 30


def check_workload(workload: Workload) -> None:
    """Refuse a workload that makes no sense, before anything is sent.

    Raises:
        UsageError: With the sentence that says what.
    """
    _check_arrival(workload)
    if not isinstance(workload.arrival, Replay):
        _check_mix(workload.requests, workload.mix)
    _check_connections(workload)
    _check_users(workload.users)
    if workload.slow is not None:
        _check_slow(workload.slow)
    if not 0 < workload.timeout_s <= _MAX_TIME_S:
        raise UsageError(
            f"a timeout of {workload.timeout_s:g} s is no patience, expected more than 0 s"
        )
    for request in workload.requests:
        check_request(request)


def _check_arrival(workload: Workload) -> None:
    match workload.arrival:
        case Constant(rate_per_s) | Poisson(rate_per_s):
            _check_rate(rate_per_s)
        case Stages(stages) | Sessions(stages):
            _check_stages(stages)
        case Replay() as replay:
            if not (math.isfinite(replay.speed) and replay.speed > 0):
                raise UsageError(f"a log at {replay.speed:g} times its speed never goes on")
            if not replay.methods:
                raise UsageError("no method of the log is to be sent", hint="such as GET")
        case Closed():
            pass


def _check_rate(rate_per_s: float) -> None:
    if not (math.isfinite(rate_per_s) and rate_per_s > 0):
        raise UsageError(f"a rate of {rate_per_s:g}/s sends nothing, expected more than 0")
    _check_rate_is_possible(rate_per_s)


def _check_rate_is_possible(rate_per_s: float) -> None:
    if rate_per_s > MAX_RATE_PER_S:
        raise UsageError(
            f"a rate of {format_rate(rate_per_s)} is beyond any clock, "
            f"expected at most {format_rate(MAX_RATE_PER_S)}"
        )


def _check_stages(stages: tuple[RateStage, ...]) -> None:
    for stage in stages:
        for rate_per_s in (stage.from_per_s, stage.to_per_s):
            if not (math.isfinite(rate_per_s) and rate_per_s >= 0):
                raise UsageError(f"a stage's rate of {rate_per_s:g}/s is none, expected 0 or more")
            _check_rate_is_possible(rate_per_s)
        length_s = stage.duration_s
        if length_s is not None and not 0 < length_s <= _MAX_TIME_S:
            raise UsageError(f"a stage of {length_s:g} s is none, expected more than 0 s")
        if length_s is None and stage is not stages[-1]:
            raise UsageError("a stage without an end is followed by another")
        if length_s is None and stage.from_per_s != stage.to_per_s:
            raise UsageError(
                f"a stage without an end goes from {stage.from_per_s:g}/s to {stage.to_per_s:g}/s"
            )
    n = n_expected(stages)
    if n < 1:
        raise UsageError(
            f"the stages never send: together they come to {n:.2g} requests",
            hint="give a rate above 0 to one of them, such as `10s: 0/s..500/s`",
        )


def _check_mix(requests: tuple[RequestSpec, ...], steps: tuple[VisitStep, ...]) -> None:
    if not requests:
        raise UsageError("the workload has no requests", hint="give at least one path")
    for step in steps:
        if not all(0 <= index < len(requests) for index in (step.request, *step.objects)):
            raise UsageError("a step of the mix asks for a request that there is not")
        if not (math.isfinite(step.weight) and step.weight >= 0):
            raise UsageError(f"a weight of {step.weight:g} is none, expected 0 or more")
    if sum(step.weight for step in steps) <= 0:
        raise UsageError(
            "the mix sums to nothing: all its weights are 0",
            hint="give a weight above 0 to what is to be sent",
        )


def _check_connections(workload: Workload) -> None:
    if not 1 <= workload.connections <= _MAX_CONNECTIONS:
        raise UsageError(
            f"{workload.connections} connections cannot send anything, expected 1 to "
            f"{_MAX_CONNECTIONS:,}"
        )
    if not 0 <= workload.requests_per_connection <= _MAX_STEPS:
        raise UsageError(
            f"{workload.requests_per_connection} requests per connection is no number of them",
            hint="1 is no keep-alive; leave it out for no limit",
        )
    if not 1 <= workload.connections_per_page <= _MAX_CONNECTIONS_PER_PAGE:
        raise UsageError(
            f"{workload.connections_per_page} connections load no page, expected 1 to "
            f"{_MAX_CONNECTIONS_PER_PAGE:,}"
        )
    per_s = workload.connections_per_s
    if not 0 <= per_s <= MAX_RATE_PER_S:
        raise UsageError(f"{per_s:g} connections per second is no rate, expected 0 or more")


def _check_users(users: Users) -> None:
    if not 0 <= users.new_ratio <= 1:
        raise UsageError(
            f"{users.new_ratio:.0%} new users is no share of them, expected 0 % to 100 %"
        )
    if not 1 <= users.n_returning <= _MAX_STEPS:
        raise UsageError(f"{users.n_returning} users cannot come again, expected at least 1")
    steps = users.visit.mean_steps
    if not 1 <= steps <= _MAX_VISIT_STEPS:
        raise UsageError(f"a visit of {steps:g} requests is none, expected 1 to 1 billion")
    if not (users.visit.is_geometric or float(steps).is_integer()):
        raise UsageError(f"a visit cannot have exactly {steps:g} requests, expected a whole number")
    if not 0 <= users.think.mean_s <= _MAX_TIME_S:
        raise UsageError(f"nobody thinks for {users.think.mean_s:g} s, expected 0 s or more")


def _check_slow(slow: SlowUsers) -> None:
    if not 0 < slow.ratio <= 1:
        raise UsageError(
            f"{slow.ratio:.0%} slow users is no share of them, expected more than 0 %, "
            "at most 100 %"
        )
    if not 0 < slow.bytes_per_s <= MAX_RATE_PER_S:
        raise UsageError(f"a line of {slow.bytes_per_s:g} bytes/s carries nothing")
    if not 1 <= slow.receive_buffer_bytes <= _MAX_BUFFER_BYTES:
        raise UsageError(
            f"a receive buffer of {slow.receive_buffer_bytes} bytes is none, expected 1 B to 1 GiB"
        )


def check_request(request: RequestSpec) -> None:
    """Refuse a request that cannot be sent.

    Raises:
        UsageError: With the sentence that says what.
    """
    if not request.method or not _TOKEN.issuperset(request.method):
        raise UsageError(f"`{request.method}` is not an HTTP method, such as GET or POST")
    _check_path(request.path)
    for name, value in request.headers:
        if not name or not _TOKEN.issuperset(name):
            raise UsageError(f"`{name}` is not a header's name")
        if any(each in value for each in "\r\n\0"):
            raise UsageError(f"the header `{name}` holds a line break or a NUL")
        _check_placeholders(value, f"the header `{name}`", "write `{{…}}` for braces themselves")
    status = request.expect_status
    if status is not None and not 200 <= status <= 599:  # noqa: PLR2004 - final statuses
        raise UsageError(f"{status} is not a final status, expected 200 to 599")
    length = request.expect_length
    if length is not None and length < 0:
        raise UsageError(f"a body of {length} bytes is none, expected 0 or more")
    if request.body_file:
        _check_readable(request.body_file)


def _check_path(path: str) -> None:
    if not path.startswith("/") and path != "*":
        raise UsageError(f"the path `{path}` does not start with `/`")
    if not path.isascii() or any(each <= " " or each == "\x7f" for each in path):
        raise UsageError(
            f"the path {path!r} holds what a request line cannot",
            hint="percent-encode it: a space is `%20`",
        )
    _check_placeholders(path, f"the path `{path}`", "write `%7B…%7D` for braces themselves")


def _check_placeholders(text: str, where: str, hint: str) -> None:
    for word in _PLACEHOLDER.findall(text):
        if word and word not in PLACEHOLDERS:
            known = ", ".join(f"`{{{name}}}`" for name in PLACEHOLDERS)
            raise UsageError(f"{where} holds `{{{word}}}`, expected one of {known}", hint=hint)


def _check_readable(file: str) -> None:
    try:
        opened_regular(file).close()
    except OSError as error:
        raise UsageError(f"the body `{file}` cannot be read: {reason(error)}") from error
