"""What a copy has for its own, and what it may reach of the outside: for naming all else."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """Of one seat."""

    doors: tuple[str, ...] = ()
    """`unix:/path` or `ip:port`, as the copy calls them."""
    folders: tuple[str, ...] = ()
    """Behind a wall: where it may write, and files that it may write."""
    addresses: tuple[str, ...] = ()
    """Behind a wall: the members' own, `ip:port`."""
