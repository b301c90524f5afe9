"""A configuration of a private copy's own around theirs.

It includes their main file and says after it what only the copy needs: of what comes again the
last counts, so their files stay as they are. Its status page listens in the seat's own folder.
"""

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

from httpdyno.host.runnable import account
from httpdyno.model import Member, Survey
from httpdyno.servers.network.address import SOCKET_PATH_BYTES, unix_address
from httpdyno.servers.php_fpm.installation import version_numbers
from httpdyno.servers.php_fpm.survey import pool_names, scope_of, with_pool
from httpdyno.servers.stack.adapter import Seat
from httpdyno.servers.stack.own_folder import own_folder

STATUS_PATH = "/httpdyno-status"
_STATUS_LISTEN_SINCE = (8, 0)
_QUIET_LEVELS = frozenset({"alert", "error", "warning"})
_ONE_OF_OURS = ("listen.owner", "listen.group", "listen.acl_users", "listen.acl_groups")
"""Whom its sockets are given to: an ordinary user can give them to nobody."""
_LOGS = ("access.log", "slowlog")
_EXTENSION = re.compile(r"\.\w{1,16}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """Where the copy's own files are."""

    folder: Path
    sockets: Path
    """The folder of its sockets, in the seat's one in memory, whose path is the shorter one."""
    is_users: bool = False
    """Whether an ordinary user runs it."""

    @property
    def configuration(self) -> Path:
        """What it is started with."""
        return self.folder / "php-fpm.conf"

    @property
    def test_configuration(self) -> Path:
        """The same for its own test: with a log of its own."""
        return self.folder / "test.conf"

    @property
    def error_log(self) -> Path:
        """Where php-fpm logs."""
        return self.folder / "error.log"

    def script(self, extension: str) -> Path:
        """The script that says what is in force, by a name that php-fpm answers to.

        What their configuration has for an extension is no path that leads elsewhere.
        """
        name = extension if _EXTENSION.fullmatch(extension) else ".php"
        return self.folder / f"in-force{name}"


def new_frame(member: Member, seat: Seat) -> Frame:
    """Make the folder of a member's own files in its seat, one that its children may look into.

    Raises:
        OSError: It cannot be made.
    """
    # Who runs it makes its sockets, and may be another user than whoever runs httpdyno.
    sockets = own_folder(member, seat, "fpm", top=seat.memory_folder)
    is_users = bool(member.user and account(member.user)[0])
    return Frame(folder=own_folder(member, seat, "fpm"), sockets=sockets, is_users=is_users)


def make_folders(survey: Survey, seat: Seat) -> None:
    """Make the folders in which a copy that is not in a cell listens and logs.

    Raises:
        OSError: One cannot be made.
    """
    if seat.kind == "cell":
        return
    addresses = [seat.port(listener.address) for listener in survey.listeners]
    paths = [address.removeprefix("unix:") for address in addresses if address.startswith("unix:")]
    for pool in pool_names(survey):
        scope = scope_of(pool, pool_names(survey))
        logs = [survey.reading(name, scope) for name in _LOGS]
        paths += [seat.path(with_pool(log.text, pool)) for log in logs if log]
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)


def frame_text(
    survey: Survey, seat: Seat, frame: Frame, main: str, *, is_test: bool = False
) -> str:
    """Return the configuration around theirs.

    Args:
        survey: What was found.
        seat: Where the copy sits.
        frame: Where its own files are.
        main: Their main file, as seen in the seat.
        is_test: For the server's own test, which is to say all and log apart.
    """
    lines = [f"include = {main}", "[global]", "daemonize = no"]
    log = frame.folder / "test.log" if is_test else frame.error_log
    lines += [f"pid = {frame.folder}/master.pid", f"error_log = {log}"]
    level = survey.reading("log_level")
    if level and (is_test or level.text in _QUIET_LEVELS):
        # It says only from here on when it is ready, and what it was set to.
        lines.append("log_level = notice")
    for number, pool in enumerate(pool_names(survey)):
        lines += [f"[{pool}]", *_pool_lines(survey, seat, frame, pool, number)]
    return "\n".join([*lines, ""])


def status_address(survey: Survey, frame: Frame, pool: str) -> str:
    """Return where a pool's status page can be asked even when all its children are busy.

    Empty where this PHP has no such place, or its path would be too long.
    """
    theirs = survey.reading("pm.status_listen", scope_of(pool, pool_names(survey)))
    if theirs is not None or version_numbers(survey.version) < _STATUS_LISTEN_SINCE:
        return ""
    socket = frame.sockets / f"{pool_names(survey).index(pool)}.sock"
    return unix_address(str(socket)) if len(str(socket)) <= SOCKET_PATH_BYTES else ""


def status_path(survey: Survey, pool: str) -> str:
    """Return the path of a pool's status page: theirs where they have one."""
    theirs = survey.reading("pm.status_path", scope_of(pool, pool_names(survey)))
    return with_pool(theirs.text, pool) if theirs else STATUS_PATH


def _pool_lines(survey: Survey, seat: Seat, frame: Frame, pool: str, number: int) -> list[str]:
    scope = scope_of(pool, pool_names(survey))
    lines = []
    if survey.reading("pm.status_path", scope) is None:
        lines.append(f"pm.status_path = {STATUS_PATH}")
    if status := status_address(survey, frame, pool):
        lines.append(f"pm.status_listen = {status.removeprefix('unix:')}")
    if frame.is_users or not seat.is_root:
        lines += [f"{name} =" for name in _ONE_OF_OURS if survey.reading(name, scope)]
    if seat.kind != "cell":
        address = seat.port(survey.listeners[number].address)
        lines.append(f"listen = {address.removeprefix('unix:')}")
        for name in _LOGS:
            if reading := survey.reading(name, scope):
                lines.append(f"{name} = {seat.path(with_pool(reading.text, pool))}")
    return lines


def mapped_include(pattern: str, prefix: str, seat: Seat) -> str:
    """Return a pattern of `include` as it is in the seat."""
    folder, name = posixpath.split(posixpath.join(prefix, pattern))
    return posixpath.join(seat.path(folder), name)
