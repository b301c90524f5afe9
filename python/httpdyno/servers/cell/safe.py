"""Whether a folder of theirs may be seen as it is: found by looking, and in doubt it may not.

A read-only mount keeps nobody from connecting to a socket in it, or from writing into a FIFO. So
there must be none, and nobody but root may be able to make one.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path, PurePosixPath

_MOST_ENTRIES, _MOST_FOLDERS = 4096, 256
"""A look at so many takes about as long as a mount more; of larger ones nothing is known."""
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_RULES = ("system.posix_acl_access", "system.posix_acl_default")


def is_safe(folder: str) -> bool:
    """Whether only root can make anything in a folder, below it or on the way to it.

    And whether nothing is there but files, folders and links.
    """
    if not all(_is_roots(str(each)) for each in (*PurePosixPath(folder).parents, folder)):
        return False
    waiting, n_folders, n_left = [folder], 0, _MOST_ENTRIES
    try:
        while waiting:
            n_folders += 1
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    n_left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        if not _is_roots(entry.path):
                            return False
                        waiting.append(entry.path)
                    elif not (entry.is_file(follow_symlinks=False) or entry.is_symlink()):
                        return False
                    if n_left < 0 or n_folders > _MOST_FOLDERS:
                        return False
    except OSError:
        return False
    return True


def give_rules(folder: str, layer: Path) -> None:
    """Give a layer the access rules of the folder that it is put over, beyond owner and mode."""
    for name in _RULES:
        with suppress(OSError):  # most have none, and some file systems know none
            os.setxattr(layer, name, os.getxattr(folder, name))


def _is_roots(folder: str) -> bool:
    """Whether root alone may write in a folder."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    if found.st_uid != 0 or found.st_mode & _OTHERS_MAY_WRITE or not stat.S_ISDIR(found.st_mode):
        return False
    try:
        os.getxattr(folder, _RULES[0])
    except OSError:
        return True
    return False
