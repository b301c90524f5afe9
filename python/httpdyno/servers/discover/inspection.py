"""A server looked at from outside: its configuration, whether that runs, and what is behind it.

Nothing is sent to it, and its own test is not run: what is known stands in its files, in /proc, and
in what the package manager wrote down.

Behind it are the servers that its requests go on to: those of its configuration, and those of this
machine that its processes are connected to while somebody looks, such as a database. What is
connected to for a moment only may be missed.
"""

import ipaddress
import os
import re
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from httpdyno.errors import AdapterError, UsageError
from httpdyno.host.sock_diag import Connection, Diagnosis
from httpdyno.model import Backend, Behind, KnobInfo, Survey
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.discover.contained import Allowance, contained
from httpdyno.servers.discover.find import Found, find
from httpdyno.servers.discover.machine import Machine
from httpdyno.servers.discover.program import package_version, python_version, said_version
from httpdyno.servers.discover.source import AddressSource, parse_source
from httpdyno.servers.stack.adapter import MemberFiles, ServerAdapter

_UNIX = "unix:"
_HOSTS = Path("/etc/hosts")
_ANY_PORT = 9
"""Nothing is sent there."""


def answering(address: str, machine: Machine) -> tuple[Found, ...]:
    """Return the servers that listen at an address of this machine, none of them below another.

    Empty where it is another machine's, and where nobody listens.

    Args:
        address: `ip:port`, IPv6 in brackets, or `unix:/path`.
        machine: What runs here.

    Raises:
        AdapterError: Somebody listens whom this user may not see, or who asks is one of them.
    """
    source = _source(address)
    if source.port and not is_own(source.host):
        return ()
    try:
        found = find(source, machine)
    except UsageError:  # nobody listens: it was over before this
        return ()
    if any(os.getpid() in _pids(each) for each in found):
        raise AdapterError(f"httpdyno itself is one of the processes that listen at `{source}`")
    return tuple(each for each in found if not _is_below(each, found))


def own_hosts(host: str, table: Path = _HOSTS) -> tuple[str, ...]:
    """Return the addresses of this machine that a host is, by /etc/hosts alone: nobody is asked.

    Args:
        host: As a configuration has it: an address without brackets, or a name.
        table: Where names are looked for.
    """
    if host == "localhost":
        return (host,)
    if _is_address(host):
        return (host,) if is_own(host) else ()
    with suppress(OSError):
        lines = (line.partition("#")[0].split() for line in table.read_text("utf-8").splitlines())
        named = [line[0] for line in lines if host.lower() in map(str.lower, line[1:])]
        return tuple(each for each in named if _is_address(each) and is_own(each))
    return ()


def _is_address(text: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(text))
    return False


