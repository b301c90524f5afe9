"""A network of a study's own, in which its servers run, with what names mean there."""

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.written import Names


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
