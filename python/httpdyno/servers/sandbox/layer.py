"""The layers of a cell's overlays: folders of the place, with owners and rights as in theirs.

What is copied is opened once, through no link, and has the owner and the rights of what was opened:
who could not read it where it stood cannot read the copy.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import BinaryIO

from httpdyno.host.foreign_files import Rights, folders_below, held

_OWNER, _PASSABLE = 0o700, 0o711
_FILLED_ENTRIES, _FILLED_BYTES = 500, 64 << 20
"""Of a folder of others that is copied for a user, so that it is all his own."""
_COPIED_BYTES = 1 << 20
"""A larger file beside the copy's own folder is not seen in the cell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layers:
    """What is put over one of their folders."""

    target: str
    """Their folder, without links on the way."""
    folder: Path
    """Where its layers are."""
    is_filled: bool = False
    """Whether what is placed stands for all of theirs, and is its user's own."""
    is_passed: bool = False
    """Whether everybody in the copy may go through its folders: they lead to the copy's own."""
    _ways: dict[tuple[str, str], str] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Layer and folder of theirs → that folder in the layer, made with all above it."""

    @property
    def _least(self) -> int:
        return (_OWNER if self.is_filled else 0) | (_PASSABLE if self.is_passed else 0)

    @property
    def placed(self) -> Path:
        """Files that the copy is to see in place of theirs, or besides them."""
        return self.folder / "placed"

    @property
    def upper(self) -> Path:
        """What the copy wrote."""
        return self.folder / "upper"

    @property
    def work(self) -> Path:
        """For the kernel."""
        return self.folder / "work"

    def make(self) -> None:
        """Make the layers, empty, that are written."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder_like(f"{self.folder}/upper", self.target, at_least=self._least)
        os.mkdir(f"{self.folder}/work", 0o700)  # noqa: PTH102 - of a text, as all of a cell's many

    def fill(self, *, with_files: bool) -> None:
        """Place what is in the target: its folders, and its files and links if asked.

        Sockets, devices, other mounts and what cannot be read are left out.
        """
        self.place_folder(self.target)
        for folder, names, files in folders_below(self.target):
            own = self.placed / Path(folder).relative_to(self.target)
            links = [name for name in names if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114
            names[:] = [name for name in names if name not in links]
            for name in names:
                folder_like(f"{own}/{name}", f"{folder}/{name}", at_least=_OWNER)
            names[:] = [name for name in names if not os.path.ismount(f"{folder}/{name}")]
            for name in (*links, *files) if with_files else ():
                _copy(f"{folder}/{name}", f"{own}/{name}", at_least=0o600)

    def place(self, path: str, content: bytes, rights: Rights | None = None) -> None:
        """Let a path below the target have this content.

        Args:
            path: Of theirs, without links on the way.
            content: All of it.
            rights: None: those of what stands there, else those of a new file in its folder.
        """
        own = self._way_to(path)
        with suppress(FileNotFoundError):
            os.unlink(own)  # noqa: PTH108 - of a text
        with _new(own, rights or _rights(path), at_least=0) as file:
            file.write(content)

    def empty(self, path: str) -> Path:
        """Let a file below the target be empty; return where what is written to it goes.

        The layers are made.
        """
        own = Path(self._way_to(path, "upper"))
        own.unlink(missing_ok=True)
        with _new(str(own), _rights(path), at_least=stat.S_IWUSR if self.is_filled else 0):
            return own

    def place_folder(self, path: str) -> None:
        """Let there be a folder at a path below the target, as theirs if there is one."""
        self._way_to(f"{path}/.")

    def copy(self, entry: "os.DirEntry[str]") -> None:
        """Show a small file or a link of theirs, where nothing was placed."""
        _copy(entry.path, self._way_to(entry.path), most_bytes=_COPIED_BYTES)

    def _way_to(self, path: str, layer: str = "placed") -> str:
        """Make all folders to a path; return where it is in a layer."""
        folder, name = os.path.split(path)
        if (own := self._ways.get((layer, folder))) is None:
            own = self._ways[layer, folder] = self._made_way(layer, folder)
        return f"{own}/{name}"

    def _made_way(self, layer: str, to: str) -> str:
        own, theirs = f"{self.folder}/{layer}", self.target
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder_like(own, theirs, at_least=self._least)
        for name in PurePath(to).relative_to(theirs).parts:
            own, theirs = f"{own}/{name}", f"{theirs}/{name}"
            folder_like(own, theirs, at_least=self._least)
        return own


def folder_like(folder: str, original: str, *, at_least: int = 0) -> None:
    """Make a folder with the owner and the rights of another, and at least some of its own.

    Where there is no other, it is as root makes them.
    """
    with suppress(FileExistsError):
        os.mkdir(folder, 0o755)  # noqa: PTH102 - of a text
        found = _status(original)
        _give(folder, found)
        os.chmod(folder, (stat.S_IMODE(found.st_mode) if found else 0o755) | at_least)  # noqa: PTH101


def is_small(folder: str) -> bool:
    """Whether a folder with all that is in it is copied in a moment."""
    n_left, left_bytes = _FILLED_ENTRIES, _FILLED_BYTES
    for path, names, files in folders_below(folder):
        n_left -= len(names) + len(files)
        for name in files if n_left >= 0 else ():
            with suppress(OSError):
                left_bytes -= os.lstat(f"{path}/{name}").st_size
        if n_left < 0 or left_bytes < 0:
            return False
    return True


def _copy(path: str, own: str, *, at_least: int = 0, most_bytes: int = _FILLED_BYTES) -> None:
    """Copy a small file or a link, where nothing was placed."""
    # What cannot be read by us is not read by the copy either.
    with suppress(OSError), held(path, follow=False) as theirs:
        if os.path.lexists(own):
            return
        info = theirs.info()
        if stat.S_ISLNK(info.st_mode):
            os.symlink(os.readlink("", dir_fd=theirs.handle), own)  # noqa: PTH211 - of a text
            with suppress(OSError):
                os.chown(own, info.st_uid, info.st_gid, follow_symlinks=False)
        elif stat.S_ISREG(info.st_mode) and info.st_size <= most_bytes:
            with os.fdopen(theirs.opened(), "rb") as file:
                content = file.read(most_bytes)
            with _new(own, Rights.of(info), at_least=at_least) as copied:
                copied.write(content)
                copied.flush()
                os.utime(copied.fileno(), ns=(info.st_atime_ns, info.st_mtime_ns))


@contextmanager
def _new(own: str, rights: Rights, *, at_least: int) -> Iterator[BinaryIO]:
    """Give a new file to be written, which nobody else may read before it is whole."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(own, flags, 0o600), "wb") as file:
        yield file
        file.flush()
        # In a user namespace most owners are nobody that one can give to.
        with suppress(OSError):
            os.fchown(file.fileno(), rights.user_id, rights.group_id)
        os.fchmod(file.fileno(), rights.mode | at_least)


def _rights(path: str) -> Rights:
    """Return those of what stands at a path, else those of a file that its folder's owner makes."""
    if (found := _status(path)) is not None:
        return Rights.of(found)
    folder = _status(os.path.dirname(path))  # noqa: PTH120 - of a text
    return Rights(
        user_id=folder.st_uid if folder else 0, group_id=folder.st_gid if folder else 0, mode=0o644
    )


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - of a text
    except OSError:
        return None


def _give(path: str, found: os.stat_result | None) -> None:
    # In a user namespace most owners are nobody that one can give to.
    if found is not None:
        with suppress(OSError):
            os.chown(path, found.st_uid, found.st_gid)