def is_own(host: str) -> bool:
    """Return whether an address is one of this machine's, in this network namespace.

    The kernel answers by its routes: from here to an own address it is that address that sends,
    and of 127.0.0.0/8 any. Connecting a datagram socket sends nothing.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((host, _ANY_PORT))
            sender = str(asking.getsockname()[0])
    except OSError:  # no way leads there
        return False
    return sender == host.partition("%")[0] or host.startswith("127.")


def _source(address: str) -> AddressSource:
    if address.startswith(_UNIX):
        return AddressSource(address.removeprefix(_UNIX), 0)
    host, _, port = address.rpartition(":")
    return AddressSource(host.strip("[]"), int(port))


def _pids(found: Found) -> set[int]:
    root = {found.root.pid} if found.root else set[int]()
    return root | {each.pid for each in found.below}


def _is_below(found: Found, others: Sequence[Found]) -> bool:
    """Return whether it is a part of another one, which has its processes already."""
    below = {each.pid for other in others for each in other.below}
    return found.root is not None and found.root.pid in below


_SLACK_S = 1.0
"""A server opens its files a moment after its process began; clocks are this exact, too."""
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Inspected:
    """What can be said of a server without asking it anything."""

    found: Found
    version: str = ""
    """Its number; empty where nobody wrote it down."""
    survey: Survey | None = None
    """What its files say; None where they are not read."""
    n_files: int = 0
    """How many were read."""
    trouble: Reason | None = None
    """Why its configuration is not read."""
    changed: tuple[str, ...] = ()
    """Files that were changed after it read them."""
    perhaps_changed: tuple[str, ...] = ()
    """Files that were changed since it began: whether it read them again is not known."""
    knobs: Mapping[str, KnobInfo] = field(default_factory=dict)
    """What can be set there, by `NAME` or `NAME@SCOPE`, with what is in force as default."""


def inspected(
    found: Found, adapters: Sequence[ServerAdapter], allowance: Allowance | None = None
) -> Inspected:
    """Return what can be said of a server; what of it is not understood is said, not raised.

    Args:
        found: Which one.
        adapters: That read configurations.
        allowance: Of its user (`Machine.allowance`).
    """
    if found.trouble:
        return Inspected(found=found, trouble=found.trouble)
    seen = contained(lambda: _inspected(found, adapters), name_of(found), allowance=allowance)
    return Inspected(found=found, trouble=seen) if isinstance(seen, Reason) else seen


def looked_at(found: Found, machine: Machine) -> Inspected:
    """Return what can be said of a server of this machine, in the time that its user has left."""
    allowance = machine.allowance(found.root.user) if found.root else None
    return inspected(found, machine.adapters, allowance)


def name_of(found: Found) -> str:
    """Return what one server is called among others: `nginx (pid 1234)`."""
    where = f"pid {found.root.pid}" if found.root else found.member.main
    return f"{found.member.kind} ({where})" if where else found.member.kind


def _inspected(found: Found, adapters: Sequence[ServerAdapter]) -> Inspected:
    adapter = next((each for each in adapters if each.name == found.member.kind), None)
    seen = Inspected(found=found, version=_version(found))
    if found.is_elsewhere:
        return replace(seen, trouble=because("discover.in_a_container"))
    if adapter is None:
        return seen
    read = contained(lambda: _read(seen, adapter), name_of(found))
    return replace(seen, trouble=read) if isinstance(read, Reason) else read


def _read(seen: Inspected, adapter: ServerAdapter) -> Inspected:
    found = seen.found
    files = adapter.read(found.member)
    survey = adapter.survey(found.member, files, None)
    if isinstance(survey, NotRunning):
        return replace(seen, trouble=survey.detail)
    changed, perhaps = changed_files(found, files)
    number = _VERSION.search(survey.version)
    return replace(
        seen,
        version=number[0] if number else seen.version,
        survey=survey,
        n_files=len(files.texts),
        knobs=adapter.knobs(survey),
        changed=changed,
        perhaps_changed=perhaps,
    )


def changed_files(found: Found, files: MemberFiles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files that were changed after the server read them, and those that perhaps were.

    A server reads its files when it begins and when it is told to; then its workers are new. What
    was changed after the oldest of its workers began it has not read. Some servers also replace
    workers by themselves, so what was changed between its own beginning and theirs is not known.
    """
    if found.root is None:
        return (), ()
    began_s = found.root.started_at_s
    workers = [each for each in found.below if each.parent == found.root.pid]
    oldest_s = min((each.started_at_s for each in workers), default=began_s)
    when = {path: _changed_at_s(path, files) for path in files.texts}
    late = tuple(path for path, at_s in when.items() if at_s > oldest_s + _SLACK_S)
    between = (path for path, at_s in when.items() if at_s > began_s + _SLACK_S)
    return late, tuple(path for path in between if path not in late)


def with_backends(seen: Sequence[Inspected], machine: Machine) -> tuple[Inspected, ...]:
    """Return them, and the servers of this machine that their configured backends lead to."""
    whole = list(seen)
    pids = {each.found.root.pid for each in seen if each.found.root}
    for front in seen:
        for backend in front.survey.backends if front.survey else ():
            for found in serving(backend, machine):
                if found.root and found.root.pid not in pids:
                    pids.add(found.root.pid)
                    whole.append(looked_at(found, machine))
    return tuple(whole)


def serving(backend: Backend, machine: Machine) -> tuple[Found, ...]:
    """Return the servers of this machine that listen where a backend is; mostly one, or none."""
    # What a configuration calls a backend may be anything.
    found = contained(lambda: listening_at(backend, machine), backend.to)
    return () if isinstance(found, Reason) else found


