"""systemd's units as this machine has them, also where systemd does not run: in containers.

`systemctl show` changes nothing; what it says of a running systemd goes before what the files say.
"""

import os
import pwd
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from glob import glob, has_magic
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import is_there, read_regular
from httpdyno.host.foreign_text import reason
from httpdyno.host.runnable import PATH, said_by
from httpdyno.servers.address import place_of
from httpdyno.servers.unit_file import (
    UnitFacts,
    drop_in_folders,
    environment_file,
    expanded,
    socket_service,
    socket_streams,
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
_NOBODY = "65534"
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
    names += [each for each in facts.passed_names if each in _of_manager()]
    facts = replace(
        facts,
        sockets=_sockets(facts, folders),
        user=_dynamic_user(facts) if facts.is_dynamic else facts.user,
        folder=_home(facts.user) if facts.folder == "~" else facts.folder,
        environment_files=present,
        environment_names=tuple(e for e in dict.fromkeys(names) if e not in facts.unset_names),
    )
    return with_said(facts, _show(name))


def _sockets(facts: UnitFacts, folders: Sequence[str]) -> tuple[str, ...]:
    """Return where systemd listens for a service; nowhere where its socket unit cannot be read."""
    own = f"{facts.name.removesuffix('.service')}.socket"
    found: list[str] = []
    for name in facts.socket_units or (own,):
        with suppress(AdapterError):
            texts = [_content(path) for path in unit_files(name, folders)]
            found += socket_streams(name, texts)
    return tuple(found)


def service_of(name: str, folders: Sequence[str] = UNIT_FOLDERS) -> str:
    """Return the service that a unit starts: its own name but for that of a socket.

    Raises:
        AdapterError: A file of it cannot be read.
    """
    files = unit_files(name, folders) if name.endswith(".socket") else ()
    return socket_service(name, [_content(path) for path in files]) if files else name


def service_at(address: str, folders: Sequence[str] = UNIT_FOLDERS) -> str:
    """Return the service for which systemd listens at an address; empty where no unit says it."""
    where = _end(address)
    for folder in folders:
        for file in sorted(Path(folder).glob("*.socket")):
            with suppress(AdapterError):
                streams = socket_streams(file.name, [_content(str(file))])
                if where in map(_end, streams):
                    return service_of(file.name, folders)
    return ""


def _end(address: str) -> str:
    """Return what of an address tells listeners of one machine apart: the port, or the place."""
    return place_of(address) if "/" in address else address.rpartition(":")[2]


def _dynamic_user(facts: UnitFacts) -> str:
    """Return whom systemd would make for a service, as systemd.exec(5) says of `DynamicUser=`.

    That is who owns its folders by now, and as good as nobody where it has none yet.
    """
    named = facts.user or facts.name.rpartition(".")[0]
    with suppress(KeyError):
        return pwd.getpwnam(named).pw_name
    for folder in facts.folders:
        with suppress(OSError):
            if owner := os.stat(folder).st_uid:  # noqa: PTH116 - follows into /var/lib/private
                return str(owner)
    return _NOBODY


def _home(user: str) -> str:
    with suppress(KeyError):
        return pwd.getpwnam(user or "root").pw_dir
    return "/"


def _of_manager() -> Mapping[str, str]:
    """Return the variables of the system's manager; none where this user may not know them."""
    with suppress(OSError):
        entries = Path("/proc/1/environ").read_bytes().decode(errors=_AS_BYTES).split("\0")
        return dict(entry.split("=", 1) for entry in entries if "=" in entry)
    return {}


def command_of(facts: UnitFacts, folders: Sequence[str] = UNIT_FOLDERS) -> tuple[str, ...]:
    """Return a unit's command line with its variables in it, as all may see it once it runs.

    Where a file of them may not be read, they stay as they stand there.
    """
    if not any("$" in word for word in facts.command):
        return facts.command
    with suppress(AdapterError):
        return expanded(facts.command, variables_of(facts.name, folders))
    return facts.command


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
        path
        for each in facts.environment_files
        for path in _matching(each.removeprefix("-"))
        if not each.startswith("-") or is_there(Path(path))
    )


def _matching(path: str) -> Sequence[str]:
    """Return the files that a name with wildcards stands for, or the only one."""
    return sorted(glob(path)) if has_magic(path) else [path]  # noqa: PTH207 - of a text


def variables_of(name: str, folders: Sequence[str] = UNIT_FOLDERS) -> dict[str, str]:
    """Return the variables that a unit gives its service, with their values.

    Raises:
        AdapterError: As `unit`; or an environment file of it cannot be read.
    """
    facts = _as_written(name, folders)
    manager = _of_manager() if facts.passed_names else {}
    found = {each: manager[each] for each in facts.passed_names if each in manager}
    found |= unit_variables(name, [_content(path, _AS_BYTES) for path in facts.files])
    for path in _present(facts):
        found |= environment_file(_content(path, _AS_BYTES))
    return {each: value for each, value in found.items() if each not in facts.unset_names}


def folders_of(name: str, folders: Sequence[str] = UNIT_FOLDERS) -> tuple[str, ...]:
    """Return the folders that systemd makes for a unit's service before it starts.

    Raises:
        AdapterError: As `unit`.
    """
    return _as_written(name, folders).folders


def sockets_of(name: str, folders: Sequence[str] = UNIT_FOLDERS) -> tuple[str, ...]:
    """Return the addresses of the sockets that systemd opens for a unit's service.

    Raises:
        AdapterError: As `unit`.
    """
    return _sockets(_as_written(name, folders), folders)


def variable_files(name: str, folders: Sequence[str] = UNIT_FOLDERS) -> tuple[str, ...]:
    """Return the files that a unit's variables are read from, also those that may be missing.

    Raises:
        AdapterError: As `unit`.
    """
    facts = _as_written(name, folders)
    named = (each.removeprefix("-") for each in facts.environment_files)
    return (*facts.files, *(path for each in named for path in _matching(each)))


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
