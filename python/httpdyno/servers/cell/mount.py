"""Mounts of a cell's own, by system calls. Standard library only: the holder imports this.

Everything happens in a mount namespace that this process has made for itself, so nothing of it is
seen outside.
"""

import ctypes
import os
from _collections_abc import Sequence

CLONE_NEWNS = 0x0002_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000
DETACH = 2

_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
_REMOUNT, _BIND, _REC, _PRIVATE = 1 << 5, 1 << 12, 1 << 14, 1 << 18
_NOATIME, _NODIRATIME, _RELATIME = 1 << 10, 1 << 11, 1 << 21
_STAT_RELATIME = 1 << 12
"""What `statvfs` calls relatime; it has the other flags as `mount` does."""
_SAME = _NOSUID | _NODEV | _NOEXEC | _NOATIME | _NODIRATIME
_LIVING = ("/proc", "/sys", "/dev")
"""What the kernel shows here is no file of theirs; these get rules of their own."""
_KERNEL_SETTINGS = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
_KERNEL_SECRETS = ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug")
"""What tells of the whole machine's memory, keys and processes."""

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(kinds: int) -> None:
    """Go into new namespaces of these kinds.

    Raises:
        OSError: They cannot be had.
    """
    checked(_libc.unshare(kinds), "make namespaces")


def keep_private() -> None:
    """Let no mount made from now on be seen outside, nor the other way round."""
    _mount(("none", "/"), _REC | _PRIVATE, "make its mounts private")


def bind(source: str, target: str, *, is_read_only: bool) -> None:
    """Let a path show another one, which may be read-only by itself.

    Raises:
        OSError: It cannot be mounted.
    """
    what = f"bind {target}"
    _mount((source, target), _BIND, what)
    if is_read_only:
        _set(target, _RDONLY, what)


def overlay(target: str, lowers: Sequence[str], upper: str, work: str, *, options: str) -> None:
    """Put layers over a folder, the first on top; what is written goes to the upper one.

    Args:
        target: The folder.
        lowers: Layers that are only read.
        upper: The layer that is written; empty for none, then nothing can be written.
        work: An empty folder beside it, for the kernel.
        options: More of its options.

    Raises:
        OSError: It cannot be mounted.
    """
    data = ["lowerdir=" + ":".join(lowers)]
    data += [f"upperdir={upper}", f"workdir={work}"] if upper else []
    data += [options] if options else []
    # The rights of what it covers stay: a file system without devices gets none.
    flags = os.statvfs(target).f_flag & (_NOSUID | _NODEV | _NOEXEC)
    flags |= 0 if upper else _RDONLY
    what = f"mount an overlay on {target}"
    _mount(("overlay", target), flags, what, kind="overlay", data=",".join(data))


def freeze(kept: Sequence[str]) -> list[str]:
    """Make all mounts read-only but these and the kernel's own; return those that refuse."""
    refused = []
    for point in mount_points():
        if point in kept or any(_is_in(point, top) for top in _LIVING):
            continue
        try:
            _set(point, _RDONLY, f"make {point} read-only")
        except FileNotFoundError:  # something is mounted over the way there
            continue
        except OSError as error:
            refused.append(f"{point} ({error.strerror})")
    return refused


def freeze_kernel() -> list[str]:
    """Make the kernel's settings read-only; return those that refuse.

    Those of the network are the cell's own, and have to be set before.
    """
    refused = []
    for path in (*_KERNEL_SETTINGS, *(p for p in mount_points() if _is_in(p, "/sys"))):
        try:
            if path.startswith("/proc"):
                bind(path, path, is_read_only=True)
            else:
                _set(path, _RDONLY, f"make {path} read-only")
        except FileNotFoundError:
            continue
        except OSError as error:
            refused.append(f"{path} ({error.strerror})")
    for path in _KERNEL_SECRETS:
        if os.path.exists(path):  # noqa: PTH110
            bind("/dev/null", path, is_read_only=True)
    return refused


def mount_points() -> list[str]:
    """Return where something is mounted, in the order that it was."""
    return list(mounted())


def mounted() -> dict[str, str]:
    """Return the kinds of file systems by where they are mounted, as far as this process sees."""
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123 - pathlib takes longer to import
        lines = file.read().splitlines()
    found = {}
    for line in lines:
        left, _, right = line.partition(b" - ")
        found[unescaped(left.split()[4])] = os.fsdecode(right.split()[0])
    return found


def file_system(kind: str, target: str, flags: int, data: str) -> None:
    """Mount a new file system of the kernel's own.

    Raises:
        OSError: It cannot be mounted.
    """
    _mount((kind, target), flags, f"mount {kind}", kind=kind, data=data)


def unescaped(field: bytes) -> str:
    r"""Return a path as `mountinfo` writes it: `\040` is a space."""
    first, *others = field.split(b"\\")
    pieces = [first, *(bytes([int(each[:3], 8)]) + each[3:] for each in others)]
    return os.fsdecode(b"".join(pieces))


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _set(target: str, flags: int, what: str) -> None:
    """Set whether a mount can be written, and leave all else of it as it is."""
    found = os.statvfs(target).f_flag
    flags |= (found & _SAME) | (_RELATIME if found & _STAT_RELATIME else 0)
    _mount(("none", target), _REMOUNT | _BIND | flags, what)


def _mount(
    paths: tuple[str, str], flags: int, what: str, *, kind: str = "", data: str = ""
) -> None:
    source, target, kind_, data_ = (os.fsencode(text) for text in (*paths, kind, data))
    checked(_libc.mount(source, target, kind_, ctypes.c_ulong(flags), data_), what)


def checked(result: int, what: str) -> None:
    """Raise what the last call of the C library failed with, where it did.

    Raises:
        OSError: It did; its file name is what could not be done.
    """
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
