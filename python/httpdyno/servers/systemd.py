"""systemd's units as this machine has them, also where systemd does not run: in containers.

A unit's own text and its drop-ins say how its service is started. Specifiers that the text itself
answers are filled in, and those that are the same on every machine; variables of its environment
are not. Their values are nobody's business but a start's (`unit_variables`), and its command line's
(`expanded`), which all may see. `systemctl show` changes nothing; what it says of a running systemd
goes before what the files say.
"""

import os
import pwd
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path, PurePosixPath

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import (
    is_there,
    read_regular,
)
from httpdyno.host.foreign_text import (
    reason,
)
from httpdyno.host.runnable import PATH, said_by
from httpdyno.servers.network.address import place_of

_PREFIXES = "@-:+!|"
"""What may stand before a program of `ExecStart`."""
_WHOLE = re.compile(r"\$([A-Za-z_]\w*)")
_BRACED = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$\$")

_MADE = {
    "RuntimeDirectory": ("RUNTIME_DIRECTORY", "/run"),
    "StateDirectory": ("STATE_DIRECTORY", "/var/lib"),
    "CacheDirectory": ("CACHE_DIRECTORY", "/var/cache"),
    "LogsDirectory": ("LOGS_DIRECTORY", "/var/log"),
    "ConfigurationDirectory": ("CONFIGURATION_DIRECTORY", "/etc"),
}
"""Settings that name folders of a service → its variable that has them, and where they are."""
_LISTS = frozenset(
    (
        *_MADE,
        *("ExecStart", "Environment", "EnvironmentFile", "PassEnvironment", "UnsetEnvironment"),
        *("ListenStream", "Sockets"),
    )
)
"""Settings that add up until an empty one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitFacts:
    """How a service is started, and what bounds it."""

    name: str
    files: tuple[str, ...] = ()
    """The unit file and its drop-ins, in the order that they are read."""
    command: tuple[str, ...] = ()
    """Of its last `ExecStart`; variables as they stand there."""
    user: str = ""
    is_dynamic: bool = False
    """Its user is made for it when it starts, unless there is one of that name."""
    group: str = ""
    folder: str = ""
    environment_names: tuple[str, ...] = ()
    environment_files: tuple[str, ...] = ()
    """Without those that may be missing and are."""
    passed_names: tuple[str, ...] = ()
    """Variables that it has from its manager, where that has them."""
    unset_names: tuple[str, ...] = ()
    """Variables that it has not, whoever sets them."""
    folders: tuple[str, ...] = ()
    """Those that systemd makes for it, and gives to its user: `RuntimeDirectory` and the like."""
    sockets: tuple[str, ...] = ()
    """Where systemd listens for it, and hands it the sockets: `ListenStream` as it stands there."""
    socket_units: tuple[str, ...] = ()
    """The units that say so, where its own text names them."""
    limits: tuple[tuple[str, str], ...] = ()
    """Such as (`LimitNOFILE`, `65536`), as they stand there."""
    needs_daemon_reload: bool = False
    """Its files were changed since systemd read them."""
    main_pid: int = 0
    """0 where nobody says it."""


_OF_THE_SYSTEM = {
    "t": "/run",
    "S": "/var/lib",
    "C": "/var/cache",
    "L": "/var/log",
    "E": "/etc",
    "T": "/tmp",  # noqa: S108 - not written
    "V": "/var/tmp",  # noqa: S108
    "h": "/root",
    "s": "/bin/sh",
    "u": "root",
    "U": "0",
    "g": "root",
    "G": "0",
}
"""Specifiers of units of the system's own manager, which root runs."""
_TRUE = frozenset({"1", "yes", "y", "true", "t", "on"})
_LIMITS = ("LimitNOFILE", "LimitNPROC", "MemoryMax", "MemoryHigh", "CPUQuota", "TasksMax")


