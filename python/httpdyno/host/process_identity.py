"""A process, named so that no other one is taken for it; and whether it still lives.

A number alone is reused sooner or later, and names another process in another pid namespace. With
the tick at which the process started, the boot and the pid namespace it names one for good. Where
it cannot be looked for from here, as from a container, nobody may say that it is gone.

Source: pid_namespaces(7), time_namespaces(7); proc(5) for `stat`.
"""

import os
import socket
import stat
import struct
from contextlib import suppress
from enum import Enum
from pathlib import Path

import msgspec

from httpdyno.host.procfs import content, stat_of, status_words


def boot_id() -> str:
    """Return what is different each time the machine was booted; empty where it is not shown.

    A chroot without `/proc` does not show it.
    """
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The machine's own, which sees all processes (`PROC_PID_INIT_INO`, include/linux/proc_ns.h)."""
_AT_SECURE = 23
_PAIR = struct.Struct("@LL")


class Life(Enum):
    """What can be said of a process from here."""

    ALIVE = "alive"
    GONE = "gone"
    IN_DOUBT = "in doubt"


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """One process of one machine."""

    pid: int
    start_ticks: int
    """Field 22 of `/proc/PID/stat`: clock ticks from boot to the start of the process."""
    boot: str
    host: str
    pid_namespace: str = ""
    """The one that its number is of; empty where that was not written down."""
    time_namespace: str = ""
    """The one that its ticks are of; empty likewise, and where the kernel has none."""

    @classmethod
    def me(cls) -> "ProcessIdentity":
        """Return the calling process."""
        seen = stat_of(os.getpid()) if sees_own_processes() else None
        return cls(
            pid=os.getpid(),
            start_ticks=seen.started_ticks if seen else 0,
            boot=boot_id(),
            host=socket.gethostname(),
            pid_namespace=_namespace("pid"),
            time_namespace=_namespace("time"),
        )

    def is_of_these_processes(self) -> bool:
        """Return whether its number means the same here: the same boot and the same namespace.

        Where the boot is not shown, as with `ProcSubset=pid`, only that of the caller himself does.
        """
        return (
            self.boot == boot_id()
            and (bool(self.boot) or self == ProcessIdentity.me())
            and self.pid_namespace == _namespace("pid")
            and sees_own_processes()
        )

    def life(self) -> Life:
        """Return whether it lives, as far as that can be known from here."""
        boot = boot_id()
        if not (self.boot and boot):
            return Life.IN_DOUBT
        if self.boot != boot:
            return Life.GONE
        if self.pid_namespace and self.pid_namespace != _namespace("pid"):
            return Life.GONE if _has_ended(self.pid_namespace) else Life.IN_DOUBT
        return self._life_here() if sees_own_processes() else Life.IN_DOUBT

    def _life_here(self) -> Life:
        """Return whether it lives, where its number means the same."""
        seen = stat_of(self.pid)
        if seen is None:
            return Life.IN_DOUBT if _answers(self.pid) else Life.GONE
        if seen.has_ended:
            return Life.GONE
        if seen.started_ticks == self.start_ticks:
            return Life.ALIVE
        # Ticks are counted from elsewhere in another time namespace.
        is_same_clock = self.time_namespace in {"", _namespace("time")}
        return Life.GONE if is_same_clock else Life.IN_DOUBT


def has_gained_rights(pid: int, proc: Path = Path("/proc")) -> bool:
    """Return whether a program's own rights (setuid) made a process who it is, so far as is seen.

    What called it chose its command line, its environment and what it holds, and need not be him.
    Of root's processes that is said, too, where it cannot be seen. Source: getauxval(3).
    """
    known: dict[int, int] = {}
    with suppress(OSError, struct.error):
        known = dict(_PAIR.iter_unpack((proc / str(pid) / "auxv").read_bytes()))
    if 0 in process_users(pid, proc):
        return known.get(_AT_SECURE) != 0
    if not known.get(_AT_SECURE):
        return False
    try:
        # Capabilities of a file leave its user who he is.
        return bool((proc / str(pid) / "exe").stat().st_mode & (stat.S_ISUID | stat.S_ISGID))
    except OSError:
        return True


def process_users(pid: int, proc: Path = Path("/proc")) -> frozenset[int]:
    """Return who a process is, by number: real, effective and saved; empty where it is gone."""
    status = content(os.fsencode(proc / str(pid) / "status"))
    return frozenset(map(int, status_words(status, b"Uid")))


def sees_own_processes() -> bool:
    """Return whether the numbers in `/proc` are those of this process's pid namespace.

    They are not after `unshare --pid` without a mount of its own, and where nothing is mounted.
    """
    try:
        return os.readlink("/proc/self") == str(os.getpid())  # noqa: PTH115
    except OSError:
        return False


def _namespace(kind: str) -> str:
    try:
        return os.readlink(f"/proc/self/ns/{kind}")  # noqa: PTH115
    except OSError:
        return ""


def _has_ended(pid_namespace: str) -> bool:
    """Return whether no process is in a pid namespace: only root of the machine can see that."""
    is_all_seen = _namespace("pid") == _FIRST_PID_NAMESPACE and sees_own_processes()
    if not is_all_seen or os.geteuid() != 0:
        return False
    for name in os.listdir("/proc"):  # noqa: PTH208 - half the time of iterdir
        if not name.isdigit() or name == "1":  # which is of the machine's own
            continue
        try:
            found = os.readlink(f"/proc/{name}/ns/pid")  # noqa: PTH115
        except (FileNotFoundError, ProcessLookupError):  # it ended, or only its status is left
            continue
        except OSError:
            return False
        if found == pid_namespace:
            return False
    return True


def _answers(pid: int) -> bool:
    """Return whether there is such a process though it cannot be seen, as with `hidepid`."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
