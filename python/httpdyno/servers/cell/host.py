"""What of the host matters for a cell: what is mounted where, and which sockets can be reached."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from httpdyno.servers.cell.mount import unescaped

_UNIX = Path("/proc/net/unix")
_PID_FILES_UNDER = Path("/run")
_PID_FILE_DEPTH = 3
_NO_UPPER_LAYER = ("overlay", "nfs", "cifs", "smb", "fuse", "9p", "virtiofs", "vfat", "ecryptfs")
"""File systems that the kernel does not let an overlay write on, or not well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mounted:
    """One mount, the last of its point."""

    point: str
    kind: str
    """The kind of file system."""

    @property
    def takes_layers(self) -> bool:
        """Whether it can hold what an overlay writes."""
        return not self.kind.startswith(_NO_UPPER_LAYER)


def mounts() -> dict[str, Mounted]:
    """Return what is mounted: mount point → which."""
    found = {}
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        left, _, right = line.partition(b" - ")
        point = unescaped(left.split()[4])
        found[point] = Mounted(point=point, kind=os.fsdecode(right.split()[0]))
    return found


def mount_of(path: str, mounted: Mapping[str, Mounted]) -> Mounted:
    """Return the mount that a path, without links, is in."""
    while path not in mounted and path != "/":
        path = os.path.dirname(path)  # noqa: PTH120 - of a text
    return mounted.get(path, Mounted(point="/", kind="unknown"))


def sockets() -> list[str]:
    """Return the paths that somebody is bound to, as they were given: processes of this network."""
    with suppress(OSError):
        lines = _UNIX.read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
        paths = [line.split(maxsplit=7)[7] for line in lines if line.count(" /")]
        return sorted({path for path in paths if path.startswith("/")})
    return []


def pid_files(folders: Iterable[str] = ()) -> Iterator[str]:
    """Yield the files that say which process runs; a copy would take that for itself.

    Args:
        folders: Where a server is known to write, besides `/run`.
    """
    waiting = [(_PID_FILES_UNDER, 1), *((Path(each), _PID_FILE_DEPTH) for each in folders)]
    while waiting:
        folder, depth = waiting.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and depth < _PID_FILE_DEPTH:
                    waiting.append((Path(entry.path), depth + 1))
                elif entry.name.endswith(".pid"):
                    yield entry.path
