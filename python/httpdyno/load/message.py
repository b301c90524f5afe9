"""What is to be run as the one message that the compiled engine takes.

It is the workload as it stands, under its own names, with what its files hold put in: what is added
to `Workload` here and to `LoadSpec` there needs nothing in between; what an `Arm` is told is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import structs

from httpdyno import __version__, _native
from httpdyno.errors import UsageError
from httpdyno.host.foreign_files import read_regular
from httpdyno.host.foreign_text import reason
from httpdyno.load.access_log import Recording
from httpdyno.model import RequestSpec, TlsSpec, VisitStep, Workload

# A stretch of load, as it is planned.


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowPlan:
    """A stretch of load on one arm."""

    arm: int
    lead_in_s: float
    """Loaded, but not measured."""
    measure_s: float
    n_requests: int = 0
    """The window ends after that many, if they come first; 0 is no such limit."""
    spread_s: float = 0.0
    """Credited windows: the users begin within so long, at random; the lead-in comes after it."""
    tail_s: float = 0.0
    """Closed loop: the load goes on for at most so long after the measured part, until every user
    has begun another step, and what each cycle gave to it is credited; 0 just counts answers."""


_LARGEST_FILE_BYTES = 1 << 30
"""Of a body or a certificate; it is kept in memory."""

_OF_ARMS = ("connections_per_page", "first", "order", "requests", "steps", "tls")
"""What each arm is told for itself; all else is the same for all of them."""

Parts = dict[str, Any]


def spec_message(
    workload: Workload,
    addresses: Sequence[str],
    recording: Recording | None,
    streams: Sequence[int] = (),
    networks: Sequence[str] = (),
    **client: object,
) -> bytes:
    """Return the message.

    Args:
        workload: What is offered to each arm.
        addresses: Of the arms; (n_arms,).
        recording: What a replay's log holds.
        streams: Numbers by which the arms draw; those of one number draw alike. Empty: all do.
            (n_arms,).
        networks: Paths of the network namespaces that the addresses are in; an empty one is this
            process's own, and so are all where none is given. (n_arms,).
        client: What the workload does not say: `windows`, `threads`, `seed` …
    """
    parts = structs.asdict(workload)
    requests = workload.requests
    parts["steps"] = workload.mix
    parts["tls"] = None if workload.tls is None else _tls(workload.tls)
    if recording is not None:
        requests = recording.requests
        parts["steps"] = [VisitStep(request=index) for index in range(len(requests))]
        parts["arrival"] = {
            "kind": "replay",
            "offsets_ns": recording.offsets_ns.tobytes(),
            "steps": recording.steps.tobytes(),
        }
    arm = {name: parts.pop(name) for name in _OF_ARMS}
    each = zip(
        addresses,
        streams or [0] * len(addresses),
        networks or [""] * len(addresses),
        strict=True,
    )
    arms = [
        {
            **arm,
            "address": address,
            "network": network,
            "requests": _rendered(requests, address),
            "first": _rendered(workload.first, address),
            "stream": stream,
        }
        for address, stream, network in each
    ]
    return msgspec.msgpack.encode({**parts, **client, "arms": arms})


def check_tls(tls: TlsSpec) -> None:
    """Refuse certificates and keys that cannot work, such as a key of another certificate.

    Raises:
        UsageError: With the file, and what is wrong with it.
    """
    try:
        _native.check_tls(msgspec.msgpack.encode(_tls(tls)))
    except _native.EngineError as error:
        _, place, value, expected = error.args
        has_own_key = tls.key_file != tls.certificate_file
        raise UsageError(
            {
                "tls.server_name": f"the name `{tls.server_name}`",
                "tls.roots_pem": f"`{tls.roots_file}`"
                if tls.roots_file
                else "the system's authorities",
                "tls.identity_pem": f"the certificate `{tls.certificate_file}`"
                + f" with the key `{tls.key_file}`" * has_own_key,
            }.get(place, place)
            + f" cannot be used for TLS: {value}; expected {expected}"
        ) from error


def _tls(tls: TlsSpec) -> Parts:
    identity = None
    if tls.certificate_file:
        identity = (_read(tls.certificate_file), _read(tls.key_file or tls.certificate_file))
    roots = _read(tls.roots_file) if tls.roots_file else None
    return {**structs.asdict(tls), "roots_pem": roots, "identity_pem": identity}


def _rendered(requests: Sequence[RequestSpec], address: str) -> list[Parts]:
    """Return requests with their bodies and the headers that every client sends."""
    once = {each: _with_body(each, address) for each in set(requests)}
    return [once[each] for each in requests]


def _with_body(request: RequestSpec, address: str) -> Parts:
    parts = structs.asdict(request)
    del parts["name"]  # nothing that is sent
    return {
        **parts,
        "headers": headers(request, address),
        "body": _read(request.body_file) if request.body_file else request.body.encode(),
    }


def headers(request: RequestSpec, authority: str) -> list[tuple[str, str]]:
    """Return a request's headers with the usual ones, where it has none of its own.

    Args:
        request: What to ask.
        authority: `host:port` for the `Host` header.
    """
    usual = (("Host", authority), ("User-Agent", f"httpdyno/{__version__}"), ("Accept", "*/*"))
    given = {name.lower() for name, _ in request.headers}
    return [*(each for each in usual if each[0].lower() not in given), *request.headers]


def _read(file: str) -> bytes:
    try:
        return read_regular(file, limit_bytes=_LARGEST_FILE_BYTES)
    except OSError as error:
        raise UsageError(f"`{file}` cannot be read: {reason(error)}") from error