def listening_at(backend: Backend, machine: Machine) -> tuple[Found, ...]:
    """Return the servers of this machine that listen where a backend is.

    Raises:
        UsageError: It is no address, or nobody listens there.
        AdapterError: This user may not see who it is.
    """
    source = parse_source([backend.to], Path("/"))
    if not isinstance(source, AddressSource):
        return ()
    if not source.port:
        return find(source, machine)
    for host in own_hosts(source.host):
        with suppress(UsageError):  # nobody listens there
            return find(AddressSource(host, source.port), machine)
    return ()


def _changed_at_s(path: str, files: MemberFiles) -> float:
    def times() -> Iterable[float]:
        for each in (path, files.real.get(path, path)):
            with suppress(OSError):
                # A link that leads elsewhere since is a change too.
                yield Path(each).lstat().st_mtime
            with suppress(OSError):
                yield Path(each).stat().st_mtime

    return max(times(), default=0.0)


def _version(found: Found) -> str:
    member, root = found.member, found.root
    arguments = root.arguments if root else member.command
    said = said_version(arguments)
    if said:
        return said
    if member.kind in {"gunicorn", "uvicorn"}:
        version = python_version(member.kind, arguments, member.folder)
        if version:
            return version
    program = (root.program if root else "") or member.program
    is_interpreter = member.kind in {"gunicorn", "uvicorn", "puma", "command"}
    # What is installed now is not what runs, once its file was replaced.
    if is_interpreter or (root is not None and root.is_replaced):
        return ""
    return package_version(program)


_UNKNOWN_KIND = "command"


def behind(
    seen: Inspected,
    machine: Machine,
    *,
    besides: Collection[int] = (),
    asked: Collection[str] = (),
) -> tuple[Behind, ...]:
    """Return what is behind a server that runs; empty of one in a container.

    Args:
        seen: The server.
        machine: What runs here.
        besides: Processes that are the server's too, though not below it.
        asked: Where it was seen to wait for an answer before: `127.0.0.1:5432`, `unix:/…`.
    """
    found = seen.found
    if found.root is None or found.is_elsewhere:
        return ()
    own = {found.root.pid, *(each.pid for each in found.below), *besides}
    configured = [each.to for each in seen.survey.backends] if seen.survey else []
    places: list[Behind] = []
    known = set(own)
    for to in dict.fromkeys([*configured, *asked, *_connected(found, own, machine)]):
        servers = [each for each in serving(Backend(to=to, protocol=""), machine) if each.root]
        others = [each for each in servers if each.root and each.root.pid not in own]
        pids = {each.root.pid for each in others if each.root}
        # Some connect to themselves, what nobody is seen to serve is known from files only, and
        # what files call `localhost:8000` is connected to as 127.0.0.1:8000.
        if (others or not servers) if to in configured else pids - known:
            places.append(Behind(to=to, by=named(others)))
            known |= pids
    return tuple(places)


def named(servers: Sequence[Found]) -> str:
    """Return servers that run by kind and process: `gunicorn 812`; of no known kind, by program."""
    kinds = ((each.member.kind, each.root) for each in servers)
    return ", ".join(
        f"{root.name if kind == _UNKNOWN_KIND else kind} {root.pid}" for kind, root in kinds if root
    )


def _connected(found: Found, own: set[int], machine: Machine) -> Iterator[str]:
    """Yield where its processes are connected to, of what listens on this machine."""
    inodes = frozenset[int]().union(*(machine.inodes(pid) or frozenset() for pid in own))
    unix = {each.address for each in machine.sockets if not each.port}
    ports = {each.port for each in machine.sockets if each.port}
    its_ports = {each.port for each in found.listens if each.port}
    for each in _connections():
        if each.inode not in inodes:
            continue
        if each.port is None:
            is_behind = each.peer in unix
        else:
            # Who asks for an answer has a port that nobody listens at.
            is_behind = each.port not in its_ports and _is_here(each) and _port(each.peer) in ports
        if is_behind:
            yield each.peer


def _is_here(connection: Connection) -> bool:
    """Whether both ends are on this machine."""
    here, there = (text.rpartition(":")[0] for text in (connection.address, connection.peer))
    return there in (here, "[::1]") or there.startswith("127.")


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def _connections() -> tuple[Connection, ...]:
    with suppress(AdapterError):
        asked = Diagnosis()
        try:
            return asked.connections()
        finally:
            asked.close()
    return ()
