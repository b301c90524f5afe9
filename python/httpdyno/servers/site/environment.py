"""What a member's copy finds in its environment: little, and its service's own variables.

Values are read when a copy is started and handed to it; a study and the store hold names only.
"""

import os
import pwd
from collections.abc import Iterator, Mapping

from httpdyno.errors import AdapterError
from httpdyno.foreign_text import read_regular, reason
from httpdyno.model import Member
from httpdyno.servers.adapter import Place
from httpdyno.servers.staging import INHERITED
from httpdyno.servers.unit import variable_files, variables_of
from httpdyno.servers.unit_file import environment_file

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LARGEST_BYTES = 1 << 20
_UNIT = "unit:"
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


def own_variables(member: Member) -> dict[str, str]:
    """Return the variables of a member's service, with their values.

    Raises:
        AdapterError: One is nowhere to be read.
    """
    if not member.environment_names:
        return {}
    known = _known(member)
    names = [name for name in member.environment_names if name in known or name not in _OF_A_START]
    if missing := [name for name in names if name not in known]:
        raise AdapterError(
            f"{member.name} needs {', '.join(f'`{name}`' for name in missing)} in its environment, "
            f"and `{member.environment_from or 'the environment of httpdyno'}` does not have it",
            hint="set it in the shell that httpdyno is called from, and leave out "
            "`environment_from`",
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


def _known(member: Member) -> Mapping[str, str]:
    source = member.environment_from
    if not source:
        return os.environ
    if not source.startswith((_UNIT, "/")):
        raise AdapterError(
            f"the environment of {member.name} is in no `{source}`, expected `{_UNIT}NAME` or a "
            "whole path",
            hint="name the file from `/` on in `environment_from`",
        )
    try:
        if source.startswith(_UNIT):
            return variables_of(source.removeprefix(_UNIT))
        text = read_regular(source, limit_bytes=_LARGEST_BYTES).decode("utf-8", "surrogateescape")
    except (AdapterError, OSError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise AdapterError(
            f"the environment of {member.name} cannot be read from `{source}`: {why}",
            hint="run httpdyno as a user who may, or set the variables in its shell and leave out "
            "`environment_from`",
        ) from error
    return environment_file(text)
