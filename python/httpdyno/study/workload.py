"""`[workload]` of a study file as a workload, with the phases and warm-ups that it can have."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote_plus

import msgspec
from msgspec import structs

from httpdyno.errors import StudyFileError, UsageError
from httpdyno.host.foreign_files import is_there
from httpdyno.load.check import PLACEHOLDERS
from httpdyno.load.setting import FirstTable, RequestTable, WorkloadTable
from httpdyno.load.traffic import workload_from
from httpdyno.metrics.table import RATES
from httpdyno.model.study import Method
from httpdyno.model.workload import (
    FORM_TYPE,
    Closed,
    Constant,
    Objective,
    Poisson,
    Replay,
    RequestSpec,
    Sessions,
    Stages,
    TlsSpec,
    VisitStep,
    Workload,
    length_s,
)
from httpdyno.servers.sandbox.evaluator import PatternError, fits
from httpdyno.study.complaint import Wrong
from httpdyno.study.objective import check_workload_for
from httpdyno.units import duration_text

NO_NAME = "localhost"
"""What TLS is told where a server has no name."""

_FROM_FILE = "@"
_MOST_CHARACTERS = 500
"""Of a pattern: nobody reads more."""
_NAME = re.compile(r"[\w.-]+")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_MOST_NAMED = 64
"""So many requests of a load have latencies of their own in the engine."""
_PLACEHOLDER = re.compile(rf"((?<!\{{)\{{(?:{'|'.join(PLACEHOLDERS)})\}}(?!\}}))")


def study_workload(table: WorkloadTable, file: Path, wrong: Wrong) -> Workload:
    """Return the workload that the table of a study file describes.

    Raises:
        StudyFileError: Something in it makes no sense.
    """
    requests, steps = _requests(table, file.parent, wrong)
    try:
        first = tuple(
            _request(each, f"workload.first[{index}]", file.parent, wrong)
            for index, each in enumerate(table.first)
        )
        workload = workload_from(table, _Keys(), requests=requests, steps=steps, first=first)
    except UsageError as error:
        raise StudyFileError(f"`{file}`: {error}", hint=error.hint) from error
    if not isinstance(workload.arrival, Replay):
        return workload
    log = file.parent / workload.arrival.log
    if not (is_there(log) and log.is_file()):
        raise wrong("workload.replay", workload.arrival.log, f"an access log in {file.parent}")
    arrival = msgspec.structs.replace(workload.arrival, log=str(log.resolve()))
    return msgspec.structs.replace(workload, arrival=arrival)


def encrypted(workload: Workload, table: WorkloadTable, wrong: Wrong, *, is_tls: bool) -> Workload:
    """Return the workload with the TLS that its clients speak, where the server does.

    Raises:
        StudyFileError: It says how, and the server does not.
    """
    asked = {"tls_version": table.tls_version, "tls_resumption": table.tls_resumption}
    if not is_tls:
        for key, value in asked.items():
            if value is not None:
                raise wrong(f"workload.{key}", value, "a server that speaks TLS: server.tls = true")
        return workload
    # A server of a study shows a certificate that nobody signed, or the real host's.
    tls = workload.tls or TlsSpec(server_name=NO_NAME, is_verified=False)
    return msgspec.structs.replace(
        workload,
        tls=msgspec.structs.replace(
            tls,
            versions=table.tls_version or tls.versions,
            resumes=tls.resumes if table.tls_resumption is None else table.tls_resumption,
        ),
    )


def check_windows(workload: Workload, method: Method, objective: Objective, wrong: Wrong) -> None:
    """Refuse what windows of that kind cannot tell.

    Raises:
        StudyFileError: The objective compares nothing, or a window holds no more than a part of
            what the workload is.
    """
    _check_objective(workload, objective, wrong)
    whole_s = length_s(workload.arrival)
    shortest_s = min(map(method.window_of, method.phases), default=method.window_s)
    if isinstance(workload.arrival, Stages) and whole_s is not None and whole_s > shortest_s:
        raise wrong(
            "method.window",
            f"{shortest_s:g}s",
            f"the {whole_s:g} s that workload.stages take: each window begins them anew",
        )
    visit_s = (workload.users.visit.mean_steps - 1) * workload.users.think.mean_s
    if isinstance(workload.arrival, Sessions) and visit_s > method.lead_in_s:
        raise wrong(
            "method.lead_in",
            f"{method.lead_in_s:g}s",
            f"at least the {visit_s:g} s of pauses in a visit: each window begins without "
            "visitors, and measures before as many are there as there will be",
        )


def check_patterns(patterns: tuple[str, ...], wrong: Wrong) -> tuple[str, ...]:
    """Return the patterns of what may differ; how long they take is seen where they are used.

    Raises:
        StudyFileError: One of them is none, or fits everywhere.
    """
    for index, pattern in enumerate(patterns):
        try:
            _check_pattern(pattern)
        except ValueError as error:
            raise wrong(f"workload.may_differ[{index}]", pattern, f"{error}") from error
    return patterns


def counted_header(table: WorkloadTable, workload: Workload, wrong: Wrong) -> str:
    """Return the header of answers whose words are counted; empty where none is.

    Raises:
        StudyFileError: It is none, or nobody could count it.
    """
    name = table.count_header
    if not name:
        return ""
    key = "workload.count_header"
    if not _HEADER.fullmatch(name):
        raise wrong(key, name, "the name of a header, such as X-Cache")
    if workload.tls is not None:
        raise wrong(
            key, name, "none where clients speak TLS: heads of answers are read on their way"
        )
    if isinstance(workload.arrival, Replay):
        raise wrong(key, name, "none beside a replayed log: asked again, a cache has all of it")
    return name


def _check_pattern(pattern: str) -> None:
    """Refuse what is no pattern, or fits everywhere.

    Raises:
        ValueError: With what it should be.
    """
    if len(pattern) > _MOST_CHARACTERS:
        raise ValueError(f"at most {_MOST_CHARACTERS} characters")
    try:
        is_empty = fits(pattern, "")
    except PatternError as error:
        raise ValueError(f"a pattern of Python's `re` ({error})") from error
    if is_empty:
        raise ValueError("a pattern that does not fit an empty text")


def _check_objective(workload: Workload, objective: Objective, wrong: Wrong) -> None:
    """Refuse figures that the workload has none of, and throughput where the schedule decides it.

    Both sides have the rate then that is offered.
    """
    for metric in sorted(objective.named):
        try:
            check_workload_for(metric, workload)
        except ValueError as error:
            raise wrong("objective.metric", metric, f"{error}") from error
    if not workload.is_open_loop:
        return
    for key, metric in (("metric", objective.metric), ("tie_breaker", objective.tie_breaker)):
        if metric in RATES:
            raise wrong(
                f"objective.{key}",
                metric,
                '"latency_p99_s", "cpu_s_per_request" or another one that the server decides: here '
                "the schedule of the workload decides the throughput (a closed loop does not)",
            )


class _Keys:
    """Settings by their place in the file."""

    def name(self, key: str, value: object = None) -> str:
        name = f"workload.{key}"
        usual = getattr(WorkloadTable(), key, None)
        if isinstance(usual, bool):
            return f"{name} = {str(not usual).lower()}"
        return name if value is None else f"{name} = {value!r}"

    def complaint(self, key: str, value: object, expected: str) -> str:
        return f"workload.{key} is {value!r}; expected {expected}"


def _requests(
    table: WorkloadTable, folder: Path, wrong: Wrong
) -> tuple[tuple[RequestSpec, ...], tuple[VisitStep, ...]]:
    if table.replay is not None:
        if table.requests != WorkloadTable().requests:
            raise wrong("workload.replay", table.replay, "no workload.requests: the log has them")
        return (), ()
    if not table.requests:
        raise wrong("workload.requests", [], "at least one request")
    requests: list[RequestSpec] = []
    steps: list[VisitStep] = []
    places: dict[RequestSpec, int] = {}
    for index, each in enumerate(table.requests):
        key = f"workload.requests[{index}]"
        if not each.weight >= 0:
            raise wrong(f"{key}.weight", each.weight, "0 or more")
        page = len(requests)
        requests.append(_request(each, key, folder, wrong))
        if each.name:
            _check_name(each.name, f"{key}.name", requests, wrong)
            requests[page] = structs.replace(requests[page], name=each.name)
        objects = []
        for path in each.objects:
            spec = _object(each, path, f"{key}.objects", wrong)
            # What several pages have is one request, with one line in the results.
            if spec not in places:
                places[spec] = len(requests)
                requests.append(spec)
            objects.append(places[spec])
        steps.append(VisitStep(request=page, objects=tuple(objects), weight=each.weight))
    if sum(step.weight for step in steps) <= 0:
        raise wrong("workload.requests", "weights of 0", "at least one weight above 0")
    is_plain = all(not step.objects and step.weight == 1 for step in steps)
    return tuple(requests), () if is_plain else tuple(steps)


def _check_name(name: str, key: str, requests: Sequence[RequestSpec], wrong: Wrong) -> None:
    if not _NAME.fullmatch(name) or any(each.name == name for each in requests):
        raise wrong(key, name, "a word of its own, of letters, digits, `_`, `.` and `-`")
    if len(requests) > _MOST_NAMED:
        raise wrong(key, name, f"none beyond request {_MOST_NAMED}: latencies are kept of so many")


def _request(table: FirstTable, key: str, folder: Path, wrong: Wrong) -> RequestSpec:
    if not table.path.startswith("/"):
        raise wrong(f"{key}.path", table.path, "a path from `/` on")
    if table.form and table.body:
        raise wrong(f"{key}.form", table.form, "no form beside a body")
    if table.form and table.method in {"GET", "HEAD"}:
        raise wrong(f"{key}.method", table.method, "POST or PUT for a form, or none")
    body, body_file = form_body(table.form) if table.form else table.body, ""
    if table.body.startswith(_FROM_FILE):
        file = folder / body.removeprefix(_FROM_FILE)
        if not (is_there(file) and file.is_file()):
            raise wrong(f"{key}.body", body, f"the name of a file in {folder} after `@`")
        body, body_file = "", str(file.resolve())
    return RequestSpec(
        path=table.path,
        method=table.method or ("POST" if table.form else "GET"),
        headers=_typed(tuple(table.headers.items()), has_body=bool(table.body or table.form)),
        body=body,
        body_file=body_file,
        expect_status=None if table.expect_status == "ok" else table.expect_status,
        expect_length=table.expect_length,
    )


def form_body(fields: Mapping[str, str]) -> str:
    """Return the body of a form, as browsers send it; `{user}` and the like stay as they are."""
    return "&".join(f"{_form_text(name)}={_form_text(text)}" for name, text in fields.items())


def _form_text(text: str) -> str:
    # In the odd places of what is split are the words that stand for something.
    parts = _PLACEHOLDER.split(text)
    return "".join(
        part if index % 2 else quote_plus(part.replace("{{", "{").replace("}}", "}"))
        for index, part in enumerate(parts)
    )


def _typed(headers: tuple[tuple[str, str], ...], *, has_body: bool) -> tuple[tuple[str, str], ...]:
    """Return the headers with the type of a body that has none, as `load --data` sends it."""
    is_typed = any(name.lower() == FORM_TYPE[0].lower() for name, _ in headers)
    return (*headers, FORM_TYPE) if has_body and not is_typed else headers


def _object(page: RequestTable, path: str, key: str, wrong: Wrong) -> RequestSpec:
    if not path.startswith("/"):
        raise wrong(key, path, "paths from `/` on")
    return RequestSpec(path=path, headers=_without_body_headers(page.headers.items()))


def _without_body_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(each for each in headers if not each[0].lower().startswith("content-"))


# `warm_up_requests` of a study file: a warm-up by count.


def check_warm_up(method: Method, workload: Workload, wrong: Wrong) -> None:
    """Refuse a number of requests that nothing would reach, or that a load has no say in.

    Raises:
        StudyFileError: With what there would have to be.
    """
    n = method.warm_up_requests
    if not n:
        return
    if method.warm_up_s <= 0:
        raise wrong(
            "method.warm_up",
            f"{method.warm_up_s:g}s",
            "the longest that `method.warm_up_requests` may take, more than zero",
        )
    if not isinstance(workload.arrival, Closed | Constant | Poisson):
        raise wrong(
            "method.warm_up_requests",
            n,
            "none but of users who wait for answers, or of a steady rate",
        )
    if isinstance(workload.arrival, Constant | Poisson):
        rate, limit_s = workload.arrival.rate_per_s, method.warm_up_s
        if n > rate * limit_s:
            raise wrong(
                "method.warm_up_requests",
                n,
                f"at most {rate * limit_s:g}: {rate:g}/s for `method.warm_up`, {limit_s:g}s",
            )


# `[[method.phases]]` of a study file: what each turn goes through.


def check_turn(method: Method, wrong: Wrong) -> None:
    """Refuse phases that make no sense, or of which none decides.

    Raises:
        StudyFileError: With the key.
    """
    names = [phase.name for phase in method.phases]
    if method.decides and method.decides not in names:
        raise wrong("method.decides", method.decides, ", ".join(names) or "nothing, without phases")
    for index, phase in enumerate(method.phases):
        key = f"method.phases[{index}]"
        if not phase.name or names.index(phase.name) != index:
            raise wrong(f"{key}.name", phase.name, "a word of its own")
        if phase.run and not phase.run[0]:
            raise wrong(f"{key}.run", list(phase.run), "a program first")
        if phase.at_s is None:
            continue
        at = duration_text(phase.at_s)
        if not phase.run:
            raise wrong(f"{key}.at", at, "a command (`run`) beside it")
        window_s = method.window_of(phase)
        if phase.at_s >= window_s:
            of = "method" if phase.window_s is None else key
            raise wrong(f"{key}.at", at, f"less than {of}.window, {duration_text(window_s)}")


def check_phases(method: Method, workload: Workload, wrong: Wrong) -> None:
    """Refuse what phases ask of a load that has no such thing.

    Raises:
        StudyFileError: With what there would have to be.
    """
    for index, phase in enumerate(method.phases):
        key = f"method.phases[{index}]"
        has_rate = isinstance(workload.arrival, Constant | Poisson)
        if phase.rate_per_s is not None and not has_rate:
            raise wrong(f"{key}.rate", f"{phase.rate_per_s:g}/s", "none without workload.rate")
        if phase.n_requests and isinstance(workload.arrival, Sessions | Replay):
            raise wrong(
                f"{key}.requests",
                phase.n_requests,
                "none where users come for visits, or a log is replayed",
            )
