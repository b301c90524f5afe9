"""Where a site is loaded: at the address that it was named by, or where it is seen to listen.

A program of which nobody says where it listens is started alone in a cell, and looked at.
"""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs

from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import ChangeSet, Configuration, Listener, Member, ServerSpec, SideCommand, Site
from httpdyno.servers.adapter import NotRunning, exited_words
from httpdyno.servers.command.site import WAY_OUT
from httpdyno.servers.network.address import unix_address
from httpdyno.servers.network.listening import ListeningSocket, listening_sockets
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.site.adapter import SiteAdapter
from httpdyno.servers.site.beside import Beside, copy_environment, copy_variables
from httpdyno.servers.site.listener import UNIX, loaded_listener
from httpdyno.servers.site.seating import SeatMaker
from httpdyno.servers.site.server import SITE
from httpdyno.servers.site.snapshot import Found

_SETTLE_S = 0.3
"""A program that opens one port may open another one right after."""
_SETTLE_UNIX_S = 2.0
"""Who has opened no port for so long after a unix socket is taken to listen there alone."""
_POLL_S = 0.02


def with_listener(
    found: Found,
    adapters: Mapping[str, SiteAdapter],
    make_seat: SeatMaker,
    before: tuple[SideCommand, ...] = (),
) -> Found:
    """Return the member with where it listens, as seen of one start.

    Args:
        found: The member.
        adapters: By kind.
        make_seat: Isolates the copy.
        before: What it needs to be run before it starts.

    Raises:
        UsageError: It listens at several ports, at none, or cannot be seen here.
        AdapterError: It does not start, or what is to be run before fails.
    """
    member = found.member
    with new_run_root() as root:
        place = root.new_place("listening")
        begun = make_seat.begin(place)
        if begun.kind != "cell":
            raise _unknown("only in a cell it would be seen", WAY_OUT)
        seat = make_seat.finish(begun, place, CellWish(is_known=False))
        if isinstance(seat, NotRunning):
            raise AdapterError(f"no private copy can be made here: {seat.detail}")
        try:
            site, spec = Site(members=(member,)), ServerSpec(adapter=SITE, before=before)
            variables = copy_variables(spec, site, place, {})
            failed = Beside(spec, site, seat, place, variables).prepare("before")
            if failed:
                raise AdapterError(f"a private copy cannot be prepared: {failed.detail}")
            launch = adapters[member.kind].launch(
                member, found.survey, seat, Configuration(), ChangeSet()
            )
            process = seat.spawn(
                launch.command,
                environment={
                    **copy_environment(member, seat, place, variables),
                    **launch.environment,
                },
                folder=launch.folder,
                user=launch.user,
                log=place.folder / f"{member.name}.log",
                output_to=launch.output_to,
            )
            try:
                listeners = _seen(process, seat.network, member)
            finally:
                process.stop()
        finally:
            seat.close()
    if len(listeners) != 1:
        raise _unknown(f"it listens at {', '.join(listeners)}")
    return front_at(found, Listener(address=listeners[0]))


def named_listener(listeners: Sequence[Listener], host: str, port: int) -> str:
    """Return which listener who names a site by an address means, where it is not the usual one.

    Empty where it is, and where none of them answers there.

    Args:
        listeners: All that the site has.
        host: Empty is any; a path of a unix socket.
        port: 0 for a unix socket.
    """
    named = [each for each in listeners if _socket(each.address).answers_at(host, port)]
    if not named or loaded_listener(Site(members=()), listeners) in named:
        return ""
    return loaded_listener(Site(members=()), named).address


def _socket(address: str) -> ListeningSocket:
    if address.startswith(UNIX):
        return ListeningSocket(inode=0, host=address.removeprefix(UNIX), port=0)
    host, _, port = address.rpartition(":")
    host = "::" if host in {"*", ""} else host.strip("[]")
    return ListeningSocket(inode=0, host=host, port=int(port) if port.isdecimal() else -1)


def front_at(found: Found, listener: Listener) -> Found:
    """Return a member of which nobody knows where it listens, as one that listens there."""
    survey = structs.replace(found.survey, listeners=(listener,))
    return Found(member=found.member, files=found.files, survey=survey)


def _seen(process: ServerProcess, network: str, member: Member) -> list[str]:
    patience_s = member.ready_timeout_s
    deadline_s = time.monotonic() + patience_s
    unix_s = None
    while (now_s := time.monotonic()) < deadline_s:
        if not process.is_alive():
            raise AdapterError(
                "it does not listen anywhere yet, and "
                + exited_words(process.exit_code, process.last_words().strip())
            )
        if _ports(network):
            time.sleep(_SETTLE_S)
            return _ports(network)
        # A program may have sockets of its own before it opens its port.
        if paths := _paths(network, member.folder):
            unix_s = unix_s or now_s
            if now_s - unix_s > _SETTLE_UNIX_S:
                return paths
        time.sleep(_POLL_S)
    raise _unknown(
        f"it listened nowhere within {patience_s:g} s",
        "`--start-timeout 1m` waits longer; `--listener 8080` or `--listener unix:/PATH` names it",
    )


def _ports(network: str) -> list[str]:
    """Return the addresses that somebody listens at in a network namespace, a port once.

    It is that of the cell: the process itself may not have entered it yet.
    """
    by_port = {each.port: each.address for each in reversed(_sockets(network)) if each.port}
    return [by_port[port] for port in sorted(by_port)]


def _paths(network: str, folder: str) -> list[str]:
    """Return the unix sockets that somebody listens at in a network namespace."""
    paths = [each.host for each in _sockets(network) if not each.port]
    return [
        unix_address(os.path.join(folder or "/", path))  # noqa: PTH118 - `..` stays as it is
        for path in paths
        if not path.startswith("@")
    ]


def _sockets(network: str) -> tuple[ListeningSocket, ...]:
    return listening_sockets(Path(network).parent.parent / "net")


def _unknown(why: str, hint: str = "") -> UsageError:
    return UsageError(
        f"nobody says where the server listens, and {why}",
        hint=hint or 'name it: `--listener 8080`, in the study `listener = "8080"`',
    )
