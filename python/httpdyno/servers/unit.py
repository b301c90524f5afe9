"""systemd's units as this machine has them, also where systemd does not run: in containers.

`systemctl show` changes nothing; what it says of a running systemd goes before what the files say.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.foreign_text import is_there, read_regular, reason
from httpdyno.runnable import PATH, said_by
from httpdyno.servers.unit_file import (
    UnitFacts,
    drop_in_folders,
    environment_file,
    template_of,
    unit_facts,
    unit_variables,
)

UNIT_FOLDERS = (
    *("/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient"),
    *("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system"),
    *("/usr/lib/systemd/system", "/lib/systemd/system"),
)
"""The first of them that has a file of a name wins (systemd.unit(5), Unit File Load Path)."""

_SHOWN = ("MainPID", "NeedDaemonReload", "LoadState")
_LIMIT_BYTES = 1 << 20
_PATIENCE_S = 2.0
_AS_BYTES = "surrogateescape"
"""Values of variables are whatever bytes they are."""


def unit(name: str, folders: Sequence[str] = UNIT_FOLDERS) -> UnitFacts:
    """Return how a unit's service is started.

    Raises:
        AdapterError: There is no such unit, it is masked, or its file cannot be read.
    """
    facts = _as_written(name, folders)
    present = _present(facts)
    names = [*facts.environment_names, *(each for path in present for each in _names_in(path))]
    facts = replace(facts, environment_files=present, environment_names=tuple(dict.fromkeys(names)))
    return with_said(facts, _show(name))


def _as_written(name: str, folders: Sequence[str]) -> UnitFacts:
    files = unit_files(name, folders)
    if not files:
        raise AdapterError(
            f"no unit is called `{name}` on this machine",
            hint="`systemctl list-units --type service` lists them",
        )
    if os.path.realpath(files[0]) == os.devnull:
        raise AdapterError(f"`{name}` is masked, so it can't be started", hint=f"see {files[0]}")
    return unit_facts(name, [(path, _content(path)) for path in files])


def _present(facts: UnitFacts) -> tuple[str, ...]:
    """Return its environment files without those that may be missing and are."""
    return tuple(
        path.removeprefix("-")
        for path in facts.environment_files
        if not path.startswith("-") or is_there(Path(path[1:]))
    )


def variables_of(name: str, folders: Sequence[str] = UNIT_FOLDERS) -> dict[str, str]:
    """Return the variables that a unit gives its service, with their values.

    Raises:
        AdapterError: As `unit`; or an environment file of it cannot be read.
    """
    facts = _as_written(name, folders)
    found = unit_variables(name, [_content(path, _AS_BYTES) for path in facts.files])
    for path in _present(facts):
        found |= environment_file(_content(path, _AS_BYTES))
    return found


def variable_files(name: str, folders: Sequence[str] = UNIT_FOLDERS) -> tuple[str, ...]:
    """Return the files that a unit's variables are read from, also those that may be missing.

    Raises:
        AdapterError: As `unit`.
    """
    facts = _as_written(name, folders)
    return (*facts.files, *(path.removeprefix("-") for path in facts.environment_files))


def _names_in(path: str) -> Iterable[str]:
    """Return the variables of an environment file; none where it may not be read."""
    with suppress(AdapterError):
        return environment_file(_content(path))
    return ()


def unit_files(name: str, folders: Sequence[str] = UNIT_FOLDERS) -> tuple[str, ...]:
    """Return a unit's file and its drop-ins, in the order they are read; empty if there is none."""
    if "/" in name:
        return ()
    main = _first(folders, name) or (_first(folders, template_of(name)) if "@" in name else "")
    if not main:
        return ()
    drop_ins: dict[str, str] = {}
    for below in drop_in_folders(name):
        # A drop-in of the same name hides that of a folder which comes later.
        for folder in reversed(folders):
            with suppress(OSError):
                found = (each for each in Path(folder, below).iterdir() if each.suffix == ".conf")
                drop_ins |= {each.name: str(each) for each in found}
    masked = {each for each, path in drop_ins.items() if os.path.realpath(path) == os.devnull}
    return (main, *(drop_ins[each] for each in sorted(drop_ins) if each not in masked))


def _first(folders: Sequence[str], name: str) -> str:
    paths = (f"{folder}/{name}" for folder in folders)
    return next((path for path in paths if os.path.lexists(path)), "")


def _content(path: str, errors: str = "replace") -> str:
    """Return a file's text; systemd itself takes whole paths only.

    Raises:
        AdapterError: It cannot be read, or is no whole path.
    """
    if not path.startswith("/"):
        raise AdapterError(f"`{path}` cannot be read: it is no whole path")
    try:
        return read_regular(path, limit_bytes=_LIMIT_BYTES).decode(errors=errors)
    except OSError as error:
        raise AdapterError(f"`{path}` cannot be read: {reason(error)}") from error


def with_said(facts: UnitFacts, said: str) -> UnitFacts:
    """Return a unit's facts with what `systemctl show` said of it; pure."""
    values = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    if values.get("LoadState") != "loaded":
        return facts
    pid = values.get("MainPID", "")
    return replace(
        facts,
        main_pid=int(pid) if pid.isdigit() else 0,
        needs_daemon_reload=values.get("NeedDaemonReload") == "yes",
    )


def _show(name: str) -> str:
    """Return what a running systemd says of a unit; empty where none runs."""
    program = shutil.which("systemctl")
    if program is None or not Path("/run/systemd/system").is_dir():
        return ""
    command = [program, "show", "--no-pager", f"--property={','.join(_SHOWN)}", "--", name]
    try:
        return said_by(command, environment={"PATH": PATH}, timeout_s=_PATIENCE_S).output
    except AdapterError:
        return ""
