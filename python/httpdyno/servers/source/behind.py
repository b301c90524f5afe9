"""What is behind a server: the servers that its requests go on to, which are no part of its tree.

Those of its configuration, and those of this machine that its processes are connected to while
somebody looks, such as a database. What is connected to for a moment only may be missed.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from httpdyno.errors import AdapterError
from httpdyno.host.sock_diag import Connection, Diagnosis
from httpdyno.model import Backend, Behind
from httpdyno.servers.source.find import Found
from httpdyno.servers.source.inspection import Inspected, serving
from httpdyno.servers.source.machine import Machine

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
