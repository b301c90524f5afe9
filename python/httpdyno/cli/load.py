"""`httpdyno load`: load one URL and say what happened to every request."""

import math
import os
import resource
from datetime import UTC, datetime
from typing import Annotated

import typer

from httpdyno.cli.console import messages
from httpdyno.cli.load_output import (
    CsvOption,
    FailIfOption,
    HgrmOption,
    HistogramOption,
    HlogOption,
    LoadOutputs,
    PrometheusOption,
    VerboseOption,
)
from httpdyno.cli.load_progress import LoadProgress, interruptions, watch
from httpdyno.cli.option import JsonOption
from httpdyno.errors import UsageError
from httpdyno.load.check import check_workload
from httpdyno.load.engine import (
    SPIN_S,
    WindowPlan,
    start_load,
    suited_threads,
)
from httpdyno.load.target import Target, check_permitted, is_loopback, parse_url, resolve
from httpdyno.model import Closed, Constant, LoadOutcome, RequestSpec, Workload
from httpdyno.report.phrase import plural
from httpdyno.telemetry.host import host_facts
from httpdyno.units import duration_s, format_duration, format_rate, rate_per_s

EXAMPLE = """Example:

\b
  httpdyno load http://localhost:8000/ -c 50 -d 10s
  httpdyno load http://localhost:8000/ -c 50 -n 10000 --no-keepalive
  httpdyno load http://localhost:8000/ --rate 500/s -d 30s --json load.json
"""

DEFAULT_DURATION_S = 10.0
_SPARE_DESCRIPTORS = 64
"""For the program itself: the database, libraries, standard streams."""
_ANY_STATUS = "ok"
_CPUS_TO_SPIN = 4
"""On fewer cores a local server wants the one that would spin."""
_FORM = ("Content-Type", "application/x-www-form-urlencoded")


