"""The program that makes a sandbox of namespaces and holds it, until its last server has ended.

A keeper runs it in the process that it forked, so with the standard library only. It does the steps
in a file and waits for its end. To a FIFO it says `made`, of what kind and what it lacks, or
`no` and why.

A sandbox that is apart has processes, a root and, where that can be, a root user of its own. Its
first process is a child of the holder's: it makes the sandbox, takes what others leave in it, and
all of it ends with it. Outside of it the holder keeps the way in.

The network is its own too: every address is here, and none leads out. Its loopback takes all
addresses of both families, so that a server listens at its own, clients come from theirs, and a
connection to anything outside is refused at once. The kernel's settings are as on the host: a new
namespace starts with the kernel's defaults, not with what the host has.
"""

import _signal as signal
import ctypes
import errno
import os
import select
import struct
from _collections_abc import Callable, Iterable

from httpdyno.servers.sandbox import mount

Step = tuple[str, ...]
"""A verb and what it is about.

- `keep PATH`: stays writable, under its own path.
- `hold NAME PATH`: what is there now is later named `@NAME`, whatever is mounted over it.
- `seek NAME PATH`: the same, but where it is gone by now, what is to be done with it is not.
- `freeze`: all else becomes read-only.
- `overlay TARGET UPPER WORK LOWER…`: layers over a folder; UPPER may be empty.
- `attempt TARGET UPPER WORK LOWER…`: the same if the kernel takes it, and else an empty folder.
- `bind SOURCE TARGET`, `mask TARGET`: another one, or an empty file, in place of a path.
- `unlink PATH`: as if it had not been there.
- `sysctl NAME VALUE`: of the cell's own network.
- `forbid`: the kernel's settings become read-only.
"""


def packed(steps: Iterable[Step]) -> bytes:
    """Return steps as bytes; no field may hold a NUL."""
    fields: list[str] = []
    for step in steps:
        fields += [str(len(step)), *step]
    return b"\0".join(os.fsencode(field) for field in fields)


def unpacked(content: bytes) -> list[Step]:
    """Return the steps of what `packed` gave."""
    fields = iter([os.fsdecode(field) for field in content.split(b"\0")] if content else [])
    steps = []
    for n in fields:
        steps.append(tuple(next(fields) for _ in range(int(n))))
    return steps


_NETLINK, _RAW, _CLOSE_ON_EXEC = 16, 3, 0o2000000
_ANY_FAMILY, _IPV4, _IPV6 = 0, 2, 10
_LO = 1
"""The loopback is the first interface of every namespace."""
_NEWLINK, _NEWROUTE, _ERROR = 16, 24, 2
_REQUEST, _ACK, _EXCL, _CREATE = 1, 4, 0x200, 0x400
_UP = 1
_TABLE_LOCAL, _PROTOCOL_BOOT, _SCOPE_HOST, _TYPE_LOCAL = 255, 3, 254, 2
_OIF = 4
_HEADER = struct.Struct("=IHHII")
_SETTINGS = "/proc/sys/net"
_FOLDERS = ("core", "ipv4", "ipv6", "unix")
"""What is directly in there; interfaces, neighbours and filters are each namespace's own."""
_NEVER = ("tcp_fastopen_key",)
_NO_IPV6 = (errno.EAFNOSUPPORT, errno.EOPNOTSUPP, errno.ENODEV, errno.EACCES)
_SET_UP = "set_up_its_loopback"
PORT_START = "net.ipv4.ip_unprivileged_port_start"


def open_loopback() -> None:
    """Let the loopback take every address.

    Raises:
        OSError: It cannot be set up.
    """
    # By system calls: importing `socket` takes longer than all that is done with it here.
    libc = ctypes.CDLL(None, use_errno=True)
    link = libc.socket(_NETLINK, _RAW | _CLOSE_ON_EXEC, 0)
    if link < 0:
        raise mount.failed(ctypes.get_errno(), _SET_UP)
    try:
        _ask(link, _NEWLINK, 0, struct.pack("=BxHiII", _ANY_FAMILY, 0, _LO, _UP, _UP))
        _ask(link, _NEWROUTE, _CREATE | _EXCL, _all_local(_IPV4))
        try:
            _ask(link, _NEWROUTE, _CREATE | _EXCL, _all_local(_IPV6))
        except OSError as error:
            # A kernel without it, or with it switched off, can listen at no such address either.
            if error.errno not in _NO_IPV6:
                raise
    finally:
        os.close(link)


