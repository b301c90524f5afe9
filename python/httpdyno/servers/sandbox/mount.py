"""Mounts of a sandbox's own, and its own root. Standard library only: the holder imports this.

Everything happens in namespaces that this process has made for itself, so nothing of it is seen
outside. The root is a clone of what this process sees, in which nothing of the kernel's leads out:
the host's mounts, without devices and without programs that give rights, and where the kernel can
do it with their owners mapped, so that what belongs to root there belongs, outside, to nobody. The
host's own tree is let go: no way leads back to it.

Source:
    mount_setattr(2) and Linux, Documentation/filesystems/idmappings.rst; pivot_root(2), whose
    notes have the way without a folder for the old root.
"""

import ctypes
import errno
import os
import struct
from _collections_abc import Sequence

from httpdyno.servers.becoming import NOBODY

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

Step = tuple[str] | tuple[str, str]
"""What is done, in words that `_` joins, and to what."""
SHOW_OWNERS = "show_owners"

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(kinds: int) -> None:
    """Go into new namespaces of these kinds.

    Raises:
        OSError: They cannot be had.
    """
    checked(_libc.unshare(kinds), "make_namespaces")


def keep_private() -> None:
    """Let no mount made from now on be seen outside, nor the other way round."""
    _mount(("none", "/"), _REC | _PRIVATE, ("make_its_mounts_private",))


def bind(source: str, target: str, *, is_read_only: bool) -> None:
    """Let a path show another one, which may be read-only by itself.

    Raises:
        OSError: It cannot be mounted.
    """
    what = ("bind", target)
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
    what = ("mount_an_overlay_on", target)
    _mount(("overlay", target), flags, what, kind="overlay", data=",".join(data))


def freeze(kept: Sequence[str]) -> None:
    """Make all mounts read-only but these and the kernel's own, as far as they let that be done."""
    for point in mount_points():
        if point in kept or any(_is_in(point, top) for top in _LIVING):
            continue
        try:
            _set(point, _RDONLY, ("freeze", point))
        except OSError:  # something is mounted over the way there, or it refuses
            continue


def freeze_kernel() -> None:
    """Make the kernel's settings read-only, as far as they let that be done.

    Those of the network are the cell's own, and have to be set before.
    """
    for path in (*_KERNEL_SETTINGS, *(p for p in mount_points() if _is_in(p, "/sys"))):
        try:
            if path.startswith("/proc"):
                bind(path, path, is_read_only=True)
            else:
                _set(path, _RDONLY, ("freeze", path))
        except OSError:
            continue
    for path in _KERNEL_SECRETS:
        if os.path.exists(path):  # noqa: PTH110
            bind("/dev/null", path, is_read_only=True)


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
    _mount((kind, target), flags, ("mount", kind), kind=kind, data=data)


def unescaped(field: bytes) -> str:
    r"""Return a path as `mountinfo` writes it: `\040` is a space."""
    first, *others = field.split(b"\\")
    pieces = [first, *(bytes([int(each[:3], 8)]) + each[3:] for each in others)]
    return os.fsdecode(b"".join(pieces))


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _set(target: str, flags: int, what: Step) -> None:
    """Set whether a mount can be written, and leave all else of it as it is."""
    found = os.statvfs(target).f_flag
    flags |= (found & _SAME) | (_RELATIME if found & _STAT_RELATIME else 0)
    _mount(("none", target), _REMOUNT | _BIND | flags, what)


def _mount(
    paths: tuple[str, str], flags: int, what: Step, *, kind: str = "", data: str = ""
) -> None:
    source, target, kind_, data_ = (os.fsencode(text) for text in (*paths, kind, data))
    checked(_libc.mount(source, target, kind_, ctypes.c_ulong(flags), data_), *what)


def checked(result: int, step: str, at: str | None = None) -> None:
    """Raise what the last call of the C library failed with, where it did.

    Raises:
        OSError: It did; its file names are the step that failed, and what it was for.
    """
    if result != 0:
        raise failed(ctypes.get_errno(), step, at)


def failed(number: int, step: str, at: str | None = None) -> OSError:
    """Return the error of a step that the kernel refused."""
    return OSError(number, os.strerror(number), step, None, at)


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
            raise failed(number, "make_a_user_namespace")
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
    own = _libc.unshare(CLONE_NEWNS) or os.open(f"{_PROC}/self/ns/mnt", os.O_RDONLY)
    went = _libc.setns(own, CLONE_NEWNS) or _libc.unshare(CLONE_NEWUSER)
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
            _set_mount(tree, _MAPPED, users)
        finally:
            os.close(tree)
    except OSError as error:
        os.close(users)
        kind = mounted().get("/")
        raise failed(error.errno or 0, SHOW_OWNERS, kind) from error
    return users


