"""How a process that a keeper forked becomes something else. Standard library only."""

import ctypes
import os
from _signal import SIGTERM

NOBODY = 0x8000_0000
"""What root of a copy is outside of it: a user and a group that no system gives to anybody."""
_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER = 0x1000_0000


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