def settings() -> dict[str, str]:
    """Return the kernel's network settings: name with dots → text."""
    found = {}
    for folder in _FOLDERS:
        try:
            names = os.listdir(f"{_SETTINGS}/{folder}")  # noqa: PTH208 - a folder of the kernel
        except OSError:
            continue
        for name in names:
            text = _read(f"{_SETTINGS}/{folder}/{name}")
            if text is not None and name not in _NEVER:
                found[f"net.{folder}.{name}"] = text
    return found


def adopt(wanted: dict[str, str]) -> None:
    """Set what differs, as far as the kernel takes it."""
    own = settings()
    for name, text in wanted.items():
        # What is not there is not a namespace's own: the host's is in force.
        if name in own and own[name] != text:
            try:
                put(name, text)
            except OSError:
                continue


def put(name: str, text: str) -> None:
    """Set one.

    Raises:
        OSError: There is none, or it does not take that.
    """
    path = "/proc/sys/" + name.replace("/", "\0").replace(".", "/").replace("\0", ".")
    handle = os.open(path, os.O_WRONLY)
    try:
        os.write(handle, f"{text}\n".encode())
    finally:
        os.close(handle)


def _all_local(family: int) -> bytes:
    route = struct.pack(
        "=BBBBBBBBI",
        *(family, 0, 0, 0, _TABLE_LOCAL, _PROTOCOL_BOOT, _SCOPE_HOST, _TYPE_LOCAL, 0),
    )
    return route + struct.pack("=HHi", 8, _OIF, _LO)


def _ask(link: int, kind: int, flags: int, body: bytes) -> None:
    flags |= _REQUEST | _ACK
    os.write(link, _HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body)
    answer = os.read(link, 4096)
    _, answered, *_ = _HEADER.unpack_from(answer)
    (code,) = struct.unpack_from("=i", answer, _HEADER.size)
    if answered != _ERROR or code != 0:
        raise mount.failed(-code, _SET_UP)


def _read(path: str) -> str | None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return os.read(handle, 4096).decode(errors="replace").strip()
    except OSError:  # a folder, or a setting that is only written
        return None
    finally:
        os.close(handle)


APART, BY_USER = "apart", "by-user"
"""Options: processes and a root of its own; made by who is not root of the machine."""
USERS = 9
"""The number of the open user namespace of a cell whose root is nobody outside."""
OWN_USERS = "users"
NAMESPACES = mount.CLONE_NEWNS | mount.CLONE_NEWNET | mount.CLONE_NEWIPC
_EMPTY = "/dev/null"
_PR_SET_PDEATHSIG = 1


