"""What a copy has for its own, and what it may reach of the outside: for naming all else."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """Of one seat."""

    doors: tuple[str, ...] = ()
    """`unix:/path` or `ip:port`, as the copy calls them."""
    folders: tuple[str, ...] = ()
    """Folders of the copy's own. Behind a wall, all that it may write, files too."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Behind a wall: the members' own, `ip:port`, and which of theirs each stands for."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Behind a wall: folders and sockets of the copy's own, and which of theirs each stands for."""

    def theirs(self, text: str) -> str:
        """Return an address of the copy as their configuration has it."""
        if not text.startswith("unix:/"):
            return self.addresses.get(text, text)
        path = text.removeprefix("unix:")
        for own, of_them in self.paths.items():
            if path == own or path.startswith(f"{own}/"):
                return f"unix:{of_them}{path.removeprefix(own)}"
        return text
