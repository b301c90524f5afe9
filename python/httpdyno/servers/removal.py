"""Removing what a server wrote, whatever it wrote and whoever is still at it.

A server may leave folders deeper than any path, closed ones, links that lead elsewhere, and its
user may go on writing. So nothing is followed and nothing recurses: the top is closed to everybody
else, and each folder is closed, moved up to the top and emptied there. Only two are ever open.
"""

import os
from contextlib import suppress
from pathlib import Path

_HOLD = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def remove_tree(folder: Path, *, last: str = "") -> None:
    """Remove a folder with all that is in it; a link is removed, never followed.

    Args:
        folder: What to remove.
        last: A file in it that stays until all the rest is gone: the lock that says whose it is.

    Raises:
        FileNotFoundError: It is not there.
        OSError: Something in it cannot be removed.
    """
    top = _taken(folder)
    try:
        # Nobody else can put anything into it any more, so this ends.
        while names := os.listdir(top):  # noqa: PTH208 - by descriptor
            for name in [name for name in names if name != last] or names:
                if not _is_unlinked(name, top):
                    _remove_folder(name, top)
    finally:
        os.close(top)
    folder.rmdir()


def removal_complaint(folder: Path, *, last: str = "") -> str:
    """Remove the folder as `remove_tree`; return what was wrong, empty when it is gone."""
    try:
        remove_tree(folder, last=last)
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"`{folder}` cannot be removed: {error}"
    return ""


def _remove_folder(name: str, top: int) -> None:
    """Remove a folder of the top; those in it come up to the top instead."""
    handle = _taken(name, top)
    try:
        for each in os.listdir(handle):  # noqa: PTH208
            if not _is_unlinked(each, handle):
                # Without being root, moving a folder needs the right to write in it.
                os.close(_taken(each, handle))
                new = f".removed-{os.urandom(8).hex()}"
                os.rename(each, new, src_dir_fd=handle, dst_dir_fd=top)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=top)


def _taken(name: str | Path, parent: int | None = None) -> int:
    """Open a folder, and close it to the server's user: he cannot put anything into it any more."""
    held = os.open(name, _HOLD, dir_fd=parent)
    try:
        # What is held cannot be replaced any more, and is reached by no other path than this.
        path = f"/proc/self/fd/{held}"
        if os.geteuid() == 0:
            os.chown(path, 0, 0)
        os.chmod(path, 0o700)  # noqa: PTH101
        return os.open(path, _READ)
    finally:
        os.close(held)


def _is_unlinked(name: str, parent: int) -> bool:
    """Remove what is no folder; return whether it was none."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except (IsADirectoryError, PermissionError):
        # Some file systems say the latter of a folder, so it is looked at which one it is.
        if _is_folder(name, parent):
            return False
        raise
    return True


def _is_folder(name: str, parent: int) -> bool:
    with suppress(OSError):
        os.close(os.open(name, _HOLD, dir_fd=parent))
        return True
    return False
