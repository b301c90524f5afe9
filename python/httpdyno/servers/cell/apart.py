"""A copy's own root: a clone of what this process sees, in which nothing of the kernel's leads out.

Everything happens in namespaces that this process has made for itself. The clone has the host's
mounts, without devices and without programs that give rights, and where the kernel can do it with
their owners mapped: what belongs to root there belongs, outside, to nobody. The host's own tree is
let go, so that no way leads back to it. Standard library only: the holder imports this.

Source:
    mount_setattr(2) and Linux, Documentation/filesystems/idmappings.rst; pivot_root(2), whose
    notes have the way without a folder for the old root.
"""

import ctypes
import errno
import os
import struct

from httpdyno.servers.becoming import NOBODY
from httpdyno.servers.cell import mount

_MOST_IDS = NOBODY - 1
_LEFT_OUT = (
    *("proc", "devpts", "devtmpfs", "mqueue", "autofs", "nsfs", "binfmt_misc", "rpc_pipefs"),
    *("debugfs", "tracefs", "securityfs", "bpf", "configfs", "fusectl", "pstore", "efivarfs"),
)
"""Kinds of file systems through which the kernel is set or looked into, and those made anew."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
_DEV, _PROC = "/dev", "/proc"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - theirs, of which a copy sees its own folder alone

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
"""The same numbers on all machines."""
_HERE, _EMPTY_PATH, _RECURSIVE = -100, 0x1000, 0x8000
_CLONE, _CLONE_CLOEXEC = 1, 0o2000000
_FROM_EMPTY_PATH = 4
_NO_SETUID, _NO_DEVICES, _NO_PROGRAMS, _MAPPED = 2, 4, 8, 0x10_0000

_PR_SET_KEEPCAPS, _CAPABILITIES_3 = 8, 0x2008_0522

_libc = ctypes.CDLL(None, use_errno=True)


def owners() -> int:
    """Return a user namespace, open, in which root is `NOBODY` and everybody else himself.

    Raises:
        OSError: None can be had.
    """
    is_in, goes_in = os.pipe()
    may_end, ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(goes_in, _gone_into_users())
        os.close(ends)
        os.read(may_end, 1)
        os._exit(0)
    try:
        said = os.read(is_in, 1)
        if said != b"y":
            number = said[0] if said else errno.EAGAIN
            raise OSError(number, os.strerror(number), "make a user namespace")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{pid}/{name}", "wb", buffering=0) as file:  # noqa: PTH123
                file.write(b"0 %d 1\n1 1 %d\n" % (NOBODY, _MOST_IDS))
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for handle in (is_in, goes_in, may_end, ends):
            os.close(handle)
        os.waitpid(pid, 0)


def _gone_into_users() -> bytes:
    """Go into a user namespace; return `y`, or the number of the error."""
    # Who is in a chroot gets none: it must be left, in mounts of this process's own.
    own = _libc.unshare(mount.CLONE_NEWNS) or os.open(f"{_PROC}/self/ns/mnt", os.O_RDONLY)
    went = _libc.setns(own, mount.CLONE_NEWNS) or _libc.unshare(mount.CLONE_NEWUSER)
    return b"y" if went == 0 else bytes([ctypes.get_errno()])


def owners_of_root() -> int:
    """Return `owners`, where what is at the root can be seen by them.

    Raises:
        OSError: None can be had, or the file system there knows no other owners than its own.
    """
    users = owners()
    try:
        tree = _cloned("/")
        try:
            _set(tree, _MAPPED, users)
        finally:
            os.close(tree)
    except OSError as error:
        os.close(users)
        kind = mount.mounted().get("/", "this file system")
        what = f"show owners of {kind} at / as others"
        raise OSError(error.errno, error.strerror, what) from error
    return users


def move_into_clone(at: str, users: int | None, *, as_one: bool = False) -> list[str]:
    """Make a clone of what this process sees its root, and let go of all else.

    This process is the first of its namespace of processes, and has one of mounts to itself.

    Args:
        at: Any folder: the clone is there for a moment.
        users: The user namespace whose mapping its owners are seen by; None: they are as they are.
        as_one: Whether all mounts are cloned together, file systems of the kernel's too: who made
            his namespaces without being root may not take them apart.

    Returns:
        In words, what is in the clone otherwise than it was to be.

    Raises:
        OSError: It cannot be made.
    """
    notices: list[str] = []
    trees = _whole_tree() if as_one else _trees(users, notices)
    devices = {
        name: _cloned(f"{_DEV}/{name}")
        for name in _DEVICES
        if os.path.exists(f"{_DEV}/{name}")  # noqa: PTH110
    }
    memory = _memory(users)
    own = os.open(f"{_PROC}/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    for point, tree in trees.items():
        try:
            _moved(tree, at if point == "/" else f"{at}{point}")
        except FileNotFoundError:
            notices.append(f"without {point}")
    _make_devices(f"{at}{_DEV}", devices)
    if memory is not None:
        trees[_SHARED_MEMORY] = memory
        _moved(memory, f"{at}{_SHARED_MEMORY}")
    mount.file_system("proc", f"{at}{_PROC}", _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS, "")
    for handle in (*trees.values(), *devices.values()):
        os.close(handle)
    _pivot(at, own)
    return notices


def become_nobody() -> None:
    """Be root of the copy, with the rights that make it: who owns what is made in layers is asked.

    Raises:
        OSError: It may not.
    """
    _libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    head = struct.pack("=Ii", _CAPABILITIES_3, 0)
    rights = ctypes.create_string_buffer(24)
    mount.checked(_libc.capget(head, rights), "read its rights")
    _, low, _, _, high, _ = struct.unpack("=6I", rights.raw)
    wanted = struct.pack("=6I", low, low, 0, high, high, 0)
    mount.checked(_libc.capset(head, wanted), "keep its rights")


def _whole_tree() -> dict[str, int]:
    tree = _cloned("/", _RECURSIVE)
    _set(tree, _NO_SETUID | _NO_DEVICES, None, _RECURSIVE)
    return {"/": tree}


def _trees(users: int | None, notices: list[str]) -> dict[str, int]:
    """Clone each mount that a copy may see; return them by their points, outer ones first."""
    trees: dict[str, int] = {}
    for point, kind in sorted({**mount.mounted(), "/": ""}.items()):
        is_kernels = kind in _LEFT_OUT or _is_in(point, _DEV) or _is_in(point, _PROC)
        if is_kernels:
            continue
        try:
            trees[point] = _cloned(point)
        except FileNotFoundError:  # something is mounted over the way there
            continue
        except OSError as error:
            notices.append(f"without {point} ({error.strerror})")
            continue
        flags = _NO_SETUID | _NO_DEVICES
        try:
            _set(trees[point], flags | (0 if users is None else _MAPPED), users)
        except OSError as error:
            if users is None or point == "/":
                raise
            _set(trees[point], flags, None)
            if not _is_in(point, "/sys"):
                notices.append(f"{point} with owners as they are ({error.strerror})")
    return trees


def _memory(users: int | None) -> int | None:
    """Clone what is kept in memory: a copy has a folder there."""
    if not os.path.isdir(_SHARED_MEMORY):  # noqa: PTH112
        return None
    tree = _cloned(_SHARED_MEMORY)
    _set(tree, _NO_SETUID | _NO_DEVICES | (0 if users is None else _MAPPED), users)
    return tree


def _make_devices(at: str, devices: dict[str, int]) -> None:
    """Mount a folder of the few devices that every program may use, and terminals of its own."""
    mount.file_system("tmpfs", at, _NO_SETUID, "mode=755,size=64k")
    for name, tree in devices.items():
        os.close(os.open(f"{at}/{name}", os.O_CREAT | os.O_WRONLY, 0o644))
        _set(tree, _NO_SETUID, None)
        _moved(tree, f"{at}/{name}")
    for name, to in _LINKS.items():
        os.symlink(to, f"{at}/{name}")  # noqa: PTH211 - pathlib takes longer to import
    for name in ("pts", "shm"):
        os.mkdir(f"{at}/{name}")  # noqa: PTH102 - likewise
    mount.file_system("devpts", f"{at}/pts", _NO_SETUID | _NO_PROGRAMS, "newinstance,ptmxmode=0666")


def _pivot(at: str, own: int) -> None:
    """Make a mount the root of this namespace, and let the old one go."""
    root = os.open(at, os.O_PATH | os.O_CLOEXEC)
    # Who is in a chroot is not at the namespace's root, which alone can be given up.
    mount.checked(_libc.setns(own, mount.CLONE_NEWNS), "go to the root of its mounts")
    os.close(own)
    os.fchdir(root)
    os.close(root)
    mount.checked(_libc.pivot_root(b".", b"."), "change its root")
    mount.checked(_libc.umount2(b".", mount.DETACH), "let the old root go")
    os.chdir("/")


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _cloned(path: str, more: int = 0) -> int:
    flags = _CLONE | _CLONE_CLOEXEC | more
    tree = int(_libc.syscall(_OPEN_TREE, _HERE, os.fsencode(path), flags))
    mount.checked(min(tree, 0), f"clone {path}")
    return tree


def _set(tree: int, flags: int, users: int | None, more: int = 0) -> None:
    wanted = struct.pack("=QQQQ", flags, 0, 0, users or 0)
    done = _libc.syscall(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH | more, wanted, len(wanted))
    mount.checked(done, "keep devices and rights out of its mounts")


def _moved(tree: int, to: str) -> None:
    done = _libc.syscall(_MOVE_MOUNT, tree, b"", _HERE, os.fsencode(to), _FROM_EMPTY_PATH)
    mount.checked(done, f"mount {to}")
