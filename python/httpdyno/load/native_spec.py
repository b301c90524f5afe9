"""From a workload to the compiled engine's own input."""

import math
from collections.abc import Sequence

from httpdyno import __version__, _native
from httpdyno.errors import EngineError, UsageError
from httpdyno.foreign import read_regular, reason
from httpdyno.load.access_log import Recording
from httpdyno.model import (
    Closed,
    Constant,
    Poisson,
    Replay,
    RequestSpec,
    Sessions,
    Stages,
    TlsSpec,
    Workload,
)
from httpdyno.model.arrival import RateStage

_FOR_EVER = math.inf
_LARGEST_FILE_BYTES = 1 << 30
"""Of a body or a certificate; it is kept in memory."""


def native_arms(
    workload: Workload, addresses: Sequence[str], recording: Recording | None
) -> list[_native.Arm]:
    """Return each address as an arm that is asked what the workload or the log says."""
    requests = workload.requests if recording is None else recording.requests
    steps = [(step.weight, step.request, list(step.objects)) for step in workload.mix]
    if recording is not None:
        steps = [(1.0, index, []) for index in range(len(requests))]
    tls = None if workload.tls is None else native_tls(workload.tls)
    return [
        _native.Arm(
            address=address,
            tls=tls,
            requests=[render_request(request, address) for request in requests],
            steps=steps,
            connections_per_page=workload.connections_per_page if workload.has_pages else 1,
        )
        for address in addresses
    ]


def native_arrival(workload: Workload, recording: Recording | None) -> _native.Arrival:
    """Return when requests come."""
    match workload.arrival:
        case Closed():
            return _native.Arrival.closed()
        case Constant(rate_per_s=rate):
            return _native.Arrival.open(stages=[(_FOR_EVER, rate, rate)], is_poisson=False)
        case Poisson(rate_per_s=rate):
            return _native.Arrival.open(stages=[(_FOR_EVER, rate, rate)], is_poisson=True)
        case Stages(stages=stages, is_poisson=is_poisson):
            return _native.Arrival.open(stages=_stages(stages), is_poisson=is_poisson)
        case Sessions(stages=stages):
            return _native.Arrival.sessions(stages=_stages(stages))
        case Replay():
            if recording is None:
                raise UsageError("a replay needs what its log holds")
            return _native.Arrival.replay(
                offsets_ns=list(recording.offsets_ns), steps=list(recording.steps)
            )


def _stages(stages: tuple[RateStage, ...]) -> list[tuple[float, float, float]]:
    return [
        (
            _FOR_EVER if each.duration_s is None else each.duration_s,
            each.from_per_s,
            each.to_per_s,
        )
        for each in stages
    ]


def native_users(workload: Workload) -> _native.Users:
    """Return who sends them."""
    users = workload.users
    return _native.Users(
        has_cookies=users.has_cookies,
        new_ratio=users.new_ratio,
        n_returning=users.n_returning,
        visit_steps=users.visit.mean_steps,
        is_visit_geometric=users.visit.is_geometric,
        think_s=users.think.mean_s,
        is_think_exponential=users.think.is_exponential,
    )


def native_slow(workload: Workload) -> _native.Slow | None:
    """Return those on slow lines."""
    slow = workload.slow
    if slow is None:
        return None
    return _native.Slow(
        ratio=slow.ratio,
        bytes_per_s=slow.bytes_per_s,
        receive_buffer_bytes=slow.receive_buffer_bytes,
    )


def native_tls(tls: TlsSpec) -> _native.Tls:
    """Return how to encrypt, with the files read."""
    identity = None
    if tls.certificate_file:
        key_file = tls.key_file or tls.certificate_file
        identity = (_read(tls.certificate_file), _read(key_file))
    return _native.Tls(
        server_name=tls.server_name,
        roots_pem=_read(tls.roots_file) if tls.roots_file else None,
        identity_pem=identity,
        is_verified=tls.is_verified,
        versions=tls.versions,
        resumes=tls.resumes,
    )


def check_tls(tls: TlsSpec) -> None:
    """Refuse certificates and keys that cannot work, such as a key of another certificate.

    Raises:
        UsageError: With the file, and what is wrong with it.
    """
    try:
        native_tls(tls).check()
    except _native.EngineError as error:
        field, _, complaint = str(error).partition(" is ")
        key = f" with the key `{tls.key_file}`" if tls.key_file != tls.certificate_file else ""
        named = {
            "tls.server_name": f"the name `{tls.server_name}`",
            "tls.roots_pem": f"`{tls.roots_file}`"
            if tls.roots_file
            else "the system's authorities",
            "tls.identity_pem": f"the certificate `{tls.certificate_file}`{key}",
        }
        what = named.get(field, field)
        raise UsageError(f"{what} cannot be used for TLS: {complaint}") from error


def _read(file: str) -> bytes:
    try:
        return read_regular(file, limit_bytes=_LARGEST_FILE_BYTES)
    except OSError as error:
        raise UsageError(f"`{file}` cannot be read: {reason(error)}") from error


def render_request(request: RequestSpec, authority: str) -> _native.Request:
    """Return a request rendered for the engine, with the headers that every client sends.

    Args:
        request: What to ask; its own headers win over the usual ones.
        authority: `host:port` for the `Host` header.
    """
    body = _read(request.body_file) if request.body_file else request.body.encode()
    try:
        return _native.Request(
            method=request.method,
            target=request.path,
            headers=_headers(request, authority),
            body=body,
            expect_status=request.expect_status or 0,
            expect_length=request.expect_length,
        )
    except _native.EngineError as error:
        raise EngineError(str(error)) from error


def _headers(request: RequestSpec, authority: str) -> list[tuple[str, str]]:
    usual = (("Host", authority), ("User-Agent", f"httpdyno/{__version__}"), ("Accept", "*/*"))
    given = {name.lower() for name, _ in request.headers}
    return [*(each for each in usual if each[0].lower() not in given), *request.headers]
