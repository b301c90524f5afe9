"""What a service's copy runs as and with: its variables, its user, its own folder.

What a member's copy finds in its environment: little, and its service's own variables.

Values are read when a copy is started and handed to it; a study and the store hold names only.

Whom a member's copies and their probes run as: nobody more than those whose word they are.

A server that a user runs is run as that user. One that root starts is root's in a copy only where
its program, its main configuration and what its command line names are root's alone to write; where
one other user may write them, it is that user's, whoever adopts it.

A folder in a seat for files that a member's copy needs beside theirs, whoever it runs as.
"""

import os
import pwd
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import names_in, opened_regular, read_regular
from httpdyno.host.foreign_text import reason
from httpdyno.host.process_identity import has_gained_rights, process_users
from httpdyno.host.procfs import stat_of
from httpdyno.host.rights import is_root_of_the_machine
from httpdyno.host.runnable import PATH, account, user_name, whom, writers_at, writers_of
from httpdyno.model import Member
from httpdyno.servers.adapter import Place
from httpdyno.servers.run.folder import held_own, let_through
from httpdyno.servers.sandbox.sandbox import Seat
from httpdyno.servers.staging import INHERITED
from httpdyno.servers.systemd import environment_file, variable_files, variables_of

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LARGEST_BYTES = 1 << 20
_UNIT, _PROCESS = "unit:", "pid:"
_MOST_DIGITS = 9
_OF_A_START = frozenset(
    (
        *("PATH", "LANG", "LANGUAGE", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "PWD", "OLDPWD"),
        *("SHLVL", "_", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "NOTIFY_SOCKET"),
        *("WATCHDOG_PID", "WATCHDOG_USEC", "MAINPID", "MANAGERPID", "REMOTE_ADDR", "REMOTE_PORT"),
        *("LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "LISTEN_PIDFDID", "MANAGERPIDFDID"),
        *("MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "FDSTORE"),
    )
)
"""What a manager of services or a shell gives each start, or an account has: no setting of a
service where it does not say so itself. Source: systemd.exec(5), environment variables."""
_OF_A_SESSION = re.compile(
    r"(?:SSH|XDG|DBUS|GPG|TMUX|VTE|WAYLAND|LS|LESS|BASH_FUNC)(?:_|$)|DISPLAY$"
)
"""What a person's terminal gives each program."""
_WITHOUT_HOME = frozenset({"apache", "nginx", "php-fpm"})
"""Kinds that a service manager starts: a page that shows its environment is to be the same."""


def member_environment(member: Member, place: Place, *, has_all: bool) -> dict[str, str]:
    """Return the environment that a copy of a member starts with.

    Args:
        member: Whose copy it is.
        place: Where that is.
        has_all: Whether the copy sees all folders as theirs, and may write there, as in a cell.

    Raises:
        AdapterError: A variable of its service is nowhere to be read.
    """
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    home = _home(member) if has_all else str(place.copy_folder)
    homes = {"HOME": home} if home else {}
    return {"PATH": _PATH, **inherited, **homes, **own_variables(member)}


def _home(member: Member) -> str:
    """Return what a member has as its home; empty where it has none, as services of systemd."""
    if member.kind in _WITHOUT_HOME:
        return ""
    if not member.user:
        return os.environ.get("HOME", "")
    try:
        is_number = member.user.isdecimal()
        found = pwd.getpwuid(int(member.user)) if is_number else pwd.getpwnam(member.user)
    except KeyError:
        return ""
    return found.pw_dir


def is_setting(name: str) -> bool:
    """Whether a variable may be a setting of a service: nobody gives it to each program."""
    return name not in _OF_A_START and not _OF_A_SESSION.match(name)


def process_source(pid: int, start_ticks: int) -> str:
    """Return a process as a source of variables; no later one of that number is meant by it."""
    return f"{_PROCESS}{pid}@{start_ticks}"


def readable_variables(member: Member) -> dict[str, str]:
    """Return the variables of a member's service of which the values can be read, with them."""
    try:
        known = _known(member)
    except AdapterError:
        return {}
    return {name: known[name] for name in member.environment_names if name in known}


def set_variables(member: Member) -> dict[str, str | None]:
    """Return all variables that a member's copies are given, None where one cannot be read."""
    unread: dict[str, str | None] = dict.fromkeys(member.environment_names)
    return {**unread, **readable_variables(member), **member.environment}


def own_variables(member: Member) -> dict[str, str]:
    """Return the variables of a member's service, with their values.

    Raises:
        AdapterError: One is nowhere to be read.
    """
    if not member.environment_names:
        return {}
    known = _known(member)
    names = [name for name in member.environment_names if name in known or is_setting(name)]
    if missing := [name for name in names if name not in known]:
        raise AdapterError(
            f"{member.name} needs {', '.join(f'`{name}`' for name in missing)} in its environment, "
            f"and `{member.environment_from or 'the environment of httpdyno'}` does not have it",
            hint="set it in the shell that httpdyno is called from, and leave out "
            "`environment_from`"
            if not member.environment_from.startswith(_PROCESS)
            else "start it as it ran and adopt it anew, or set it in the shell that httpdyno is "
            "called from",
        )
    return {name: known[name] for name in names}


def environment_sources(member: Member) -> Iterator[str]:
    """Yield the files whose word the variables of a member's service are; looked for when asked.

    Raises:
        AdapterError: There is no such unit.
    """
    if member.environment_names and member.environment_from.startswith(_UNIT):
        yield from variable_files(member.environment_from.removeprefix(_UNIT))
    elif "/" in member.environment_from:
        yield member.environment_from


_UNREAD_HINT = (
    "run httpdyno as a user who may, or set the variables in its shell and leave out "
    "`environment_from`"
)


def _known(member: Member) -> Mapping[str, str]:
    source = member.environment_from
    if source.startswith(_PROCESS):
        found = _of_process(source.removeprefix(_PROCESS), member.user)
        if found is not None:
            return found
        # It has ended since, or is none of this user's. What another user's process merely names,
        # such as a password, is not given to that user from httpdyno's own environment.
        source = f"{_UNIT}{member.unit}" if member.unit else ""
        if not source and not _is_own(member.user):
            return {}
    if not source:
        return os.environ
    if not source.startswith((_UNIT, "/")):
        raise AdapterError(
            f"the environment of {member.name} is in no `{source}`, expected `{_UNIT}NAME`, "
            f"`{_PROCESS}NUMBER@START` or a whole path",
            hint="name the file from `/` on in `environment_from`",
        )
    try:
        if source.startswith(_UNIT):
            return variables_of(source.removeprefix(_UNIT))
        text = read_regular(source, limit_bytes=_LARGEST_BYTES).decode("utf-8", "surrogateescape")
    except (AdapterError, OSError) as error:
        cause = AdapterError(reason(error)) if isinstance(error, OSError) else error
        amid = cause.within(f"the environment of {member.name} cannot be read from `{source}`")
        amid["hint"] = _UNREAD_HINT
        raise AdapterError(**amid) from error
    return environment_file(text)


def _of_process(text: str, user: str) -> dict[str, str] | None:
    """Return the variables of a process; None where it ended, or is another's than root's or his.

    Args:
        text: Its number and when it started.
        user: Who gets them; empty is who runs httpdyno.
    """
    number, _, ticks = text.partition("@")
    if not number.isdecimal() or len(number) > _MOST_DIGITS:
        return None
    pid = int(number)
    try:
        theirs = ({0}, {user_id(user) if user else os.geteuid()})
        # Before and after, since it may become somebody else meanwhile.
        is_theirs = process_users(pid) in theirs
        entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        is_theirs = is_theirs and process_users(pid) in theirs and not has_gained_rights(pid)
    except (OSError, KeyError):
        return None
    seen = stat_of(pid)
    if not is_theirs or seen is None or str(seen.started_ticks) != ticks:
        return None
    pairs = (os.fsdecode(entry).partition("=") for entry in entries)
    return {name: value for name, found, value in pairs if found}


def _is_own(user: str) -> bool:
    """Whether a user, empty for none, is who runs httpdyno."""
    try:
        return not user or user_id(user) == os.geteuid()
    except KeyError:
        return False


def user_id(user: str) -> int:
    """Return the number of a user, by name or number; KeyError where there is none."""
    return int(user) if user.isdecimal() else pwd.getpwnam(user).pw_uid


_ENVVARS = "envvars"
"""What a shell reads beside Debian's main file of Apache, before each start."""
_SEPARATORS = re.compile("[:,]")
"""Between folders, as in `--pythonpath=/srv/a,/srv/b`."""
_LEADS_THERE = re.compile(r"--(?!.*(?:te?mp|cache|log|upload))|-[CIdp]|-cp|-classpath")
"""Options that may name a folder in which programs are found, unlike `--worker-tmp-dir`."""
_SCRIPT = re.compile(r"\.(?:pyc?|[cm]?[jt]s|rb|ru|pl|psgi|php|lua|jar)$")
_RUN_IN_FOLDER = frozenset({"__main__.py", "index.js", "package.json"})
"""Whoever is given a folder with one of these instead of a script runs that."""


def as_own_user(member: Member) -> Member:
    """Return the member as it may be run, with the user that its copies run as.

    Raises:
        NotOursError: Several users may write what would run as root.
        AdapterError: There is no such user, or what it runs may not be looked at.
    """
    files = [member.main]
    if member.main:
        folder = PurePosixPath(member.main).parent
        files += [str(folder / _ENVVARS), str(folder)]  # relative includes are found there
    sources = chain(files, environment_sources(member))
    words = member.command or ((member.program,) if member.program else ())
    programs = (member.program, *words[:1]) if words else ()
    user = own_user(
        member.user,
        programs,
        words[1:],
        files=sources,
        folder=member.folder,
        found_by=readable_variables(member).get("PATH", PATH),
    )
    return replace(member, user=user)


def own_user(  # noqa: PLR0913 - what a start is made of
    user: str,
    programs: Sequence[str],
    arguments: Sequence[str],
    *,
    files: Iterable[str] = (),
    folder: str = "",
    found_by: str = PATH,
) -> str:
    """Return the user that something is run as; empty is root.

    Args:
        user: Whom its service or process runs as, or the study names; empty is root.
        programs: What is run; a name alone is looked for where programs are.
        arguments: Those that are files are its word too, such as a script.
        files: Others that it reads before it is anybody else, and folders in which it finds them.
        folder: Where it runs, and finds modules.
        found_by: The folders in which its programs are looked for.

    Raises:
        NotOursError: Several users may write what would run as root.
        AdapterError: There is no such user, or a file may not be looked at.
    """
    if not is_root_of_the_machine() or (user and account(user)[0]):
        return user
    writers: dict[int, str] = {}
    named = ""
    try:
        for name in filter(None, programs):
            path = _placed(name, folder) if "/" in name else shutil.which(name, path=found_by)
            named = named or path or name
            if path and os.path.exists(path):  # noqa: PTH110 - any text is asked
                writers = {**writers_of(path), **writers}
            elif path:
                writers = {**writers_at(path), **writers}
        for path in filter(None, (*files, *_named(arguments, folder))):
            writers = {**writers_at(path), **writers}
        if folder.startswith("/"):
            writers = {**writers_at(folder), **writers}
    except OSError as error:
        raise AdapterError(
            f"whose word `{error.filename or named}` is cannot be seen: {reason(error)}"
        ) from error
    least = whom(named or next(iter(writers.values()), folder), writers)
    return user_name(least) if least else user


def _named(arguments: Sequence[str], folder: str) -> Iterator[str]:
    """Yield the files that arguments name, and the folders in which more is found.

    As `server.js` with its folder, `--config=/etc/shop.py`, `-c/etc/shop.py`, `--chdir /srv/shop`.
    """
    option = ""
    for word in arguments:
        is_option = word.startswith("-")
        name, _, value = word.partition("=")
        option = name if is_option else option
        values = [value, "" if word.startswith("--") else word[2:]] if is_option else [word]
        for each in dict.fromkeys(e for v in values for e in (v, *_SEPARATORS.split(v)) if e):
            path = _placed(each, folder)
            if os.path.isfile(path):  # noqa: PTH113 - any text is asked
                yield path
                if not is_option and _is_script(path):
                    yield os.path.dirname(os.path.realpath(path))  # noqa: PTH120
            elif os.path.isdir(path) and (  # noqa: PTH112
                _LEADS_THERE.match(option) or not _RUN_IN_FOLDER.isdisjoint(names_in(path))
            ):
                yield path
        option = option if is_option else ""


def _is_script(path: str) -> bool:
    """Whether a file is a script, which looks for others where it stands."""
    if _SCRIPT.search(path):
        return True
    with suppress(OSError), opened_regular(path) as file:
        return file.read(2) == b"#!"
    return False


def _placed(path: str, folder: str) -> str:
    return os.path.join(folder or "/", path)  # noqa: PTH118 - `..` stays as it is


def own_folder(member: Member, seat: Seat, what: str, *, top: Path | None = None) -> Path:
    """Make the folder of a member's own files in its seat, one that its children may look into.

    Args:
        member: Whose it is.
        seat: Where it sits.
        what: Of the folder's name, behind the member's.
        top: Which of the seat's folders it is made in; None is the one on disk.

    Raises:
        OSError: It cannot be made, or a link stands in its place.
    """
    name, top = f"{member.name}-{what}", top or seat.folder
    with held_own(top, name) as folder:
        os.fchmod(folder, 0o755)
        if seat.is_root:
            # What runs is perhaps another user: he may go through, and look at nothing else.
            let_through(top, is_apart=seat.kind == "cell")
            if member.user:
                os.fchown(folder, *account(member.user)[:2])
    return top / name
