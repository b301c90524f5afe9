"""Who of this machine answers at a backend's address, by the socket: as a member, or why not.

What a user's configuration names leads by itself to servers of that user only.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import structs

from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import Backend, Member
from httpdyno.servers.discover.contained import bounded, foreseen
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.inspection import listening_at, named
from httpdyno.servers.discover.machine import Machine
from httpdyno.servers.discover.program import as_command
from httpdyno.servers.systemd import service_at

Listening = Callable[[str, str], Member | str]
"""Address of a backend, and the user whose word that is → the member that listens there; else why
it is none, and what to do, in words; empty where nobody listens there."""

_FORWARDERS = frozenset(
    (
        *("docker-proxy", "rootlessport", "slirp4netns", "pasta", "passt", "conmon"),
        *("ssh", "sshd", "autossh", "kubectl", "systemd-socket-proxyd"),
    )
)
"""Programs that only lead to somebody else, who is none of this machine or none that is seen."""


def nobody(to: str, user: str) -> str:
    """Say that nobody is known to listen anywhere."""
    del to, user
    return ""


class Behind:
    """Looks who listens at the backends of a site, and keeps whom it found."""

    def __init__(self, machine: Machine, start_timeout_s: float = 20.0) -> None:
        """Look at a machine.

        Args:
            machine: What runs here.
            start_timeout_s: How long copies of what is found may take to start.
        """
        self._machine = machine
        self._start_timeout_s = start_timeout_s
        self.found: list[Found] = []

    def __call__(self, to: str, user: str) -> Member | str:
        """Return the member that listens at an address, or why there is none."""
        try:
            with foreseen(to), bounded():
                servers = listening_at(Backend(to=to, protocol=""), self._machine)
        except UsageError:
            return ""
        except AdapterError as error:
            return f"{error}: {error.hint}" if error.hint else str(error)
        if not servers:
            return ""
        if why := next(self._why_none(to, servers, user), ""):
            return why
        found = servers[0]
        try:
            member = self._as_member(found)
        except AdapterError as error:
            return f"{named(servers)} listens there, and {error}: {error.hint}"
        self.found.append(found)
        return member

    def _why_none(self, to: str, servers: tuple[Found, ...], user: str) -> Iterator[str]:
        """Yield why what listens does not become a member by itself."""
        found, who = servers[0], named(servers)
        root = found.root
        if root is None or os.getpid() in {root.pid, *(each.pid for each in found.below)}:
            yield "httpdyno itself listens there"
            return
        by_pid = f"`--with pid:{root.pid}`"
        if len(servers) > 1:
            yield f"{who} listen there: name one, {by_pid}"
        if root.pid == 1:
            unit = service_at(to) or "NAME"
            yield f"{who} holds that socket for a service: name that one, `--with unit:{unit}`"
        if self._machine.is_copy(root.pid):
            yield f"{who} listens there, a private copy that some httpdyno runs"
        if found.is_elsewhere:
            yield f"{who} listens there, in a container or chroot: run httpdyno in there"
        if found.trouble:
            yield f"{who} listens there, and {found.trouble}"
        if not _FORWARDERS.isdisjoint((Path(root.program).name, root.name)):
            yield f"{who} listens there, and only leads elsewhere: name the server behind it"
        if user not in {"", "root", root.user}:
            whose = root.user or "another user"
            yield f"{who} listens there, which {whose} runs: name it, {by_pid}"

    def _as_member(self, found: Found) -> Member:
        root = found.root
        member = structs.replace(found.member, ready_timeout_s=self._start_timeout_s)
        if root is None or any(each.kind == member.kind for each in self._machine.adapters):
            return member
        return as_command(member)
