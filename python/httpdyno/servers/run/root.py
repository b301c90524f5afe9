"""The user's roots, on disk and in memory: where the folders of all its httpdyno are made.

Both stand where anybody may make folders, so one of our name may be somebody else's. It is neither
used nor looked into; another name is taken. Nor is one below a folder in which somebody else could
put another in its place: what a record in it names would be ended on his word.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.host.own_files import HeldError, is_own_folder, locked
from httpdyno.host.rights import outside_ids
from httpdyno.host.runnable import held
from httpdyno.reason import Reason, because

ROOT_VARIABLE = "HTTPDYNO_RUN_DIR"
MEMORY_VARIABLE = "HTTPDYNO_MEMORY_DIR"
LOCK = "lock"
"""In a root on disk, and in each run's folder in memory."""
_PATIENCE_S = 30.0
_DISK = Path("/var/tmp")  # noqa: S108 - roots are made in it with care, in `safe_root`
_MEMORY = Path("/dev/shm")  # noqa: S108 - likewise
_NAMES_TRIED = 4
_ROOM_BYTES = 64 << 10
"""A disk with less is full: a server's log, settings and temporary files do not fit any more."""
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def disk_root() -> Path:
    """Return this user's root for runs on disk, made if need be.

    Raises:
        AdapterError: It cannot be made, belongs to somebody else, or Apache's user cannot reach it.
    """
    candidates = _disk_roots()
    for root in candidates[:-1]:
        if is_own_folder(root) or not os.path.lexists(root):
            return safe_root(root)
    return safe_root(candidates[-1])


def memory_root_or(otherwise: Path) -> Path:
    """Return this user's RAM-backed root; the other one where none can be had."""
    memory = _memory()
    if not (memory.is_dir() and os.access(memory, os.W_OK | os.X_OK)):
        return otherwise
    for number in range(_NAMES_TRIED):
        # Anybody may have made a folder of our name here; that must not stop us.
        with suppress(AdapterError):
            return safe_root(memory / _root_name(number))
    return otherwise


def own_disk_roots() -> list[Path]:
    """Return the roots on disk that this user has, all that there may be runs in."""
    return [root for root in _disk_roots() if _is_own_alone(root)]


def own_memory_roots() -> list[Path]:
    """Return the same in memory."""
    memory = _memory()
    roots = [memory / _root_name(number) for number in range(_NAMES_TRIED)]
    return [root for root in roots if _is_own_alone(root)]


def own_runs(root: Path) -> list[Path]:
    """Return the owners' folders in a root; what is not this user's is not looked into."""
    return [folder for folder in sorted(root.glob("run-*")) if is_own_folder(folder)]


def has_runs() -> bool:
    """Whether this user has folders of runs, of living owners or not: to look at them is heavy."""
    roots = [*own_disk_roots(), *own_memory_roots()]
    return any(own_runs(root) or unfinished_runs(root) for root in roots)


def unfinished_runs(root: Path) -> list[Path]:
    """Return the folders that owners are about to make, or were killed as they made them."""
    return [folder for folder in sorted(root.glob(".run-*")) if is_own_folder(folder)]


def unfinished(folder: Path) -> Path:
    """Return what a run's folder is called until all is in it that says whose it is."""
    return folder.with_name(f".{folder.name}")


def drop_if_empty(folder: Path) -> None:
    """Remove a root that nothing is in any more."""
    with suppress(OSError):  # others' folders are in it, or it is gone with ours
        folder.rmdir()


@contextmanager
def locked_root(root: Path) -> Iterator[None]:
    """Hold the root's lock, so that making and reaping a run's folder never meet half done."""
    try:
        with locked(root / LOCK, patience_s=_PATIENCE_S):
            yield
    except HeldError as error:
        raise AdapterError(
            f"the run folder is in use: {error}",
            hint=f"Wait for it or end it, or set {ROOT_VARIABLE} to another folder.",
        ) from error
    except OSError as error:
        if error.filename != str(root / LOCK):
            raise
        raise AdapterError(
            f"the lock `{root / LOCK}` cannot be used: {reason(error)}",
            hint="Remove it.",
        ) from error


def safe_root(root: Path) -> Path:
    """Return a root, made if need be, that is this user's alone to write in.

    Raises:
        AdapterError: It cannot be made, belongs to somebody else, or Apache's user cannot reach it.
    """
    try:
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
        info = root.lstat()
        # Others can write where our roots are made: theirs must not pass for ours.
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            raise AdapterError(
                f"`{root}` is not a folder of this user",
                hint=f"Remove it, or set {ROOT_VARIABLE} to a folder of your own.",
            )
        if info.st_mode & _OTHERS_MAY_WRITE or info.st_mode & 0o755 != 0o755:  # noqa: PLR2004
            root.chmod(0o755)
        closed = [each for each in root.parents if not each.stat().st_mode & stat.S_IXOTH]
        theirs = _others_above(root)
    except (OSError, ValueError) as error:
        raise AdapterError(
            f"`{root}` cannot be used for runs: {error}",
            hint=f"Set {ROOT_VARIABLE} to a folder of your own.",
        ) from error
    if closed and os.geteuid() == 0:
        raise AdapterError(
            f"`{root}` cannot be reached by servers' users: `{closed[0]}` is closed to them",
            hint=f"Set {ROOT_VARIABLE} to a folder below one that all can enter.",
        )
    if theirs:
        raise AdapterError(
            f"`{root}` cannot be used for runs: others can replace what is in `{theirs[0]}`",
            hint=f"Set {ROOT_VARIABLE} to a folder below ones that only you or root can change.",
        )
    return root


def _is_own_alone(root: Path) -> bool:
    """Whether it is a root of this user's, in which nobody else can put anything."""
    try:
        is_ours = is_own_folder(root) and not root.lstat().st_mode & _OTHERS_MAY_WRITE
        return is_ours and not _others_above(root)
    except OSError:
        return False


def _others_above(root: Path) -> list[str]:
    """Return where somebody else can put another in a root's place."""
    trusted = {0, os.geteuid(), Path("/").stat().st_uid}
    with held(str(root)) as found:
        return [where for user, where in found.writers.items() if user not in trusted]


def _disk_roots() -> list[Path]:
    """Return where this user's root on disk is or may be, the first choice first."""
    chosen = os.environ.get(ROOT_VARIABLE, "")
    if not chosen:
        return [_DISK / _root_name(number) for number in range(_NAMES_TRIED)]
    root = Path(chosen).absolute()
    try:
        info = root.lstat()
    except (OSError, ValueError):
        return [root]
    # A folder for all, such as /tmp, stays as it is: ours is made in it.
    is_for_all = stat.S_ISDIR(info.st_mode) and bool(info.st_mode & stat.S_ISVTX)
    return [root / _root_name(number) for number in range(_NAMES_TRIED)] if is_for_all else [root]


def _memory() -> Path:
    """Return the RAM-backed folder that roots in memory are made in."""
    chosen = os.environ.get(MEMORY_VARIABLE, "")
    return Path(chosen).absolute() if chosen else _MEMORY


def _root_name(number: int = 0) -> str:
    return f"httpdyno-{outside_ids()[0]}" + (f"-{number}" if number else "")


def full_disk(*folders: Path) -> Reason | None:
    """Return which of these folders' disks is full; None when none is."""
    for folder in folders:
        free = os.statvfs(folder)
        # File systems without a bound say 0 of what there is in all.
        has_room = not free.f_blocks or free.f_bavail * free.f_frsize >= _ROOM_BYTES
        if not has_room or (free.f_files and not free.f_favail):
            return because("run.disk_full", folder=str(folder))
    return None
