"""What a cell is asked to be. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from httpdyno.foreign_text import Rights
from httpdyno.model import Door


@dataclass(frozen=True, kw_only=True, slots=True)
class CellWish:
    """What a private copy is to see, and what it may write and reach."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """Path as seen inside → content: files of theirs, or new ones.

    A path that is a link of theirs stays one, where it is one to follow (`foreign_path`); the file
    that it leads to has the content.
    """
    rights: Mapping[str, Rights] = field(default_factory=dict)
    """Path of such a file → whose it is; of others it is as of what stands there."""
    writes: Sequence[str] = ()
    """Folders that are written copy-on-write, besides those that always are."""
    logs: Sequence[str] = ()
    """Files that are appended to at each request. One that stands in a folder that is written is
    empty in the cell, and written as fast as theirs; what is no such file is left out.
    """
    doors: Sequence[Door] = ()
    """Unix sockets that the copy may reach."""
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Settings of the kernel's network, for the cell alone: name with dots → text."""
    hidden_files: Mapping[str, bytes] = field(default_factory=dict)
    """Stand-ins for files that cannot be read, such as private keys."""


ALWAYS_WRITTEN = ("/run", "/tmp", "/var/tmp", "/var/log")  # noqa: S108 - those of the copy alone
"""Copy-on-write in every cell, where they are; `/var/run` is one of them nearly everywhere."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - likewise
"""Empty in every cell: segments there belong to processes, and are no files of a site."""
