"""`httpdyno load`: load a server and say what happened to every request."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import structs

from httpdyno.cli.console import messages
from httpdyno.cli.load.arguments import LoadArguments, planned, stretches_s
from httpdyno.cli.load.connection_options import ClientOptions, ConnectionOptions, TlsOptions
from httpdyno.cli.load.options import (
    OutputOptions,
    RequestOptions,
    RunOptions,
    SafetyOptions,
    SettingOptions,
    TargetOptions,
    traffic_of,
)
from httpdyno.cli.load.progress import LoadProgress, watch
from httpdyno.cli.option_group import takes
from httpdyno.cli.standard_streams import tell, tell_hint, tell_why
from httpdyno.cli.waiting import put
from httpdyno.host.foreign_files import is_there
from httpdyno.host.interruption import interruptions
from httpdyno.load.engine import start_load
from httpdyno.load.plan import LoadPlan
from httpdyno.load.requests import is_json_as_form
from httpdyno.load.target import parse_url
from httpdyno.model import HostFacts, LoadOutcome
from httpdyno.report.load.verdict import verdict_line, where_text
from httpdyno.report.shared.phrase import plural
from httpdyno.report.shared.workload_text import workload_text
from httpdyno.telemetry.host import host_facts, known_card
from httpdyno.units import format_bytes, format_duration

_LONG_LOG_BYTES = 16 << 20
"""Read in about half a second."""

EXAMPLE = """Example:

\b
  httpdyno load http://localhost:8000/ -c 50 -d 10s
  httpdyno load http://localhost:8000/ -c 50 -n 10000 --no-keepalive
  httpdyno load http://localhost:8000/ --rate 500/s -d 30s --json load.json
  httpdyno load http://localhost:8000 --mix '8 /list' --mix 'POST /add a={n}'
  httpdyno load http://localhost:8000/ --sessions 20/s --visit 5 --think 2s
  httpdyno load http://localhost:8000 --replay access.log --speed 2x
