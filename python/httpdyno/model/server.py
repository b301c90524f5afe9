"""What stands around a server that a study starts: limits, commands, a network of its own."""

from typing import Annotated, Literal

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.written import DERIVED, Cpu, Duration, Names


class ServerLimits(Record, frozen=True):
    """`limits` of a server: what all of its processes may take together, at most."""

    memory: str = ""
    """A size, such as `512MiB`; `{knob.NAME}` puts a knob in, whose `none` is no limit (not of a
    site's members). A server that runs into it is `infeasible`, whatever it had measured."""
    cpu: Cpu = ""
    """CPU seconds a second: `0.5` is half a core, `2` two whole ones. Knobs as in `memory`."""
    cpu_period_s: Duration = 0.1
    """In which its CPU seconds are given out; who has used them up stands still until the next one
    begins. Windows are lengthened to ten periods; systemd's is 100 ms, too."""

    def __bool__(self) -> bool:
        """Whether there may be any limit."""
        return bool(self.memory or self.cpu)

    @property
    def words(self) -> str:
        """Return it as it is written, for people: `memory 512MiB, cpu 0.5`."""
        texts = {"memory": self.memory, "cpu": self.cpu}
        return ", ".join(f"{name} {text}" for name, text in texts.items() if text)


class LimitValues(Record, frozen=True):
    """Of one configuration, or as the kernel has them."""

    controllers: tuple[str, ...] = ()
    """What the study sets limits of, `memory`, `cpu`: configurations without a limit are in such
    groups, too, so that nothing but the limit sets them apart."""
    memory_bytes: int | None = None
    """None where there is no limit; so is the other one."""
    cpu: float | None = None
    """CPU seconds a second."""
    cpu_period_s: float = 0.1

    def __bool__(self) -> bool:
        """Whether the study sets any."""
        return bool(self.controllers)


# Commands beside a server, or beside a site's members.


class SideCommand(Record, frozen=True):
    """`[[server.prepare]]`, `[[server.finish]]`: a command beside the server."""

    run: tuple[str, ...]
    """Program and arguments, run in the run folder; placeholders as in `command`."""
    timeout_s: Duration = 20.0
    """As long it may take; then the start has failed."""
    each: Literal["start", "run"] = "start"
    """`run`: once for all starts of a run, in a folder that all of them know as `{shared}`; it uses
    no other placeholder but `{python}` and settings."""
    when: Annotated[Literal["before", "up"], DERIVED] = "before"
    """Of a site, as the next three: see `SiteCommand`."""
    member: Annotated[str, DERIVED] = ""
    folder: Annotated[str, DERIVED] = ""
    user: Annotated[str, DERIVED] = ""


class SiteCommand(SideCommand, frozen=True):
    """`[[site.prepare]]`, `[[site.finish]]`: a command that runs in the copy as a member does."""

    run: tuple[str, ...]
    """Program and arguments, an argument each; it sees and writes what the copy does. `{run}` is a
    folder of this copy's own, `{shared}` that of the run; `{knob.NAME}` as in `[server]`."""
    each: Literal["start", "run"] = "start"
    """`run`: once for all starts of a run, in a copy of its own, of which only `{shared}`, a
    folder, stays; all others can read it. It uses no other placeholder but `{python}`."""
    when: Literal["before", "up"] = "before"
    """`before` any member is started, or once all are `up`, for what asks them. Not of `finish`."""
    member: str = ""
    """Whose environment, user and folder it has; empty is the member behind all others."""
    folder: str = ""
    """Where it runs, where that is not the member's folder; a whole path."""
    user: str = ""
    """Whom it runs as, where that is not the member's user, such as `www-data`."""


# A network of a study's own, in which its servers run, with what names mean there.


class Resolver(Record, frozen=True):
    """`[network.resolver]`: of names, that the servers of a study have for themselves."""

    answers: str = "at once"
    """When it answers: `at once`, `never`, or after so long, such as `50ms`; a template of it, such
    as `{{ knob.resolver }}`."""
    names: Names = msgspec.field(default_factory=dict)
    """What it knows: names with an address, or a list of them; an address is answered with its
    names. All others are told not to exist."""
    options: str = "timeout:1 attempts:1"
    """How servers ask it, as `options` of resolv.conf(5)."""


class PrivateNetwork(Record, frozen=True):
    """`[network]`: namespaces of mounts and of the network that all servers of a start are in."""

    hosts: tuple[str, ...] = ()
    """All of /etc/hosts but the machine's own name: lines such as `127.0.0.2 other.example`. Not
    even `localhost` is in there, since then nobody would be asked who 127.0.0.1 is."""
    resolver: Resolver | None = None
    """Whom the servers ask for names, in a process of httpdyno's that counts the questions. Without
    it nobody answers, and says so at once."""

    @property
    def templates(self) -> tuple[str, ...]:
        """Return all texts of it in which knobs may be named."""
        resolver = self.resolver
        if resolver is None:
            return self.hosts
        addresses = (each for own in resolver.names.values() for each in own)
        return (*self.hosts, resolver.answers, resolver.options, *addresses)
