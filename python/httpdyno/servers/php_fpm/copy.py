"""A private copy of php-fpm: its configuration, its start, and what is asked of it.

A configuration of a private copy's own around theirs.

It includes their main file and says after it what only the copy needs: of what comes again the
last counts, so their files stay as they are. Its status page listens in the seat's own folder.

What is asked of a running private copy of php-fpm.

Its own test tells what it read, its status page which process manager runs, a script in the
seat's folder what PHP has in force, and the kernel how many connections may wait.

Running php-fpm in a seat: its own test of itself, and the private copy.
"""

import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.host.runnable import ProgramOutput, account
from httpdyno.model import (
    ChangeSet,
    Configuration,
    Edit,
    Effective,
    KnobInfo,
    Member,
    Notice,
    Survey,
    level_text,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, own_words
from httpdyno.servers.log_file import log_text
from httpdyno.servers.network.address import SOCKET_PATH_BYTES, unix_address
from httpdyno.servers.network.probe import StatusPage
from httpdyno.servers.php_fpm import in_force
from httpdyno.servers.php_fpm.configuration import INCLUDE, pool_configuration
from httpdyno.servers.php_fpm.fastcgi import PoolStatus, PoolStatusPage, ask, pool_status
from httpdyno.servers.php_fpm.in_force import PhpSays
from httpdyno.servers.php_fpm.installation import program_of, version_numbers
from httpdyno.servers.php_fpm.knob import KNOBS, is_same
from httpdyno.servers.php_fpm.survey import (
    MAIN,
    PHP_INI,
    PREFIX,
    SCAN_FOLDER,
    place_in,
    pool_names,
    scope_of,
    with_pool,
)
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import write_own
from httpdyno.servers.run.live_process import child_pids
from httpdyno.servers.stack.adapter import Insight, Launch, MemberFiles, Seat
from httpdyno.servers.stack.environment import own_folder
from httpdyno.servers.staging import last_lines

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


_READY = re.compile("ready to handle connections")
_REFUSED_CODE = 78
"""EX_CONFIG of sysexits.h: with it php-fpm ends where it does not take its configuration."""
_IN_USE = re.compile("Address already in use|Another FPM instance seems to already listen")
_ANSWER_S = 5.0
_OK = 200
_PHP = because("php_fpm.source_php")
_STATUS_PAGE = because("php_fpm.source_status_page")
_INI = because("php_fpm.source_ini")
_TEST = because("php_fpm.source_test")
_SOCKETS = because("php_fpm.source_sockets")
_SOURCES = (_PHP, _STATUS_PAGE, _INI, _TEST, _SOCKETS)
"""What says what is in force, as it is listed."""
_SOMAXCONN = "/proc/sys/net/core/somaxconn"


@dataclass(frozen=True, kw_only=True, slots=True)
class Copied:
    """What a private copy was made of."""

    survey: Survey
    seat: Seat
    frame: Frame
    asked: Configuration
    known: Mapping[str, KnobInfo]
    """All knobs that it has."""
    user: str = ""
    """Whom it runs as; empty is root, or whoever runs httpdyno."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnWords:
    """What the program prints of the copy's files, run once more in its seat."""

    test: Callable[[], str]
    """`-tt`: its test of its own configuration."""
    ini: Callable[[], str]
    """`-i`: the ini values that it reads."""


class PhpFpmInsight(Insight):
    """What only this adapter knows of its own server."""

    def __init__(self, process: ServerProcess, copied: Copied, own: OwnWords) -> None:
        """Take the running copy, what it was made of, and what asks the program itself."""
        self._process = process
        self._survey = copied.survey
        self._seat = copied.seat
        self._frame = copied.frame
        self._asked = copied.asked
        self._known = copied.known
        self._user = copied.user
        self._own = own

    def words(self) -> str:
        """Return the end of its error log."""
        log = log_text(self._frame.error_log, from_end=True)
        lines = f"{self._process.last_words()}\n{log}".splitlines()
        told = dict.fromkeys(line for line in lines if "NOTICE:" not in line)
        return last_lines("\n".join(told))

    def refusal(self, exit_code: int | None, words: str) -> bool:
        """Whether it exited because it refused its configuration, as against crashed."""
        return exit_code == _REFUSED_CODE and not _IN_USE.search(words)

    def lacking(self) -> Reason | None:
        """Return how many of its children are up; None when all are."""
        if not _READY.search(log_text(self._frame.error_log)):
            return because("servers.fpm_not_ready")
        running = self._children()
        for pool in pool_names(self._survey):
            wanted = in_force.n_children_at_start(self._tested.get(pool, {}))
            if running[pool] < wanted:
                return because("servers.children_up", n=running[pool], of=wanted, pool=pool)
        return None

    def effective(self) -> Effective:
        """Return what is in force of all knobs, and what was asked of them."""
        tested = self._tested
        asked = {name: level_text(level) for name, level in self._asked.values.items()}
        values: dict[str, str] = {}
        sources = {_TEST}
        found = {n: level_text(i.default) for n, i in self._known.items() if i.default is not None}
        for name, wanted in {**found, **asked}.items():
            bare, pool = self._of(name)
            text, source = self._in_force(bare, pool, wanted, tested)
            if name in asked and source == _SOCKETS:
                asked[name] = self._backlog_that_can_be(wanted)
            if text:
                values[name] = text
                sources.add(source)
        told = tuple(each for each in _SOURCES if each in sources)
        return Effective(values=values, asked=asked, sources=told)

    def status(self, pool: str) -> PoolStatus:
        """Ask a pool's status page, even while all its children are busy where PHP can that.

        Raises:
            OSError: It does not answer.
        """
        page = self._status_page(pool)
        return pool_status(page.address, page.path, _ANSWER_S, page.network)

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return the page of each pool: a copy always has one, for what it is asked at its start.

        Raises:
            OSError: It has ended.
        """
        return tuple(self._status_page(pool) for pool in pool_names(self._survey))

    def _status_page(self, pool: str) -> PoolStatusPage:
        apart = status_address(self._survey, self._frame, pool)
        return PoolStatusPage(
            address=apart or self._reachable(pool),
            path=status_path(self._survey, pool),
            network=self._network,
            is_apart=bool(apart),
        )

    def php(self, pool: str) -> PhpSays | None:
        """Let a child of a pool say what PHP has in force; None where it does not."""
        if pool not in self._said:
            self._said[pool] = self._ask_php(pool)
        return self._said[pool]

    @cached_property
    def _said(self) -> dict[str, PhpSays | None]:
        return {}

    @cached_property
    def _tested(self) -> Mapping[str, Mapping[str, str]]:
        return in_force.read_back(self._own.test())

    @cached_property
    def _ini(self) -> str:
        return self._own.ini()

    @cached_property
    def _listing(self) -> str:
        return self._seat_says("ss", "-lntxH")

    @property
    def _network(self) -> str:
        """The network namespace that it listens in; empty where that is this process's."""
        return f"/proc/{self._process.pid}/ns/net" if self._is_apart("net") else ""

    def _is_apart(self, kind: str) -> bool:
        """Whether it is in a namespace of its own."""
        theirs, ours = (Path(f"/proc/{who}/ns/{kind}") for who in (self._process.pid, "self"))
        return theirs.readlink() != ours.readlink()

    def _of(self, name: str) -> tuple[str, str]:
        """Return a knob's bare name, and the pool in which it shows."""
        bare, _, scope = name.partition("@")
        pools = pool_names(self._survey)
        # The server's own value shows where no pool has another.
        plain = [pool for pool in pools if f"{bare}@{pool}" not in self._asked.values]
        plain = [pool for pool in plain if self._survey.reading(bare, pool) is None]
        return bare, scope or (plain or pools)[0]

    def _in_force(
        self, name: str, pool: str, wanted: str, tested: Mapping[str, Mapping[str, str]]
    ) -> tuple[str, Reason]:
        if KNOBS[name].place == "ini":
            says = self.php(pool)
            if says is not None:
                return in_force.ini_text(name, says, wanted), _PHP
            # No script of ours runs there, as in a pool with `chroot` or `open_basedir`.
            read = in_force.read_at_start(self._ini, tested.get(pool, {}))
            return in_force.ini_text(name, read, wanted), _INI
        if name == "listen.backlog":
            address = self._seat.port(self._survey.listeners[self._index(pool)].address)
            seen = in_force.backlog_listed(self._listing, address)
            if seen is not None:
                return str(seen), _SOCKETS
        if name == "pm" and (manager := self._manager(pool)):
            return manager, _STATUS_PAGE
        return in_force.read_back_text(name, tested, pool), _TEST

    def _manager(self, pool: str) -> str:
        """Ask where the pool itself listens: its own place for it would start a child more."""
        path = status_path(self._survey, pool)
        try:
            return pool_status(self._reachable(pool), path, _ANSWER_S, self._network).manager
        except OSError:
            return ""

    def _backlog_that_can_be(self, wanted: str) -> str:
        """Return a backlog as the kernel bounds one that asks for all that can be."""
        if not wanted.startswith("-"):
            return wanted
        return self._seat_says("cat", _SOMAXCONN).strip() or wanted

    def _seat_says(self, *command: str) -> str:
        try:
            return self._seat.run(command, environment={"PATH": os.defpath}, user=self._user).output
        except AdapterError:
            # What tells it is not installed: then what the server read is all there is.
            return ""

    def _ask_php(self, pool: str) -> PhpSays | None:
        extensions = self._tested.get(pool, {}).get("security.limit_extensions", ".php").split()
        script = self._frame.script(extensions[0] if extensions else ".php")
        try:
            write_own(script, in_force.PROGRAM)
            answer = ask(
                self._reachable(pool),
                {"SCRIPT_FILENAME": str(script), "SCRIPT_NAME": f"/{script.name}"},
                timeout_s=_ANSWER_S,
                network=self._network,
            )
        except OSError:
            return None
        if answer.status != _OK:
            return None
        body = answer.body.decode("utf-8", errors="replace")
        return in_force.php_says(body, mapped_bytes=self._mapped_bytes())

    def _mapped_bytes(self) -> frozenset[int]:
        try:
            maps = Path(f"/proc/{self._process.pid}/maps").read_text()
        except OSError:
            return frozenset()
        return in_force.mapped_sizes(maps)

    def _reachable(self, pool: str) -> str:
        """Return where a pool listens, as seen from here."""
        address = self._seat.port(self._survey.listeners[self._index(pool)].address)
        path = address.removeprefix("unix:")
        if path == address:
            host, _, port = address.rpartition(":")
            return f"127.0.0.1:{port}" if host == "0.0.0.0" else address  # noqa: S104
        if not self._is_apart("mnt"):
            return address
        # Its own mounts have another file there.
        return unix_address(f"/proc/{self._process.pid}/root{path}")

    def _index(self, pool: str) -> int:
        return pool_names(self._survey).index(pool)

    def _children(self) -> Counter[str]:
        """Return how many children there are, by their pools, as their titles say."""
        found: Counter[str] = Counter()
        for pid in child_pids(self._process.pid):
            try:
                title = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            words = title.rstrip(b"\0 ").decode("utf-8", errors="replace")
            found[words.removeprefix("php-fpm: pool ")] += 1
        return found


_OPTIONS_OF_OURS = {"-y": 1, "--fpm-config": 1, "-D": 0, "--daemonize": 0, "-F": 0}
_OPTIONS_OF_OURS |= {"--nodaemonize": 0, "-g": 1, "--pid": 1}
"""Options of theirs that a copy has its own of → how many arguments follow."""
_LOADED = re.compile(r"Loaded Configuration File => (.*)")
_PARSED = re.compile(r"Additional .ini files parsed => (.*?)(?:\n\n|\Z)", re.DOTALL)


def checked(member: Member, survey: Survey, seat: Seat) -> Survey | NotRunning:
    """Return the survey with what php-fpm itself says differently; NotRunning if it refuses.

    Raises:
        AdapterError: It cannot be run.
    """
    # Nobody has put their files into the seat yet: they are read where they are.
    start = _Start(member, survey, seat, lambda path: path)
    said = start.tested(start.framed())
    if said.exit_code:
        words = f"{said.output}\n{said.errors}".strip()
        return NotRunning(status="refused", detail=own_words(last_lines(words)))
    sections = in_force.read_back(f"{said.output}\n{said.errors}")
    notices = [*survey.notices, *_different(survey, sections)]
    ini_files = start.ini_files()
    known = _ini_files_known(survey)
    readings = survey.readings
    if ini_files and not known <= ini_files:
        # A change of a file that PHP does not read would change nothing.
        why = because(
            "php_fpm.other_ini_files", read=sorted(ini_files), unread=sorted(known - ini_files)
        )
        notices.append(Notice(why=why))
        names = {name for name, knob in KNOBS.items() if knob.place == "ini"}
        readings = tuple(r for r in readings if r.name not in names)
    return replace(survey, readings=readings, notices=tuple(notices))


def private_edits(survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
    """Return the edits of `include` that lead it to the seat's files; in a cell none."""
    if seat.kind == "cell":
        return ()
    prefix = place_in(survey, PREFIX)
    pools = pool_configuration(files.texts, place_in(survey, MAIN), prefix=prefix)
    return tuple(
        Edit(
            file=setting.file,
            start=setting.entry.start,
            end=setting.entry.end,
            text=mapped_include(setting.entry.text, prefix, seat),
            purpose="private",
        )
        for setting in pools.settings
        if setting.entry.name == INCLUDE and setting.entry.index is None
    )


def launched(
    member: Member,
    survey: Survey,
    seat: Seat,
    asked: Configuration,
    given: tuple[ChangeSet, Mapping[str, KnobInfo]],
) -> Launch:
    """Return how a copy is started, with its own configuration written.

    Args:
        member: Which one.
        survey: What was found of it.
        seat: Where it sits.
        asked: What is asked of its knobs.
        given: What was changed for that, and all of its knobs.

    Raises:
        AdapterError: There is no such program, or no room.
    """
    changes, known = given
    start = _Start(member, survey, seat, seat.path)
    frame = start.framed()
    copied = Copied(
        survey=survey, seat=seat, frame=frame, asked=asked, known=known, user=member.user
    )

    def test() -> str:
        said = start.tested(frame)
        return f"{said.output}\n{said.errors}"

    def insight(process: ServerProcess) -> PhpFpmInsight:
        return PhpFpmInsight(process, copied, OwnWords(test=test, ini=start.ini))

    own = [*start.command(), "--nodaemonize"]
    own += ["--fpm-config", str(frame.configuration), *changes.arguments]
    return Launch(
        command=[word for word in own if word not in changes.removed_arguments],
        environment=start.environment(),
        folder=member.folder or "/",
        user=member.user,
        error_logs=(str(frame.error_log),),
        insight=insight,
    )


def _why(error: OSError | KeyError) -> str:
    return reason(error) if isinstance(error, OSError) else str(error.args[0])


@dataclass(frozen=True, slots=True)
class _Start:
    """How the program is run in a seat."""

    member: Member
    survey: Survey
    seat: Seat
    path: Callable[[str], str]
    """Where one of their files is."""

    def framed(self) -> Frame:
        """Write the configurations around theirs."""
        main = self.path(self.member.main)
        try:
            frame = new_frame(self.member, self.seat)
            make_folders(self.survey, self.seat)
            write_own(frame.configuration, frame_text(self.survey, self.seat, frame, main))
            text = frame_text(self.survey, self.seat, frame, main, is_test=True)
            write_own(frame.test_configuration, text)
        except (OSError, KeyError) as error:
            raise AdapterError(f"`{self.member.name}` cannot be copied: {_why(error)}") from error
        return frame

    def tested(self, frame: Frame) -> ProgramOutput:
        """Let it test its configuration, and tell it."""
        return self._run("-tt", "--fpm-config", str(frame.test_configuration))

    def ini(self) -> str:
        """Let it print the ini values that it reads."""
        return self._run("-i").output

    def ini_files(self) -> frozenset[str]:
        """Return the ini files that the program says it reads; none where it says nothing."""
        output = self.ini()
        loaded, parsed = _LOADED.search(output), _PARSED.search(output)
        found = [loaded[1]] if loaded else []
        found += parsed[1].replace("\n", "").split(",") if parsed else []
        return frozenset(path for each in found if (path := each.strip()).startswith("/"))

    def command(self) -> list[str]:
        """Return program and options, without those that a copy has its own of."""
        program = program_of(self.member)
        if not program:
            raise AdapterError(
                f"the program that reads `{self.member.main}` was not found",
                hint="Say it as `program` of this member in the study.",
            )
        kept: list[str] = []
        words = iter(self.member.command[1:])
        for word in words:
            option = word.partition("=")[0] if word.startswith("--") else word
            if option not in _OPTIONS_OF_OURS:
                kept.append(word)
            elif _OPTIONS_OF_OURS[option] and "=" not in word:
                next(words, "")
        return [program, *kept, *self._apart()]

    def environment(self) -> dict[str, str]:
        """Return the variables that lead it to their ini files."""
        folder = place_in(self.survey, SCAN_FOLDER)
        is_elsewhere = folder and self.path(folder) != folder
        return {"PHP_INI_SCAN_DIR": self.path(folder)} if is_elsewhere else {}

    def _apart(self) -> list[str]:
        """Return options by which a copy that sees their files writes none of them."""
        php_ini = place_in(self.survey, PHP_INI)
        is_elsewhere = php_ini and self.path(php_ini) != php_ini
        words = ["-c", self.path(php_ini)] if is_elsewhere else []
        if self.seat.kind != "cell":
            words += ["-d", f"opcache.lockfile_path={self.seat.folder}"]
            words += ["-d", f"sys_temp_dir={self.seat.folder}"]
        return words

    def _run(self, *arguments: str) -> ProgramOutput:
        return self.seat.run(
            [*self.command(), *arguments],
            environment={"PATH": os.defpath, **self.environment()},
            folder=self.member.folder or "/",
            user=self.member.user,
            timeout_s=self.member.ready_timeout_s,
        )


def _different(survey: Survey, sections: Mapping[str, Mapping[str, str]]) -> list[Notice]:
    found = []
    pools = pool_names(survey)
    for reading in survey.readings:
        knob = KNOBS.get(reading.name)
        if knob is None or knob.place == "ini":
            continue
        said = in_force.read_back_text(reading.name, sections, reading.scope or pools[0])
        if said and not is_same(reading.name, said, reading.text):
            why = because("php_fpm.says_otherwise", name=reading.name, said=said, read=reading.text)
            found.append(Notice(why=why, origin=reading.origin))
    return found


def _ini_files_known(survey: Survey) -> frozenset[str]:
    """Return `php.ini`, and the files in which knobs were found."""
    names = {name for name, knob in KNOBS.items() if knob.place == "ini"}
    found = {r.origin.file for r in survey.readings if r.name in names and r.origin}
    pool_files = {r.origin.file for r in survey.readings if r.name not in names and r.origin}
    php_ini = place_in(survey, PHP_INI)
    return frozenset({*(found - pool_files), *([php_ini] if php_ini else [])})
