"""From all options of `httpdyno load` to what is going to be sent, checked before anything is."""

import math
import os
from dataclasses import dataclass, fields, replace
from typing import Any

from msgspec import structs

from httpdyno.cli.load.client import (
    check_descriptors,
    cpus_from,
    spin_s_from,
    threads_from,
    usual_spin_s,
)
from httpdyno.cli.load.options import RequestOptions, TrafficOptions, UserOptions
from httpdyno.cli.load.request import Requests, expected_by_log, requests_from, server_of_log
from httpdyno.cli.load.wire_options import ClientOptions, ConnectionOptions, TlsOptions
from httpdyno.errors import UsageError
from httpdyno.foreign import opened_regular, reason
from httpdyno.load.access_log import Recording, read_access_log
from httpdyno.load.check import check_workload
from httpdyno.load.engine import WindowPlan
from httpdyno.load.message import check_tls
from httpdyno.load.target import Target, check_permitted, resolve
from httpdyno.load.traffic import TrafficTable, workload_from
from httpdyno.model import Caveat, Replay, TlsSpec, Workload
from httpdyno.model.arrival import SPREADS, length_s
from httpdyno.report.shared.phrase import plural
from httpdyno.units import duration_s

DEFAULT_DURATION_S = 10.0
_MAX_SEED = 2**64 - 1
_MAX_COUNT = 2**63 - 1
_MAX_TIME_S = 1e9
_SEED_BYTES = 4
"""Short enough to be typed again."""
_OPTIONS = {"connections": "-c", "keep_alive": "--no-keepalive"}
"""Where an option is not called like the setting."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadPlan:
    """A load test that can begin."""

    target: Target
    address: str
    workload: Workload
    recording: Recording | None
    """Of a replay: when its requests are due."""
    window: WindowPlan
    seed: int
    threads: int
    cpus: tuple[int, ...]
    spin_s: float

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What a replay makes of its log, and a reader of the results must know."""
        if self.recording is None:
            return ()
        told = {
            "replay_left_out": _left_out(self.recording),
            "replay_malformed": _malformed(self.recording),
            "replay_whole_seconds": _whole_seconds(self.recording, self.workload),
        }
        return tuple(Caveat(kind=kind, message=text) for kind, text in told.items() if text)


def _left_out(recording: Recording) -> str:
    if not recording.left_out:
        return ""
    methods = ", ".join(f"{n:,} {method}" for method, n in recording.left_out.items())
    return f"requests of the log that were left out: {methods}; `--replay-methods` sends them"


def _malformed(recording: Recording) -> str:
    if not recording.n_malformed:
        return ""
    return (
        f"{recording.n_malformed:,} of {plural(recording.n_lines, 'line')} of the log could not be "
        f"read, the first is line {recording.first_malformed}"
    )