def command(  # noqa: PLR0913 - one parameter for each option
    url: Annotated[str, typer.Argument(metavar="URL", help="Such as http://localhost:8000/path.")],
    *,
    connections: Annotated[
        int, typer.Option("-c", "--connections", metavar="N", help="Connections at a time.")
    ] = 50,
    duration: Annotated[
        str | None,
        typer.Option(
            "-d",
            "--duration",
            metavar="TIME",
            help="How long to load.  [default: 10s, or until -n]",
            show_default=False,
        ),
    ] = None,
    requests: Annotated[
        int | None,
        typer.Option("-n", "--requests", metavar="N", help="Stop after this many requests."),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            help="Send at this rate, such as `500/s`, however fast the answers come; latency then "
            "counts from when each request was due.  [default: send when answered]",
            show_default=False,
        ),
    ] = None,
    no_keepalive: Annotated[
        bool, typer.Option("--no-keepalive", help="Use a new connection for each request.")
    ] = False,
    method: Annotated[
        str | None,
        typer.Option(
            "-X",
            "--method",
            metavar="METHOD",
            help="The request's method.  [default: GET, or POST with --data]",
            show_default=False,
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "-H", "--header", metavar="'NAME: VALUE'", help="Send this too; may be repeated."
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="TEXT",
            help="Send this body; as a form, unless a Content-Type header says otherwise.",
        ),
    ] = None,
    timeout: Annotated[
        str,
        typer.Option(
            "--timeout",
            metavar="TIME",
            help="Patience: a request this old counts as an error, and as this slow.",
        ),
    ] = "10s",
    expect_status: Annotated[
        str,
        typer.Option(
            "--expect-status",
            metavar="STATUS",
            help="The right answer's status; `ok` is any 2xx or 3xx. Any other is an error.",
        ),
    ] = "200",
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            help="Threads that send.  [default: 1, more on big machines]",
            show_default=False,
        ),
    ] = None,
    yes_i_may_load: Annotated[
        str | None,
        typer.Option(
            "--yes-i-may-load",
            metavar="HOST",
            help="Allow a host that is neither this machine nor in a private network.",
        ),
    ] = None,
    json: JsonOption = None,
    csv: CsvOption = None,
    hgrm: HgrmOption = None,
    hlog: HlogOption = None,
    prometheus: PrometheusOption = None,
    fail_if: FailIfOption = None,
    histogram: HistogramOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Load an HTTP server and say what it did, request by request.

    Exit code 0 when the server answered; 1 when a --fail-if holds, or when no request, or less
    than 99.9 % of them, got the right answer (--fail-if 'errors > 5%' allows more); 130 when
    stopped by Ctrl-C, with what was measured until then.
    """
    outputs = LoadOutputs(
        json=json,
        csv=csv,
        hgrm=hgrm,
        hlog=hlog,
        prometheus=prometheus,
        fail_if=tuple(fail_if or ()),
        has_histogram=histogram,
        is_verbose=verbose,
    )
    outputs.check()
    target = parse_url(url)
    workload = Workload(
        requests=(
            RequestSpec(
                path=target.path,
                method=(method or ("GET" if data is None else "POST")).upper(),
                headers=_headers(header or [], target, has_body=data is not None),
                body=data or "",
                expect_status=_status(expect_status),
            ),
        ),
        connections=connections,
        requests_per_connection=1 if no_keepalive else 0,
        arrival=Closed() if rate is None else Constant(rate_per_s=_rate(rate)),
        timeout_s=duration_s(timeout),
    )
    check_workload(workload)
    window = _window(duration, requests)
    n_threads = suited_threads(workload) if threads is None else _threads(threads, connections)
    _allow_descriptors(connections)
    address = resolve(target)
    check_permitted(target, address, allowed_host=yes_i_may_load)

    began_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    with interruptions() as asked_to_end, _progress(target, workload, window) as progress:
        handle = start_load(
            workload,
            [address],
            [window],
            threads=n_threads,
            spin_s=_spin_s(workload, address),
            detail=outputs.detail,
        )
        measurement = watch(handle, progress, asked_to_end)
    outcome = LoadOutcome(
        measurement=measurement,
        workload=workload,
        host=host_facts(),
        url=target.url,
        began_at=began_at,
        threads=n_threads,
        fail_if=outputs.fail_if,
        is_interrupted=bool(asked_to_end),
    )
    code = outputs.write(outcome)
    if asked_to_end:
        raise KeyboardInterrupt
    return code


def _progress(target: Target, workload: Workload, window: WindowPlan) -> LoadProgress:
    how = "closed loop" if workload.rate_per_s is None else format_rate(workload.rate_per_s)
    limit_s = window.measure_s if math.isfinite(window.measure_s) else None
    limits = [] if limit_s is None else [format_duration(limit_s)]
    limits += [plural(window.n_requests, "request")] if window.n_requests else []
    connections = plural(workload.connections, "connection")
    what = f"loading {target.url} over {connections}, {how}, for {' or '.join(limits)}"
    return LoadProgress(messages(), what, limit_s, n_requests=window.n_requests)


def _window(duration: str | None, requests: int | None) -> WindowPlan:
    if requests is not None and requests < 1:
        raise UsageError(f"`-n {requests}` sends nothing, expected at least 1")
    limit_s = math.inf if requests else DEFAULT_DURATION_S
    if duration is not None:
        limit_s = duration_s(duration)
        if limit_s <= 0:
            raise UsageError(f"`-d {duration}` is no time at all", hint="such as `-d 10s`")
    return WindowPlan(arm=0, lead_in_s=0.0, measure_s=limit_s, n_requests=requests or 0)


def _headers(given: list[str], target: Target, *, has_body: bool) -> tuple[tuple[str, str], ...]:
    headers = [_header(text) for text in given]
    names = {name.lower() for name, _ in headers}
    usual = [("Host", target.authority), *([_FORM] if has_body else [])]
    return (*(each for each in usual if each[0].lower() not in names), *headers)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError(f"`-H {text}` has no colon", hint="such as `-H 'Accept: text/html'`")
    return name.strip(), value.strip()


def _rate(text: str) -> float:
    try:
        return rate_per_s(text)
    except UsageError as error:
        raise UsageError(
            f"`--rate {text}` is not a rate above zero", hint="give requests per second: `500/s`"
        ) from error


def _status(text: str) -> int | None:
    if text == _ANY_STATUS:
        return None
    if not text.isdecimal():
        raise UsageError(
            f"`--expect-status {text}` is not a status",
            hint="give a number, or `ok` for 2xx and 3xx",
        )
    return int(text)


def _threads(n: int, connections: int) -> int:
    if not 1 <= n <= connections:
        raise UsageError(
            f"{n} threads cannot share {connections} connections",
            hint="give at least one connection to each thread",
        )
    return n


def _spin_s(workload: Workload, address: str) -> float:
    """Return how long to poll before a due time: only in open loop, on a core of one's own."""
    cpus = os.cpu_count() or 1
    has_own_core = cpus >= _CPUS_TO_SPIN or (cpus > 1 and not is_loopback(address))
    return SPIN_S if workload.rate_per_s is not None and has_own_core else 0.0


def _allow_descriptors(connections: int) -> None:
    """Raise this process's soft limit on open files where the connections need it.

    Raises:
        UsageError: The hard limit is too low.
    """
    needed = connections + _SPARE_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UsageError(
            f"{connections} connections need {needed} open files, the limit here is {hard}",
            hint=f"use fewer connections, or raise it with `ulimit -Hn {needed}` as root",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
