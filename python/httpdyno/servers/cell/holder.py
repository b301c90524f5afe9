"""The program that makes a cell and holds it: its namespaces end with it and its last server.

A keeper runs it in the process that it forked, so with the standard library only. It does the steps
in a file and waits for its end. To a FIFO it says `made`, of what kind and what it lacks, or
`no` and why.

A cell that is apart has processes, a root and, where that can be, a root user of its own. Its first
process is a child of the holder's: it makes the cell, takes what others leave in it, and all of it
ends with it. Outside of it the holder keeps the way in.
"""

import _signal as signal
import ctypes
import os
import select
from _collections_abc import Callable

from httpdyno.servers.cell import apart, mount, network
from httpdyno.servers.cell.step import Step, unpacked

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
        self.notices: list[str] = []

    def make(self, steps: list[Step], on_host: dict[str, str]) -> None:
        """Do the steps in the new namespaces that this process is in.

        Args:
            steps: In order.
            on_host: The kernel's network settings there.
        """
        network.open_loopback()
        self.notices += [f"kernel setting {each} of the host" for each in network.adopt(on_host)]
        network.put(network.PORT_START, "0")
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
        self.notices += [f"read-only {each}" for each in mount.freeze(self._kept)]

    def _overlay(self, target: str, upper: str, work: str, *lowers: str) -> None:
        # A path by descriptor needs none of the characters that options give a meaning.
        paths = [self._path(lower) for lower in lowers]
        mount.overlay(target, paths, self._path(upper), self._path(work), options=self._options)

    def _attempt(self, target: str, upper: str, work: str, *lowers: str) -> None:
        """Cover what perhaps can be in no overlay; what cannot is not seen."""
        try:
            self._overlay(target, upper, work, *lowers)
        except OSError as error:
            self._bind(upper, target)
            self.notices.append(f"not seen: {target} ({error.strerror})")

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
            network.put(name, value)
        except OSError as error:
            what = f"set {name} to {value}"
            raise OSError(error.errno, error.strerror, what) from error

    def _forbid(self) -> None:
        self.notices += [f"read-only {each}" for each in mount.freeze_kernel()]

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
        on_host = network.settings()
        users, notice = None, ""
        if APART in words and BY_USER not in words:
            users, notice = own_users(kept)
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
    maker.notices += [notice] if notice else []
    try:
        if APART in words:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what is left to it leaves no trace
            at = os.path.dirname(answer)  # noqa: PTH120 - pathlib takes longer to import
            maker.notices += apart.move_into_clone(at, users, as_one=BY_USER in words)
            if users is not None:
                apart.become_nobody()
            _end_with_holder()
        maker.make(content, on_host)
        os.chdir("/")
    except OSError as error:
        return _refused(said, error)
    kinds = "" if users is None else OWN_USERS
    os.write(said, "\0".join(["made", kinds, *maker.notices]).encode(errors="replace"))
    os.close(said)
    while True:
        select.select([], [], [])


def own_users(kept: str = "") -> tuple[int | None, str]:
    """Return the user namespace of copies, at its number, or in words why there is none."""
    try:
        users = os.open(kept, os.O_RDONLY) if kept else apart.owners_of_root()
    except OSError as error:
        return None, f"root in it is root outside, with few rights (cannot {why(error)})"
    if users != USERS:
        os.dup2(users, USERS)
        os.close(users)
    return USERS, ""


def _end_with_holder() -> None:
    """Have the kernel end the cell's first process, and so all of it, when its holder ends."""
    # Where the holder ended just now, the keeper of both ends this one as all that is left.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _refused(said: int, error: OSError) -> int:
    os.write(said, f"no\0cannot {why(error)}".encode(errors="replace"))
    return 1


def why(error: OSError) -> str:
    """Return what could not be done, after `cannot`, and why."""
    return f"{error.filename or 'be made'}: {error.strerror}"
