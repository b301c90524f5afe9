"""The layers of a cell's overlays: folders of the place, with owners and rights as in theirs."""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_COPIED_BYTES = 1 << 20
"""A larger file beside the copy's own folder is not seen in the cell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layers:
    """What is put over one of their folders."""

    target: str
    """Their folder, without links on the way."""
    folder: Path
    """Where its layers are."""

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
        folder_like(self.upper, self.target)
        self.work.mkdir(mode=0o700)

    def place(self, path: str, content: bytes) -> None:
        """Let a path below the target have this content."""
        own = self._way_to(path)
        own.write_bytes(content)
        found = _status(path)
        if found is None:  # a new file, which its folder's owner may read
            own.chmod(0o644)
            found_folder = _status(os.path.dirname(path))  # noqa: PTH120 - of a text
            _give(own, found_folder)
        else:
            _give(own, found)
            own.chmod(stat.S_IMODE(found.st_mode))

    def place_folder(self, path: str) -> None:
        """Let there be a folder at a path below the target, as theirs if there is one."""
        self._way_to(f"{path}/.")

    def copy(self, entry: "os.DirEntry[str]") -> None:
        """Show a small file or a link of theirs, where nothing was placed."""
        if os.path.lexists(self.placed / Path(entry.path).relative_to(self.target)):
            return
        with suppress(OSError):  # what cannot be read by us is not read by the copy either
            if entry.is_symlink():
                self._way_to(entry.path).symlink_to(os.readlink(entry.path))  # noqa: PTH115
            elif entry.is_file() and entry.stat().st_size <= _COPIED_BYTES:
                self.place(entry.path, Path(entry.path).read_bytes())

    def _way_to(self, path: str) -> Path:
        """Make all folders to a path; return where it is in the layer."""
        own, theirs = self.placed, self.target
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder_like(own, theirs)
        relative = Path(path).relative_to(self.target)
        parents = relative.parts if path.endswith("/.") else relative.parts[:-1]
        for name in parents:
            own, theirs = own / name, f"{theirs}/{name}"
            folder_like(own, theirs)
        return self.placed / relative


def folder_like(folder: Path, original: str) -> None:
    """Make a folder with the owner and the rights of another; as root's where there is none."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o755)
        found = _status(original)
        _give(folder, found)
        folder.chmod(stat.S_IMODE(found.st_mode) if found else 0o755)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - of a text
    except OSError:
        return None


def _give(path: Path, found: os.stat_result | None) -> None:
    # In a user namespace most owners are nobody that one can give to.
    if found is not None:
        with suppress(OSError):
            os.chown(path, found.st_uid, found.st_gid)
