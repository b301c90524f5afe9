"""How a process that a keeper forked becomes something else, and what came from it.

Standard library only, and little of it: a keeper is started for each server.
"""

import ctypes
import os
import struct
from _signal import SIGCHLD, SIGTERM, pidfd_send_signal
from types import TracebackType

from httpdyno.host.procfs import children_now, walk

_AT_ONCE = 200
"""As many are signalled together: each is held by a descriptor, and those are few."""


class suppress:  # noqa: N801 - as its model
    """What `contextlib` has under this name, without all that its import takes."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


def below() -> list[int]:
    """Return all processes that came from this one."""
    return walk([os.getpid()], children_now())[1:]


def send(pids: list[int], number: int) -> None:
    """Signal those that still are ours once they are held: a pid may be another's by now."""
    for first in range(0, len(pids), _AT_ONCE):
        handles: dict[int, int] = {}
        for pid in pids[first : first + _AT_ONCE]:
            with suppress(OSError):
                handles[pid] = os.pidfd_open(pid)
        ours = set(below())
        for pid, handle in handles.items():
            with suppress(OSError):
                if pid in ours:
                    pidfd_send_signal(handle, number)
            os.close(handle)


def children(pid: int) -> list[int]:
    """Return the children of a process; none where it is gone."""
    return children_now()(pid)


CANNOT_RUN = "cannot run "
"""So begins what is said of a program that could not be run."""
NOBODY = 0x8000_0000
"""What root of a copy is outside of it: a user and a group that no system gives to anybody."""
_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER = 0x1000_0000
_CLONE3, _CLONE_INTO_CGROUP = 435, 0x2_0000_0000
"""The same numbers on all machines."""


def forked_into(group: str) -> tuple[int, bool]:
    """Fork; return 0 in the child, else its pid, and whether the child is in a control group.

    Who moves into one afterwards waits for 15 to 20 ms until no CPU looks at where it was.

    Args:
        group: Its folder; of the first version, or one that this process may not fork into, the
            child is not in it, nor where the kernel is older than Linux 5.7.

    Raises:
        OSError: No process can be made.

    Source:
        clone(2), CLONE_INTO_CGROUP; Linux, kernel/cgroup/cgroup.c, cgroup_attach_lock.
    """
    try:
        folder = os.open(group, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return os.fork(), False
    # As `fork` does: the interpreter is held while there are two of it, and sees to itself after.
    python = ctypes.PyDLL(None)
    wanted = struct.pack("=11Q", _CLONE_INTO_CGROUP, 0, 0, 0, SIGCHLD, 0, 0, 0, 0, 0, folder)
    python.PyOS_BeforeFork()
    pid = python.syscall(_CLONE3, wanted, len(wanted))
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    os.close(folder)
    return (pid, True) if pid >= 0 else (os.fork(), False)


def execute(command: list[str], environment: dict[str, str]) -> None:
    """Run a program in place of this one, looked for where its own environment says.

    The standard library's way imports, and its user may not read where that is.

    Raises:
        OSError: There is none, or it cannot be run.
    """
    name = command[0]
    folders = environment.get("PATH", os.defpath).split(":")
    worst: OSError | None = None
    for path in [name] if "/" in name else [f"{folder or '.'}/{name}" for folder in folders]:
        try:
            os.execve(path, command, environment)  # noqa: S606 - what it is for
        except (FileNotFoundError, NotADirectoryError) as error:
            worst = worst or error
        except OSError as error:
            worst = error
    if worst:
        raise worst


def become_root_of_namespace() -> None:
    """Go into a new user namespace as its user 0.

    Raises:
        OSError: There can be none.
    """
    go_into_user_namespace(0, 0)


def go_into_user_namespace(user: int, group: int) -> None:
    """Go into a new user namespace, in which this process takes itself for this user and group.

    Raises:
        OSError: There can be none.
    """
    outside = os.geteuid(), os.getegid()
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # The kernel asks for this first where a group is to be mapped without rights.
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {outside[0]} 1"),
        ("gid_map", f"{group} {outside[1]} 1"),
    ):
        with open(f"/proc/self/{name}", "wb", buffering=0) as file:  # noqa: PTH123
            file.write(text.encode())


def end_with_parent() -> None:
    """Let this process be asked to end when its parent, the keeper, is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(SIGTERM), 0, 0, 0)