class _Maker:
    def __init__(self, *, by_user: bool) -> None:
        # Without it no folder of theirs can be renamed; who is not root cannot have it.
        self._options = "userxattr" if by_user else "redirect_dir=on"
        self._held: dict[str, int] = {}
        self._gone: set[str] = set()
        self._kept: list[str] = []

    def make(self, steps: list[Step], on_host: dict[str, str]) -> None:
        """Do the steps in the new namespaces that this process is in.

        Args:
            steps: In order.
            on_host: The kernel's network settings there.
        """
        open_loopback()
        adopt(on_host)
        put(PORT_START, "0")
        verbs: dict[str, Callable[..., None]] = {
            "keep": self._keep,
            "hold": self._hold,
            "seek": self._seek,
            "freeze": self._freeze,
            "overlay": self._overlay,
            "bind": self._bind,
            "attempt": self._attempt,
            "mask": self._mask,
            "unlink": self._unlink,
            "sysctl": self._sysctl,
            "forbid": self._forbid,
        }
        for verb, *fields in steps:
            if not self._gone.intersection(fields):
                verbs[verb](*fields)
        for handle in self._held.values():
            os.close(handle)

    def _keep(self, path: str) -> None:
        mount.bind(path, path, is_read_only=False)
        self._kept.append(path)

    def _hold(self, name: str, path: str) -> None:
        self._held[name] = os.open(path, os.O_PATH | os.O_CLOEXEC)

    def _seek(self, name: str, path: str) -> None:
        try:
            self._hold(name, path)
        except FileNotFoundError:
            self._gone.add(f"@{name}")

    def _freeze(self) -> None:
        mount.freeze(self._kept)

    def _overlay(self, target: str, upper: str, work: str, *lowers: str) -> None:
        # A path by descriptor needs none of the characters that options give a meaning.
        paths = [self._path(lower) for lower in lowers]
        mount.overlay(target, paths, self._path(upper), self._path(work), options=self._options)

    def _attempt(self, target: str, upper: str, work: str, *lowers: str) -> None:
        """Cover what perhaps can be in no overlay; what cannot is not seen."""
        try:
            self._overlay(target, upper, work, *lowers)
        except OSError:
            self._bind(upper, target)

    def _bind(self, source: str, target: str) -> None:
        mount.bind(self._path(source), target, is_read_only=False)

    def _mask(self, target: str) -> None:
        if os.path.lexists(target):
            mount.bind(_EMPTY, target, is_read_only=True)

    def _unlink(self, path: str) -> None:
        try:
            os.unlink(path)  # noqa: PTH108 - pathlib takes longer to import
        except FileNotFoundError:
            pass
        except OSError:  # what is mounted there, or kept from us, can still be covered
            self._mask(path)

    def _sysctl(self, name: str, value: str) -> None:
        try:
            put(name, value)
        except OSError as error:
            raise mount.failed(error.errno or 0, "set", f"{name} to {value}") from error

    def _forbid(self) -> None:
        mount.freeze_kernel()

    def _path(self, source: str) -> str:
        if not source.startswith("@"):
            return source
        return f"/proc/self/fd/{self._held[source[1:]]}"


def main(steps: str, answer: str, options: str, kept: str) -> int:
    """Make a cell and hold it; return the exit code where it cannot be made.

    Args:
        steps: The file of what it does.
        answer: The FIFO for what it says.
        options: Its kind, a word each.
        kept: The file of a user namespace of another cell; empty where there was none.
    """
    said = os.open(answer, os.O_WRONLY)
    words = options.split()
    try:
        with open(steps, "rb") as file:  # noqa: PTH123
            content = unpacked(file.read())
        on_host = settings()
        users = None
        if APART in words and BY_USER not in words:
            users, _ = own_users(kept)
        mount.unshare(NAMESPACES | (mount.CLONE_NEWPID if APART in words else 0))
        mount.keep_private()
        first = os.fork() if APART in words else 0
    except OSError as error:
        return _refused(said, error)
    if first:
        os.close(said)
        _, status = os.waitpid(first, 0)
        return os.waitstatus_to_exitcode(status)
    maker = _Maker(by_user=BY_USER in words)
    try:
        if APART in words:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what is left to it leaves no trace
            at = os.path.dirname(answer)  # noqa: PTH120 - pathlib takes longer to import
            mount.move_into_clone(at, users, as_one=BY_USER in words)
            if users is not None:
                mount.become_nobody()
            _end_with_holder()
        maker.make(content, on_host)
        os.chdir("/")
    except OSError as error:
        return _refused(said, error)
    kinds = "" if users is None else OWN_USERS
    os.write(said, f"made\0{kinds}".encode())
    os.close(said)
    while True:
        select.select([], [], [])


def own_users(kept: str = "") -> tuple[int | None, OSError | None]:
    """Return the user namespace of copies, at its number, or why there is none."""
    try:
        users = os.open(kept, os.O_RDONLY) if kept else mount.owners_of_root()
    except OSError as error:
        return None, error
    if users != USERS:
        os.dup2(users, USERS)
        os.close(users)
    return USERS, None


def _end_with_holder() -> None:
    """Have the kernel end the cell's first process, and so all of it, when its holder ends."""
    # Where the holder ended just now, the keeper of both ends this one as all that is left.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _refused(said: int, error: OSError) -> int:
    os.write(said, f"no\0{written(error)}".encode(errors="replace"))
    return 1


def written(error: OSError) -> str:
    """Return the step that failed, what it was for and the system's word for it.

    `namespace.step_failed` reads it: reasons take longer to import than all that is done here.
    """
    step, at = error.filename or "be_made", error.filename2 or ""
    if step.startswith("/"):
        step, at = "reach", step
    return "\0".join((step, at, error.strerror or ""))
