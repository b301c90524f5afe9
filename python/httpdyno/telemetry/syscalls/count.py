"""How many system calls a request takes: from a trace to calls per request. Pure.

Of each request those processes are counted that took part in it: that accepted a connection, read
or wrote a byte through a socket or a pipe, or were begun by one that did. A parent that looks after
its pool each second is none of them. What is left out besides, says `trace.Frame`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from httpdyno.model import Record
from httpdyno.reason import Reason, because
from httpdyno.telemetry.syscalls.trace import (
    BY_PATH,
    KINDS,
    CallTrace,
    Kind,
    Part,
    Processes,
    RequestFrame,
    TracedCall,
    kind_of,
)


class PerRequest(Record, frozen=True):
    """Calls in each of the requests."""

    mean: float = 0.0
    low: int = 0
    """The fewest that one request took."""
    high: int = 0

    @property
    def is_same(self) -> bool:
        """Whether all requests took as many."""
        return self.low == self.high


NONE = PerRequest()


class KindCalls(Record, frozen=True):
    """Calls of a kind."""

    kind: Kind
    calls: PerRequest
    names: tuple[str, ...] = ()
    """What the kernel calls them, the most frequent first."""


class LookedFor(Record, frozen=True):
    """A file that requests look for, by `stat`, `lstat`, `open`, `access` or `readlink`."""

    path: str
    calls: PerRequest
    kinds: tuple[Kind, ...]
    is_missing: bool
    """Whether none of these calls found it."""


class Connected(Record, frozen=True):
    """Somebody whom requests connect to."""

    address: str
    """`192.0.2.1:53`, or the path of a unix socket."""
    calls: PerRequest


class SyscallProfile(Record, frozen=True):
    """System calls per request, of the processes that took part in it.

    What each connection costs is not among `kinds`, nor the time zone's file: see `count`.
    """

    n_requests: int
    n_traced: int
    """Processes that were traced from the beginning."""
    n_took_part: int
    """Processes that accepted a connection, or read or wrote a byte, and those that they began."""
    total: PerRequest
    kinds: tuple[KindCalls, ...]
    """Those that were seen, in the order of `KINDS`."""
    connection: PerRequest = NONE
    """What is left out of `kinds`: a connection accepted, set up and closed."""
    zone: PerRequest = NONE
    """What is left out of `kinds`: the time zone's file, looked at once a second, not a request."""
    missing_stats: PerRequest = NONE
    """Of `stat` and `lstat` those that found no file."""
    missing_opens: PerRequest = NONE
    htaccess_opens: PerRequest = NONE
    """Opens of a `.htaccess`, whether there is one or not."""
    name_servers: PerRequest = NONE
    """Connections to name servers: to port 53, nscd or systemd-resolved."""
    files: tuple[LookedFor, ...] = ()
    """The most frequent first, then in the order of the first request."""
    n_files: int = 0
    """So many there were; `files` has the first of them."""
    connected: tuple[Connected, ...] = ()
    n_connections: int = 0
    """Accepted while requests were under way."""
    rest_s: float = 0.0
    """For so long the server was watched before it was asked."""
    rest_calls: int = 0
    """So many calls it made meanwhile, all of its processes."""
    warnings: tuple[Reason, ...] = ()
    """Why the figures may not be those of one request."""

    def of(self, kind: Kind) -> PerRequest:
        """Return the calls of a kind."""
        return next((each.calls for each in self.kinds if each.kind == kind), NONE)

    @property
    def is_same(self) -> bool:
        """Whether all requests took as many calls of each kind."""
        return all(each.calls.is_same for each in self.kinds)


N_FILES = 40
"""So many files are kept."""
_MISSING = frozenset({"ENOENT", "ENOTDIR"})
_INET = re.compile(r"sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )\"([^\"]+)\"")
_UNIX = re.compile(r"sun_path=@?\"([^\"]*)\"")
_NAME_SERVICES = ("/nscd/", "/systemd/resolve/", "/avahi-daemon/")
_PORT_OF_NAMES = ":53"


@dataclass(frozen=True, slots=True)
class _Request:
    """The calls of one request, by what they belong to."""

    parts: Mapping[Part, list[TracedCall]]
    processes: frozenset[int]

    @property
    def calls(self) -> list[TracedCall]:
        return self.parts["request"]


