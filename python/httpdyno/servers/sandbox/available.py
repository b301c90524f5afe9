"""Which isolation can be had here: tried in a child process, since only the kernel knows."""

import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal

from httpdyno.servers.sandbox.namespace import SOURCE

_TRY = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from httpdyno.servers.sandbox import trial; sys.exit(trial.{}())"
)
_PATIENCE_S = 10.0
_RESTRICTIONS = {
    "kernel.apparmor_restrict_unprivileged_userns": "1",
    "kernel.unprivileged_userns_clone": "0",
    "user.max_user_namespaces": "0",
}
"""Settings with which ordinary users get no user namespaces, on Ubuntu, Debian and all."""


def possible() -> tuple[Literal["cell", "wall", ""], str]:
    """Return the safest isolation that can be had here, and why no safer one."""
    if not (complaint := cell_complaint()):
        return ("cell", "")
    if not (no_wall := wall_complaint()):
        return ("wall", complaint)
    return ("", f"{complaint}, and {no_wall}")


def cell_complaint() -> str:
    """Return why no cell can be made by this user; empty when one can. Tried once.

    Who is not root needs a user namespace for it: `run_anew_in_user_namespace`.
    """
    complaint, _ = _tried("cell")
    return f"a cell {complaint}{_why()}" if complaint else ""


def limits_of_cell() -> str:
    """Return what a cell does not keep from a copy here; empty where that is nothing. Tried once.

    Of a cell that can be had.
    """
    return _tried("cell")[1]


def wall_complaint() -> str:
    """Return why no wall can be made by this process; empty when one can. Tried once."""
    complaint, _ = _tried("wall")
    return f"a wall {complaint}" if complaint else ""


@cache
def _tried(kind: str) -> tuple[str, str]:
    """Return why it cannot be had, and what it lacks where it can."""
    command = [sys.executable, "-I", "-S", "-c", _TRY.format(kind), SOURCE]
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be tried: {error}", ""
    said = done.stdout.strip()
    if done.returncode == 0:
        return "", said
    return said or f"cannot be tried: {done.stderr.strip()[-200:]}", ""


def _why() -> str:
    found = []
    for name, text in _RESTRICTIONS.items():
        with suppress(OSError):
            path = Path("/proc/sys", *name.split("."))
            if path.read_text(encoding="ascii").strip() == text:
                found.append(f"{name} is {text}")
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        found.append("this is a container")
    return f" ({', '.join(found)})" if found else ""
