"""One directive of a configuration, wherever it is known from."""

from dataclasses import dataclass

TRANSPARENT = frozenset({"ifmodule", "ifdefine", "ifversion", "ifdirective", "iffile", "ifsection"})
"""Sections that only decide whether what is in them counts."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section that is open where a directive stands."""

    kind: str
    """Such as `VirtualHost`."""
    arguments: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive in force, its variables filled in."""

    name: str
    arguments: str
    sections: tuple[Section, ...]
    """The outermost first, without transparent ones."""
    file: str
    """As the server names it: a path, or `-c/-C directives`, or `macro 'x' …`."""
    line: int

    @property
    def host(self) -> Section | None:
        """The virtual host that it stands in."""
        found = (s for s in self.sections if s.kind.lower() == "virtualhost")
        return next(found, None)