def unit_facts(name: str, texts: Sequence[tuple[str, str]]) -> UnitFacts:
    """Return what the files of a unit say together.

    Args:
        name: The unit's, with its suffix.
        texts: Path and content of the unit file, then of its drop-ins in their order.
    """
    settings = _settings(text for _, text in texts)
    commands = [_command(line) for line in settings.get("ExecStart", [])]
    return UnitFacts(
        name=name,
        files=tuple(path for path, _ in texts),
        command=tuple(_filled(word, name) for word in (commands[-1] if commands else ())),
        user=_filled(_last(settings, "User"), name),
        is_dynamic=_last(settings, "DynamicUser").lower() in _TRUE,
        group=_filled(_last(settings, "Group"), name),
        folder=_filled(_last(settings, "WorkingDirectory").lstrip("-"), name),
        environment_names=tuple(_variables(settings, name)),
        passed_names=tuple(w for line in settings.get("PassEnvironment", []) for w in line.split()),
        unset_names=tuple(
            word.partition("=")[0]
            for line in settings.get("UnsetEnvironment", [])
            for word in _words(line)
        ),
        environment_files=tuple(
            _filled(line, name) for line in settings.get("EnvironmentFile", [])
        ),
        folders=tuple(path for paths in _folders(settings, name).values() for path in paths),
        socket_units=tuple(
            _filled(word, name) for line in settings.get("Sockets", []) for word in line.split()
        ),
        limits=tuple((each, _last(settings, each)) for each in _LIMITS if _last(settings, each)),
    )


def socket_streams(name: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Return where a socket unit listens, as servers are told: `0.0.0.0:80`, `unix:/run/shop`."""
    said = _settings(texts, "[Socket]").get("ListenStream", [])
    return tuple(_stream(_filled(line, name)) for line in said)


def socket_service(name: str, texts: Iterable[str]) -> str:
    """Return the service that a socket unit starts."""
    said = _last(_settings(texts, "[Socket]"), "Service")
    return _filled(said, name) or f"{_stem_and_suffix(name)[0]}.service"


def _stream(text: str) -> str:
    if text.startswith(("/", "@")):
        return f"unix:{text}"
    # Alone a port is one of IPv6, which takes those of IPv4 too (systemd.socket(5)).
    return f"[::]:{text}" if text.isdigit() else text


def unit_variables(name: str, texts: Iterable[str]) -> dict[str, str]:
    """Return the variables that a unit's own text gives its service, with their values.

    Args:
        name: The unit's, with its suffix.
        texts: The unit file, then its drop-ins in their order.
    """
    return _variables(_settings(texts), name)


def _variables(settings: Mapping[str, list[str]], name: str) -> dict[str, str]:
    words = (word for line in settings.get("Environment", []) for word in _words(line))
    pairs = (word.partition("=") for word in words if "=" in word)
    made = {variable: ":".join(paths) for variable, paths in _folders(settings, name).items()}
    return made | {variable: _filled(value, name) for variable, _, value in pairs}


def _folders(settings: Mapping[str, list[str]], name: str) -> dict[str, tuple[str, ...]]:
    """Return variable → the folders that it names, which systemd makes.

    Source: systemd.exec(5), RuntimeDirectory.
    """
    found = {}
    for setting, (variable, top) in _MADE.items():
        words = (word for line in settings.get(setting, []) for word in _words(line))
        # Behind a colon is a link that leads there.
        names = [_filled(word, name).partition(":")[0] for word in words]
        parts = [PurePosixPath(each).parts for each in names]
        paths = [f"{top}/{'/'.join(e)}" for e in parts if e and ".." not in e and e[0] != "/"]
        if paths:
            found[variable] = tuple(paths)
    return found


def expanded(command: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return a command line with its variables as systemd puts them in.

    `$NAME` as a word of its own becomes the words of its value, `${NAME}` its value; what nobody
    sets is empty. Source: systemd.service(5), Command Lines.
    """
    words: list[str] = list(command[:1])
    for word in command[1:]:
        if whole := _WHOLE.fullmatch(word):
            words += _words(variables.get(whole[1], ""))
        else:
            words.append(
                _BRACED.sub(lambda use: variables.get(use[1], "") if use[1] else "$", word)
            )
    return tuple(words)


def environment_file(text: str) -> dict[str, str]:
    """Return the variables of an environment file, as systemd reads it."""
    found = {}
    for line in _lines(text, joint=""):
        name, separator, value = line.partition("=")
        if separator and name:
            found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: str) -> str:
    try:
        return "".join(shlex.split(value)) if value[:1] in "'\"" else value
    except ValueError:
        return value


