"""What a cell is asked to be. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from httpdyno.host.foreign_files import Rights
from httpdyno.model import Door


@dataclass(frozen=True, kw_only=True, slots=True)
class CellWish:
    """What a private copy is to see, and what it may write and reach."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """Path as seen inside → content: files of theirs, or new ones.

    A path that is a link of theirs stays one, where it is one to follow (`foreign_files`); the file
    that it leads to has the content.
    """
    rights: Mapping[str, Rights] = field(default_factory=dict)
    """Path of such a file → whose it is; of others it is as of what stands there."""
    writes: Sequence[str] = ()
    """Folders that are there in any case, and written all over as far as this user can have that.

    All of the tree is copy-on-write, with the owners and rights that it has.
    """
    is_known: bool = True
    """Whether it is known where the copy writes: what it writes elsewhere is kept in memory. Where
    it is not, nothing is."""
    served: Sequence[str] = ()
    """Folders of pages, which are seen as they are where that is safe: it costs each request less.
    """
    patterns: Sequence[str] = ()
    """What a configuration includes by wildcards, absolute: of what matches, no file is seen but
    those of `files`. One that ends in `/` stands for all below it.
    """
    logs: Sequence[str] = ()
    """Files that are appended to at each request. One that stands there is
    empty in the cell, and written as fast as theirs; what is no such file is left out.
    """
    doors: Sequence[Door] = ()
    """Unix sockets that the copy may reach."""
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Settings of the kernel's network, for the cell alone: name with dots → text."""
    hidden_files: Mapping[str, bytes] = field(default_factory=dict)
    """Stand-ins for files that cannot be read, such as private keys."""


ALWAYS_WRITTEN = ("/run", "/tmp", "/var/tmp", "/var/log")  # noqa: S108 - those of the copy alone
"""Written by any user's copies, in every cell; `/var/run` is one of them nearly everywhere."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - likewise
"""Empty in every cell: segments there belong to processes, and are no files of a site."""