def census(
    found: CallTrace, process_of: Mapping[int, int], *, rest_s: float = 0.0
) -> SyscallProfile:
    """Return the calls per request.

    Args:
        found: Its first part is what came before the first request, each other one a request.
        process_of: The threads that were traced from the beginning → their processes.
        rest_s: How long the first part was watched.
    """
    frame, processes = RequestFrame(), Processes(process_of)
    rest, *asked = found.parts
    frame.learn(call for part in found.parts for call in part)
    processes.working(rest)
    for call in rest:
        frame.part(call)
    before = frame.n_accepted
    requests = [_request(part, frame, processes) for part in asked]
    took_part = frozenset().union(*(each.processes for each in requests))
    n_connections = frame.n_accepted - before
    files = _files(requests)
    return SyscallProfile(
        n_requests=len(requests),
        n_traced=len(set(process_of.values())),
        n_took_part=len(took_part),
        total=_each(requests, lambda _: True),
        kinds=_kinds(requests),
        connection=_per_request([len(each.parts["connection"]) for each in requests]),
        zone=_per_request([len(each.parts["zone"]) for each in requests]),
        missing_stats=_each(requests, lambda c: kind_of(c) in ("stat", "lstat") and _is_missing(c)),
        missing_opens=_each(requests, lambda c: kind_of(c) == "open" and _is_missing(c)),
        htaccess_opens=_each(requests, is_htaccess),
        name_servers=_each(requests, lambda c: is_name_service(address(c))),
        files=files[:N_FILES],
        n_files=len(files),
        connected=_connected(requests),
        n_connections=n_connections,
        rest_s=rest_s,
        rest_calls=len(rest),
        warnings=tuple(_warnings(requests, n_connections, len(found.not_understood))),
    )


def is_htaccess(call: TracedCall) -> bool:
    """Whether it opens a `.htaccess`, be there one or not."""
    return kind_of(call) == "open" and call.path.endswith("/.htaccess")


def address(call: TracedCall) -> str:
    """Return whom a call connects to: `192.0.2.1:53`, a path; empty where it does not."""
    if call.name != "connect":
        return ""
    if (inet := _INET.search(call.arguments)) is not None:
        port, host = inet.groups()
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    unix = _UNIX.search(call.arguments)
    return unix[1] if unix else ""


def is_name_service(to: str) -> bool:
    """Whether names are asked for at an address."""
    return to.endswith(_PORT_OF_NAMES) or any(each in to for each in _NAME_SERVICES)


def _request(part: Sequence[TracedCall], frame: RequestFrame, processes: Processes) -> _Request:
    working = processes.working(part)
    parts: dict[Part, list[TracedCall]] = {"request": [], "connection": [], "zone": []}
    for call in part:
        where = frame.part(call)
        if processes.of(call) in working:
            parts[where].append(call)
    return _Request(parts, frozenset(working))


def _warnings(requests: Sequence[_Request], n_connections: int, n_unread: int) -> Iterable[Reason]:
    n_idle = sum(1 for each in requests if not each.processes)
    if n_idle:
        yield because("telemetry.nobody_took_part", n=n_idle, n_requests=len(requests))
    if n_connections > len(requests):
        yield because(
            "telemetry.others_asked", n_connections=n_connections, n_requests=len(requests)
        )
    if n_unread:
        yield because("telemetry.lines_not_understood", n=n_unread)


def _kinds(requests: Sequence[_Request]) -> tuple[KindCalls, ...]:
    names = {kind: Counter[str]() for kind in KINDS}
    for call in _all(requests):
        names[kind_of(call)][call.name] += 1
    return tuple(
        KindCalls(
            kind=kind,
            calls=_each(requests, partial(_is_of, kind)),
            names=tuple(name for name, _ in names[kind].most_common()),
        )
        for kind in KINDS
        if names[kind]
    )


def _files(requests: Sequence[_Request]) -> tuple[LookedFor, ...]:
    by_path: dict[str, list[TracedCall]] = {}
    for call in _all(requests):
        if call.path and kind_of(call) in BY_PATH:
            by_path.setdefault(call.path, []).append(call)
    counts = [
        Counter(call.path for call in each.calls if kind_of(call) in BY_PATH) for each in requests
    ]
    found = [
        LookedFor(
            path=path,
            calls=_per_request([count[path] for count in counts]),
            kinds=tuple(kind for kind in KINDS if kind in {kind_of(call) for call in calls}),
            is_missing=all(map(_is_missing, calls)),
        )
        for path, calls in by_path.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.calls.mean))


def _connected(requests: Sequence[_Request]) -> tuple[Connected, ...]:
    to = Counter(filter(None, map(address, _all(requests))))
    return tuple(
        Connected(address=each, calls=_each(requests, partial(_goes_to, each)))
        for each, _ in to.most_common()
    )


def _all(requests: Sequence[_Request]) -> Iterable[TracedCall]:
    return (call for each in requests for call in each.calls)


def _is_of(kind: Kind, call: TracedCall) -> bool:
    return kind_of(call) == kind


def _goes_to(to: str, call: TracedCall) -> bool:
    return address(call) == to


def _is_missing(call: TracedCall) -> bool:
    return call.error in _MISSING


def _each(requests: Sequence[_Request], counts: Callable[[TracedCall], bool]) -> PerRequest:
    return _per_request([sum(1 for call in each.calls if counts(call)) for each in requests])


def _per_request(counts: Sequence[int]) -> PerRequest:
    if not counts:
        return PerRequest()
    return PerRequest(mean=sum(counts) / len(counts), low=min(counts), high=max(counts))
