"""Which isolation can be had here: tried in a child process, since only the kernel knows."""

import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal

from httpdyno.reason import Reason, because
from httpdyno.servers.sandbox.namespace import SOURCE, step_failed

_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from httpdyno.servers.sandbox import trial; sys.exit(trial.{}())"
)
_PATIENCE_S = 10.0
_N_PARTS = 3
"""Of what `holder.written` says."""
_RESTRICTIONS = {
    "kernel.apparmor_restrict_unprivileged_userns": "1",
    "kernel.unprivileged_userns_clone": "0",
    "user.max_user_namespaces": "0",
}
"""Settings with which ordinary users get no user namespaces, on Ubuntu, Debian and all."""


def possible() -> tuple[Literal["cell", "wall", ""], Reason | None]:
    """Return the safest isolation that can be had here, and why no safer one."""
    if (cell := cell_complaint()) is None:
        return ("cell", None)
    if (wall := wall_complaint()) is None:
        return ("wall", cell)
    return ("", because("sandbox.neither", cell=cell, wall=wall))


def cell_complaint() -> Reason | None:
    """Return why no cell can be made by this user; None when one can. Tried once.

    Who is not root needs a user namespace for it: `run_anew_in_user_namespace`.
    """
    why = namespaces_complaint()
    return None if why is None else because("sandbox.no_cell", why=why)


def namespaces_complaint() -> Reason | None:
    """Return the same of all that is made of namespaces, without the name of it."""
    why, _ = _tried("cell")
    return None if why is None else _with_restrictions(why)


def limits_of_cell() -> Reason | None:
    """Return what a cell does not keep from a copy here; None where that is nothing. Tried once.

    Of a cell that can be had.
    """
    _, lacking = _tried("cell")
    return None if lacking is None else because("sandbox.root_is_root", why=lacking)


def wall_complaint() -> Reason | None:
    """Return why no wall can be made by this process; None when one can. Tried once."""
    why, _ = _tried("wall")
    return None if why is None else because("sandbox.no_wall", why=why)


@cache
def _tried(kind: str) -> tuple[Reason | None, Reason | None]:
    """Return why it cannot be had, and what it lacks where it can."""
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM.format(kind), SOURCE]
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return because("sandbox.cannot_be_tried", error=str(error)), None
    parts = done.stdout.split("\0")
    said = step_failed(parts) if len(parts) == _N_PARTS else None
    if done.returncode == 0:
        return None, said
    words = done.stderr.strip()[-200:]
    return said or because("sandbox.cannot_be_tried", error=words), None


def _with_restrictions(why: Reason) -> Reason:
    """Return it with the settings of this machine that may be the cause."""
    found = []
    for name, text in _RESTRICTIONS.items():
        with suppress(OSError):
            path = Path("/proc/sys", *name.split("."))
            if path.read_text(encoding="ascii").strip() == text:
                found.append(because("sandbox.setting", name=name, value=text))
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        found.append(because("sandbox.is_container"))
    return because("sandbox.here", why=why, here=found) if found else why