def drop_in_folders(name: str) -> tuple[str, ...]:
    """Return the names of the folders with drop-ins for a unit, the most general one first."""
    stem, suffix = _stem_and_suffix(name)
    prefix, at, _ = stem.partition("@")
    folders = [f"{suffix.removeprefix('.')}.d"]
    # `foo-bar.service` also has those of `foo-.service`.
    pieces = prefix.split("-")
    folders += [f"{'-'.join(pieces[:k])}-{suffix}.d" for k in range(1, len(pieces))]
    if at:
        folders.append(f"{prefix}@{suffix}.d")
    return (*folders, f"{name}.d")


def template_of(name: str) -> str:
    """Return the file that an instance is made from: `shop@.service`; empty if it is none."""
    stem, suffix = _stem_and_suffix(name)
    prefix, at, instance = stem.partition("@")
    return f"{prefix}@{suffix}" if at and instance else ""


def _stem_and_suffix(name: str) -> tuple[str, str]:
    suffix = PurePosixPath(name).suffix
    return name.removesuffix(suffix), suffix


def _settings(texts: Iterable[str], of: str = "[Service]") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        section = ""
        for line in _lines(text):
            if line.startswith("["):
                section = line
            elif section == of and "=" in line:
                name, _, value = (part.strip() for part in line.partition("="))
                kept = found.get(name, []) if name in _LISTS and value else []
                found[name] = [*kept, value] if value else []
    return found


def _lines(text: str, joint: str = " ") -> Iterable[str]:
    """Yield whole lines: continued ones put together, comments left out also between those."""
    whole = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(("#", ";")) or (not stripped and not whole):
            continue
        if stripped.endswith("\\"):
            whole += f"{stripped[:-1]}{joint}"
            continue
        yield whole + stripped
        whole = ""
    if whole:
        yield whole


def _last(settings: dict[str, list[str]], name: str) -> str:
    values = settings.get(name, [])
    return values[-1] if values else ""


def _command(line: str) -> tuple[str, ...]:
    words = _words(line)
    if not words:
        return ()
    first = words[0].lstrip(_PREFIXES)
    has_own_name = "@" in words[0][: len(words[0]) - len(first)]
    # After `@` the second word is what the program is told to be called.
    rest = words[2:] if has_own_name else words[1:]
    with suppress(ValueError):
        rest = rest[: rest.index(";")]  # a second command of the same line
    return (first, *rest)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote that is never closed
        return line.split()


def _filled(text: str, name: str) -> str:
    """Return a text with the specifiers that the unit's own name answers, or its being a system's.

    Source: systemd.unit(5), Specifiers.
    """
    if "%" not in text:
        return text
    stem, _ = _stem_and_suffix(name)
    prefix, _, instance = stem.partition("@")
    last = prefix.rpartition("-")[2]
    values = {
        **_OF_THE_SYSTEM,
        "n": name,
        "N": stem,
        "p": prefix,
        "i": instance,
        "j": last,
        "%": "%",
        "P": _unescaped(prefix),
        "I": _unescaped(instance),
        "J": _unescaped(last),
        "f": "/" + _unescaped(instance or prefix).lstrip("/"),
        "H": os.uname().nodename,
        "l": os.uname().nodename.partition(".")[0],
        "v": os.uname().release,
    }
    return re.sub("%(.)", lambda found: values.get(found[1], found[0]), text)


def _unescaped(text: str) -> str:
    """Return a part of a unit's name as what it was made of: `a-b` for `a/b`."""
    text = text.replace("-", "/")
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)


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