def _whole_seconds(recording: Recording, workload: Workload) -> str:
    if not recording.is_whole_seconds or not isinstance(workload.arrival, Replay):
        return ""
    how = {
        "even": "were laid evenly over it",
        "random": "were laid over it at random",
        "burst": "were due at its beginning",
    }[workload.arrival.spread]
    return f"the log knows the second only; the requests of one {how}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """All that was said of the load."""

    urls: list[str]
    traffic: TrafficOptions
    requests: RequestOptions
    users: UserOptions
    connections: ConnectionOptions
    tls: TlsOptions
    client: ClientOptions
    allowed_host: str | None = None


def load_plan(asked: Asked) -> LoadPlan:
    """Return what the options come to, having looked at all that can be wrong with it.

    Raises:
        UsageError: Something makes no sense.
        TargetError: The server has no address.
    """
    seed = _seed(asked.traffic.seed)
    requests = _requests(asked)
    workload = workload_from(
        _table(asked),
        _Options(),
        requests=requests.specs,
        steps=requests.steps,
        tls=_tls(asked.tls, requests.target),
    )
    check_workload(workload)
    if workload.tls is not None:
        check_tls(workload.tls)
    window = _window(asked.traffic, workload)
    threads = threads_from(asked.client.threads, workload)
    cpus = cpus_from(asked.client.cpus)
    spin_s = spin_s_from(asked.client.spin)
    check_descriptors(workload, threads)
    address = resolve(requests.target)
    check_permitted(requests.target, address, allowed_host=asked.allowed_host)
    recording = None
    if isinstance(workload.arrival, Replay):
        # Last, because a long log takes seconds.
        recording = read_access_log(
            workload.arrival,
            seed=seed,
            headers=requests.headers,
            expect=expected_by_log(asked.requests),
        )
        workload = structs.replace(workload, requests=recording.requests)
        n = len(recording.steps)
        window = replace(window, n_requests=min(window.n_requests or n, n))
    return LoadPlan(
        target=requests.target,
        address=address,
        workload=workload,
        recording=recording,
        window=window,
        seed=seed,
        threads=threads,
        cpus=cpus,
        spin_s=usual_spin_s(workload, address) if spin_s is None else spin_s,
    )


class _Options:
    """Settings by the options that say them."""

    def name(self, key: str, value: object = None) -> str:
        option = _OPTIONS.get(key, f"--{key.replace('_', '-')}")
        if value is None or isinstance(value, bool):
            return f"`{option}`"
        text = f"{value:g}" if isinstance(value, float) else str(value)
        return f"`{option} '{text}'`" if " " in text else f"`{option} {text}`"

    def complaint(self, key: str, value: object, expected: str) -> str:
        return f"{self.name(key, value)} makes no sense; expected {expected}"


def _requests(asked: Asked) -> Requests:
    read = requests_from if asked.traffic.replay is None else server_of_log
    return read(asked.urls, asked.requests, unix_path=_unix_path(asked.connections.unix))


def _unix_path(text: str | None) -> str:
    if text == "":
        raise UsageError("`--unix` names no socket", hint="such as `--unix /run/app.sock`")
    return text or ""


def _table(asked: Asked) -> TrafficTable:
    """Return what the options say, in the words that a study file has too."""
    spread = asked.traffic.replay_spread
    if spread is not None and spread not in SPREADS:
        raise UsageError(
            f"`--replay-spread {spread}` makes no sense; expected {', '.join(SPREADS)}"
        )
    words: dict[str, Any] = {}
    for group in (asked.traffic, asked.requests, asked.users, asked.connections):
        words |= {each.name: getattr(group, each.name) for each in fields(group)}
    words["keep_alive"] = not asked.connections.no_keepalive
    known = TrafficTable.__struct_fields__
    return TrafficTable(**{key: value for key, value in words.items() if key in known})


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


def _window(options: TrafficOptions, workload: Workload) -> WindowPlan:
    n = options.requests
    if n is not None and not 1 <= n <= _MAX_COUNT:
        most = f" and at most {_MAX_COUNT}" if n > _MAX_COUNT else ""
        raise UsageError(f"`-n {n}` makes no sense; expected at least 1{most}")
    whole_s = length_s(workload.arrival)
    if n is None and whole_s is None and not isinstance(workload.arrival, Replay):
        whole_s = DEFAULT_DURATION_S
    limit_s = math.inf if whole_s is None else whole_s
    if options.duration is not None:
        asked_s = _duration_s(options.duration)
        has_end = length_s(workload.arrival) is not None
        limit_s = min(asked_s, limit_s) if has_end else asked_s
    return WindowPlan(arm=0, lead_in_s=0.0, measure_s=limit_s, n_requests=n or 0)


def _duration_s(text: str) -> float:
    expected = "a time above zero, such as `10s`"
    try:
        seconds = duration_s(text)
    except UsageError as error:
        raise UsageError(f"`-d {text}` makes no sense; expected {expected}") from error
    if not 0 < seconds <= _MAX_TIME_S:
        raise UsageError(f"`-d {text}` makes no sense; expected {expected}")
    return seconds


def _seed(given: int | None) -> int:
    if given is None:
        return int.from_bytes(os.urandom(_SEED_BYTES))
    if not 0 <= given <= _MAX_SEED:
        raise UsageError(f"`--seed {given}` makes no sense; expected 0 to {_MAX_SEED}")
    return given
