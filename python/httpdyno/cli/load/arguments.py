"""From all options of `httpdyno load` to the plan of a load; each is named as it was given."""

import math
import os
import re
from dataclasses import dataclass, fields

from httpdyno.cli.load.connection_options import ClientOptions, ConnectionOptions, TlsOptions
from httpdyno.cli.load.habit import habit_of_duration
from httpdyno.cli.load.options import RequestOptions, RunOptions, flags_of
from httpdyno.errors import UsageError
from httpdyno.experiment.trial.look import STRETCHES_S
from httpdyno.host.foreign_files import opened_regular
from httpdyno.host.foreign_text import reason
from httpdyno.load.check import OutOfRange, out_of_range
from httpdyno.load.message import WindowPlan
from httpdyno.load.plan import LoadPlan, load_plan, suited_threads
from httpdyno.load.requests import Requests, expected_by_log, requests_from, server_of_log
from httpdyno.load.setting import TrafficTable, settings
from httpdyno.load.target import Target
from httpdyno.load.traffic import workload_from
from httpdyno.model import Closed, Constant, Poisson, Replay, TlsSpec, Workload
from httpdyno.model.workload import length_s
from httpdyno.report.shared.phrase import plural
from httpdyno.units import duration_s, format_duration

DEFAULT_DURATION_S = 10.0
_AT_LEAST_ONE = "at least 1"
_MAX_SPIN_S = 0.1
_CPU_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_SEED_BYTES = 4
"""Short enough to be typed again."""
_OPTIONS = {
    "duration": "-d",
    "requests": "-n",
}
"""Where an option is not called like the setting."""
_OF_PLAN = {
    "seed": "run.seed",
    "threads": "client.threads",
    "windows[0].measure_s": "run.duration",
    "windows[0].n_requests": "run.requests",
    "windows[1].measure_s": "run.warm_up",
}
"""Which options say what the engine may refuse besides the workload, by its place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadArguments:
    """All that was said of the load."""

    urls: list[str]
    traffic: TrafficTable
    run: RunOptions
    requests: RequestOptions
    connections: ConnectionOptions
    tls: TlsOptions
    client: ClientOptions
    allowed_host: str | None = None


def planned(asked: LoadArguments) -> LoadPlan:
    """Return what the options come to, having looked at all that can be wrong with it.

    Raises:
        UsageError: Something makes no sense.
        TargetError: The server has no address.
    """
    requests = _requests(asked)
    workload = workload_from(
        asked.traffic,
        _Options(),
        requests=requests.specs,
        steps=requests.steps,
        first=requests.first,
        tls=_tls(asked.tls, requests.target),
    )
    check_look(workload, is_asked=asked.client.look)
    window = _window(asked.run, workload)
    warm_up = _warm_up(asked.run.warm_up, workload)
    given = asked.run.seed
    seed = int.from_bytes(os.urandom(_SEED_BYTES)) if given is None else given
    threads = threads_from(asked.client.threads, workload)
    spin_s = spin_s_from(asked.client.spin)
    windows = [window] if warm_up is None else [window, warm_up]
    refused = out_of_range(workload, windows, threads=threads, seed=seed, spin_s=spin_s or 0.0)
    if refused is not None:
        raise UsageError(_complaint(refused, asked))
    return load_plan(
        requests.target,
        workload,
        window,
        seed=seed,
        threads=threads,
        cpus=cpus_from(asked.client.cpus),
        spin_s=spin_s,
        warm_up=warm_up,
        allowed_host=asked.allowed_host,
        log_headers=requests.headers,
        log_expect=expected_by_log(asked.requests),
    )


def _complaint(refused: OutOfRange, asked: LoadArguments) -> str:
    """Return what is wrong in the words of the option that said it."""
    if refused.place not in _OF_PLAN:
        return refused.sentence
    group, key = _OF_PLAN[refused.place].split(".")
    value = getattr(getattr(asked, group), key)
    expected = _AT_LEAST_ONE if key == "requests" else refused.expected
    if key == "duration" and value is None:  # it is then the stages' own
        key = "stages" if asked.traffic.sessions is None else "sessions"
        value, expected = getattr(asked.traffic, key), f"{expected}, for all stages together"
    return _Options().complaint(key, value, expected)


class _Options:
    """Settings by the options that say them."""

    def name(self, key: str, value: object = None) -> str:
        usual = f"--{key.replace('_', '-')}"
        option = flags_of(key)[0] if key in settings() else _OPTIONS.get(key, usual)
        if value is None or isinstance(value, bool):
            return f"`{option}`"
        text = f"{value:g}" if isinstance(value, float) else str(value)
        return f"`{option} '{text}'`" if " " in text else f"`{option} {text}`"

    def complaint(self, key: str, value: object, expected: str) -> str:
        return f"{self.name(key, value)} makes no sense; expected {expected}"


def _requests(asked: LoadArguments) -> Requests:
    read = requests_from if asked.traffic.replay is None else server_of_log
    return read(asked.urls, asked.requests, unix_path=_unix_path(asked.connections.unix))


def _unix_path(text: str | None) -> str:
    if text == "":
        raise UsageError("`--unix` names no socket", hint="such as `--unix /run/app.sock`")
    return text or ""


def _tls(options: TlsOptions, target: Target) -> TlsSpec | None:
    given = [each.name for each in fields(options) if getattr(options, each.name)]
    if not target.is_tls:
        if given:
            name = {"tls12": "tls1.2", "tls13": "tls1.3"}.get(given[0], given[0].replace("_", "-"))
            raise UsageError(
                f"`--{name}` is for https, but `{target.origin}` is not",
                hint=f"write `https://{target.authority}`, or leave it out",
            )
        return None
    if options.tls12 and options.tls13:
        raise UsageError(
            "`--tls1.2` and `--tls1.3` contradict each other", hint="with neither both are offered"
        )
    if options.insecure and options.cacert:
        raise UsageError(
            "`--insecure` and `--cacert` contradict each other",
            hint="without `--insecure` only what `--cacert` vouches for is loaded",
        )
    if options.key and not options.cert:
        raise UsageError(
            "`--key` does nothing without `--cert`", hint="give the certificate of the key too"
        )
    for option, file in (("cacert", options.cacert), ("cert", options.cert), ("key", options.key)):
        _check_file(option, file)
    return TlsSpec(
        server_name=options.sni or target.host,
        roots_file=options.cacert or "",
        certificate_file=options.cert or "",
        key_file=options.key or options.cert or "",
        is_verified=not options.insecure,
        versions="1.2" if options.tls12 else "1.3" if options.tls13 else "any",
        resumes=not options.no_resumption,
    )


def _check_file(option: str, file: str | None) -> None:
    if file is None:
        return
    try:
        opened_regular(file).close()
    except OSError as error:
        raise UsageError(f"`--{option} {file}` cannot be read: {reason(error)}") from error


def _window(options: RunOptions, workload: Workload) -> WindowPlan:
    n = options.requests
    if n == 0:  # for the engine: without a limit
        raise UsageError(_Options().complaint("requests", n, _AT_LEAST_ONE))
    whole_s = length_s(workload.arrival)
    if n is None and whole_s is None and not isinstance(workload.arrival, Replay):
        whole_s = DEFAULT_DURATION_S
    limit_s = math.inf if whole_s is None else whole_s
    if options.duration is not None:
        asked_s = _time_s("duration", options.duration)
        has_end = length_s(workload.arrival) is not None
        limit_s = min(asked_s, limit_s) if has_end else asked_s
    return WindowPlan(arm=0, lead_in_s=0.0, measure_s=limit_s, n_requests=n or 0)


def _warm_up(text: str | None, workload: Workload) -> WindowPlan | None:
    if text is None:
        return None
    if isinstance(workload.arrival, Replay) or length_s(workload.arrival) is not None:
        raise UsageError(
            "`--warm-up` is for a load that goes on alike, but this one changes by a plan",
            hint="begin the plan with a stage that warms up, or load twice",
        )
    return WindowPlan(arm=0, lead_in_s=0.0, measure_s=_time_s("warm_up", text))


def _time_s(key: str, text: str) -> float:
    try:
        return duration_s(text)
    except UsageError as error:
        wrong = _Options().complaint(key, text, "a time such as `10s`")
        hint = habit_of_duration(text) if key == "duration" else ""
        raise UsageError(wrong, hint=hint) from error


def threads_from(given: int | None, workload: Workload) -> int:
    """Return how many threads are to send.

    Raises:
        UsageError: More than connections.
    """
    if given is None:
        return suited_threads(workload)
    if given > workload.connections:
        raise UsageError(
            f"{given} threads cannot share {plural(workload.connections, 'connection')}",
            hint="give at least one connection to each thread",
        )
    return given


def cpus_from(text: str | None) -> tuple[int, ...]:
    """Return the cores in `2,3` or `2-5`; none leaves the threads free.

    Raises:
        UsageError: Not cores, or none of this process.
    """
    if text is None:
        return ()
    cpus: list[int] = []
    for part in text.split(","):
        found = _CPU_RANGE.fullmatch(part.strip())
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise UsageError(
                f"`--cpus {text}` makes no sense; expected cores such as `2,3` or `2-5`"
            )
        cpus += range(int(found[1]), int(found[2] or found[1]) + 1)
    present = os.sched_getaffinity(0)
    missing = [cpu for cpu in cpus if cpu not in present]
    if missing:
        raise UsageError(
            f"`--cpus {text}` names core {missing[0]}, which this process may not run on",
            hint=f"it may run on {', '.join(map(str, sorted(present)))}",
        )
    return tuple(dict.fromkeys(cpus))


def spin_s_from(text: str | None) -> float | None:
    """Return how long to poll before a due time; None leaves it to `usual_spin_s`.

    Raises:
        UsageError: Not a time, or a long one.
    """
    if text is None:
        return None
    try:
        seconds = duration_s(text)
    except UsageError as error:
        raise UsageError(
            f"`--spin {text}` makes no sense; expected a time such as `60us`"
        ) from error
    if seconds > _MAX_SPIN_S:
        raise UsageError(
            f"`--spin {text}` makes no sense; expected at most {format_duration(_MAX_SPIN_S)}"
        )
    return seconds


def stretches_s(plan: LoadPlan, *, is_asked: bool) -> tuple[float, ...]:
    """Return how long a look may take, and a second one where that was too short; (0 … 2,).

    Args:
        plan: The test.
        is_asked: Whether somebody wants a look.
    """
    return STRETCHES_S if is_asked and not unevenness(plan.workload) else ()


def check_look(workload: Workload, *, is_asked: bool) -> None:
    """Refuse a look at a load of which no short stretch is like the whole.

    Raises:
        UsageError: With what it is that changes.
    """
    if is_asked and (option := unevenness(workload)):
        raise UsageError(
            f"`--look` is for a load that is the same from its first moment on, not for `{option}`",
            hint="`httpdyno watch` shows a server while it is loaded",
        )


def unevenness(workload: Workload) -> str:
    """Return the option that makes a load's first second another one than its last; else empty."""
    if not isinstance(workload.arrival, Closed | Constant | Poisson):
        return f"--{type(workload.arrival).__name__.lower()}"
    if workload.connections_per_s:
        return "--connection-rate"
    return "--think" if workload.users.think.mean_s else ""