"""


@takes(
    Arguments=TargetOptions,
    Settings=SettingOptions,
    Traffic=RunOptions,
    Requests=RequestOptions,
    Connections=ConnectionOptions,
    TLS=TlsOptions,
    This_machine=ClientOptions,
    Output=OutputOptions,
    Safety=SafetyOptions,
)
def command(  # noqa: PLR0913, PLR0917 - one parameter for each group of options
    target: TargetOptions,
    said: Any,  # noqa: ANN401 - of `SettingOptions`
    run: RunOptions,
    requests: RequestOptions,
    connections: ConnectionOptions,
    tls: TlsOptions,
    client: ClientOptions,
    output: OutputOptions,
    safety: SafetyOptions,
) -> int:
    """Load an HTTP server and report throughput, latency and errors.

    Exit code 1 if a --fail-if condition holds, no request got the right response, or more than
    0.1 % did not (--fail-if 'errors > 5%' allows more). After Ctrl-C it reports what it measured
    and exits with 130.
    """
    output.check()
    traffic = traffic_of(said)
    _announce(traffic.replay)
    asked = LoadArguments(
        urls=target.urls or [],
        traffic=traffic,
        requests=requests,
        run=run,
        connections=connections,
        tls=tls,
        client=client,
        allowed_host=safety.yes_i_may_load,
    )
    plan = planned(asked)
    if requests.location:
        plan = planned(_landed(asked, plan))
    if any(map(is_json_as_form, (*plan.workload.first, *plan.workload.requests))):
        tell_hint("a JSON body goes out as a form; add `-H 'Content-Type: application/json'`")
    with interruptions() as asked_to_end:
        outcome = _measured(plan, asked_to_end, fail_if=tuple(output.fail_if or ()))
        outcome = _looked_at(outcome, plan, asked_to_end, is_asked=client.look)
        # A terminal that is gone says so more than once, and takes no text.
        try:
            code = output.write(outcome)
        finally:
            if not output.no_store:
                where = where_text(outcome)
                line = verdict_line(outcome.measurement, outcome.workload, address=where)
                put(outcome, line)
    if asked_to_end:
        raise KeyboardInterrupt
    return code


def _landed(asked: LoadArguments, plan: LoadPlan) -> LoadArguments:
    """Return the same options with the URLs that redirects lead to, and tell of each."""
    from httpdyno.experiment.answer.ask import landing  # noqa: PLC0415 - not for most loads

    urls = []
    for url, request in zip(asked.urls, plan.workload.requests, strict=True):
        begin = replace(parse_url(url), unix_path=plan.target.unix_path)
        end = landing(begin, request, asked.allowed_host, plan.workload.timeout_s)
        urls.append(url if end == begin else end.url)
        if end != begin:
            tell(f"{begin.url} leads to {end.url}")
    return replace(asked, urls=urls)


def _measured(plan: LoadPlan, asked_to_end: list[int], *, fail_if: tuple[str, ...]) -> LoadOutcome:
    began_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    with _progress(plan) as progress:
        handle = start_load(
            plan.workload,
            [plan.address],
            plan.windows,
            threads=plan.threads,
            cpus=plan.cpus,
            seed=plan.seed,
            spin_s=plan.spin_s,
            recording=plan.recording,
        )
        measurement = watch(
            handle, progress, asked_to_end, workload=plan.workload, n_before=len(plan.windows) - 1
        )
    return LoadOutcome(
        measurement=measurement,
        workload=plan.workload,
        entrance=handle.entrances().get(0),
        host=_host(),
        requests=plan.recording.requests if plan.recording else (),
        url=plan.target.url,
        address=plan.address,
        addresses=plan.addresses if len(plan.addresses) > 1 else (),
        began_at=began_at,
        seed=plan.seed,
        threads=plan.threads,
        warm_up_s=0.0 if plan.warm_up is None else plan.warm_up.measure_s,
        schedule_hash=handle.schedule_hash,
        log=plan.recording.log if plan.recording else None,
        fail_if=fail_if,
        is_interrupted=bool(asked_to_end),
    )


def _host() -> HostFacts:
    """Return this machine, with its card where one was taken in this boot already."""
    host, kept = host_facts(), known_card()
    if kept is None:
        return host
    return structs.replace(host, card=kept.card, card_taken_at=kept.taken_at)


def _looked_at(
    outcome: LoadOutcome, plan: LoadPlan, asked_to_end: Sequence[int], *, is_asked: bool
) -> LoadOutcome:
    """Return the outcome with a look at the server, where there is to be one."""
    stretches = stretches_s(plan, is_asked=is_asked)
    if not stretches or asked_to_end or not outcome.measurement.completed:
        return outcome
    # Not for a handful of requests.
    from httpdyno.inspection.behind import with_look  # noqa: PLC0415
    from httpdyno.registry import site_adapters  # noqa: PLC0415
    from httpdyno.servers.discover.machine import this_machine  # noqa: PLC0415

    return with_look(
        outcome,
        plan,
        stretches,
        lambda: bool(asked_to_end),
        machine=lambda: this_machine(site_adapters()),
        tell=tell_why,
    )


def _announce(log: str | None) -> None:
    """Say that a log is being read, where that takes more than a moment."""
    file = Path(log or "")
    if is_there(file) and file.is_file() and file.stat().st_size >= _LONG_LOG_BYTES:
        size = format_bytes(file.stat().st_size)
        messages().print(f"reading {log}, {size}", soft_wrap=True, markup=False)


def _progress(plan: LoadPlan) -> LoadProgress:
    window = plan.window
    limit_s = window.measure_s if math.isfinite(window.measure_s) else None
    limits = [] if limit_s is None else [format_duration(limit_s)]
    limits += [plural(window.n_requests, "request")] if window.n_requests else []
    what = f"loading {plan.target.url}: {workload_text(plan.workload)}, for {' or '.join(limits)}"
    before = "users do their first steps" if plan.workload.first else ""
    if plan.warm_up is not None:
        before = "warming up"
        what += f" after {format_duration(plan.warm_up.measure_s)} of warm-up"
    return LoadProgress(
        messages(),
        f"{what}, seed {plan.seed}",
        limit_s,
        n_requests=window.n_requests,
        before=before,
    )
