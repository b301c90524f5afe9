"""A network of a study's own, in which its servers run, with what names mean there."""

import msgspec

from httpdyno.model.base import Record


class Resolver(Record, frozen=True):
    """A resolver of names that the servers of a study have for themselves."""

    answers: str = "at once"
    """`at once`, `never`, or after how long, such as `50ms`; a template of it."""
    names: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Name → its addresses, which are answered with that name too; templates of them."""
    options: str = "timeout:1 attempts:1"
    """How the servers ask, as in resolv.conf(5); a template."""


class PrivateNetwork(Record, frozen=True):
    """Namespaces of mounts and of the network that all servers of a start are in."""

    hosts: tuple[str, ...] = ()
    """Lines of hosts(5); templates."""
    resolver: Resolver | None = None
    """None: nobody answers, at once."""

    @property
    def templates(self) -> tuple[str, ...]:
        """Return all texts of it in which knobs may be named."""
        resolver = self.resolver
        if resolver is None:
            return self.hosts
        addresses = (each for own in resolver.names.values() for each in own)
        return (*self.hosts, resolver.answers, resolver.options, *addresses)