def move_into_clone(at: str, users: int | None, *, as_one: bool = False) -> None:
    """Make a clone of what this process sees its root, and let go of all else.

    This process is the first of its namespace of processes, and has one of mounts to itself.

    Args:
        at: Any folder: the clone is there for a moment.
        users: The user namespace whose mapping its owners are seen by; None: they are as they are.
        as_one: Whether all mounts are cloned together, file systems of the kernel's too: who made
            his namespaces without being root may not take them apart.

    Raises:
        OSError: It cannot be made.
    """
    trees = _whole_tree() if as_one else _trees(users)
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
            continue
    _make_devices(f"{at}{_DEV}", devices)
    if memory is not None:
        trees[_SHARED_MEMORY] = memory
        _moved(memory, f"{at}{_SHARED_MEMORY}")
    file_system("proc", f"{at}{_PROC}", _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS, "")
    for handle in (*trees.values(), *devices.values()):
        os.close(handle)
    _pivot(at, own)


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
    checked(_libc.capget(head, rights), "read_its_rights")
    _, low, _, _, high, _ = struct.unpack("=6I", rights.raw)
    wanted = struct.pack("=6I", low, low, 0, high, high, 0)
    checked(_libc.capset(head, wanted), "keep_its_rights")


def _whole_tree() -> dict[str, int]:
    tree = _cloned("/", _RECURSIVE)
    _set_mount(tree, _NO_SETUID | _NO_DEVICES, None, _RECURSIVE)
    return {"/": tree}


def _trees(users: int | None) -> dict[str, int]:
    """Clone each mount that a copy may see, and that lets itself be cloned.

    Returns:
        By their points, outer ones first.
    """
    trees: dict[str, int] = {}
    for point, kind in sorted({**mounted(), "/": ""}.items()):
        is_kernels = kind in _LEFT_OUT or _is_in(point, _DEV) or _is_in(point, _PROC)
        if is_kernels:
            continue
        try:
            trees[point] = _cloned(point)
        except OSError:  # something is mounted over the way there, or it refuses
            continue
        flags = _NO_SETUID | _NO_DEVICES
        try:
            _set_mount(trees[point], flags | (0 if users is None else _MAPPED), users)
        except OSError:
            if users is None or point == "/":
                raise
            _set_mount(trees[point], flags, None)
    return trees


def _memory(users: int | None) -> int | None:
    """Clone what is kept in memory: a copy has a folder there."""
    if not os.path.isdir(_SHARED_MEMORY):  # noqa: PTH112
        return None
    tree = _cloned(_SHARED_MEMORY)
    _set_mount(tree, _NO_SETUID | _NO_DEVICES | (0 if users is None else _MAPPED), users)
    return tree


def _make_devices(at: str, devices: dict[str, int]) -> None:
    """Mount a folder of the few devices that every program may use, and terminals of its own."""
    file_system("tmpfs", at, _NO_SETUID, "mode=755,size=64k")
    for name, tree in devices.items():
        os.close(os.open(f"{at}/{name}", os.O_CREAT | os.O_WRONLY, 0o644))
        _set_mount(tree, _NO_SETUID, None)
        _moved(tree, f"{at}/{name}")
    for name, to in _LINKS.items():
        os.symlink(to, f"{at}/{name}")  # noqa: PTH211 - pathlib takes longer to import
    for name in ("pts", "shm"):
        os.mkdir(f"{at}/{name}")  # noqa: PTH102 - likewise
    file_system("devpts", f"{at}/pts", _NO_SETUID | _NO_PROGRAMS, "newinstance,ptmxmode=0666")


def _pivot(at: str, own: int) -> None:
    """Make a mount the root of this namespace, and let the old one go."""
    root = os.open(at, os.O_PATH | os.O_CLOEXEC)
    # Who is in a chroot is not at the namespace's root, which alone can be given up.
    checked(_libc.setns(own, CLONE_NEWNS), "go_to_the_root_of_its_mounts")
    os.close(own)
    os.fchdir(root)
    os.close(root)
    checked(_libc.pivot_root(b".", b"."), "change_its_root")
    checked(_libc.umount2(b".", DETACH), "let_the_old_root_go")
    os.chdir("/")


def _cloned(path: str, more: int = 0) -> int:
    flags = _CLONE | _CLONE_CLOEXEC | more
    tree = int(_libc.syscall(_OPEN_TREE, _HERE, os.fsencode(path), flags))
    checked(min(tree, 0), "clone", path)
    return tree


def _set_mount(tree: int, flags: int, users: int | None, more: int = 0) -> None:
    wanted = struct.pack("=QQQQ", flags, 0, 0, users or 0)
    done = _libc.syscall(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH | more, wanted, len(wanted))
    checked(done, "keep_devices_and_rights_out_of_its_mounts")


def _moved(tree: int, to: str) -> None:
    done = _libc.syscall(_MOVE_MOUNT, tree, b"", _HERE, os.fsencode(to), _FROM_EMPTY_PATH)
    checked(done, "mount", to)
