"""What is asked of a running private copy of php-fpm.

Its own test tells what it read, its status page which process manager runs, a script in the
seat's folder what PHP has in force, and the kernel how many connections may wait.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, Effective, KnobInfo, Survey, level_text
from httpdyno.servers.log_file import log_text
from httpdyno.servers.network.address import unix_address
from httpdyno.servers.network.probe import StatusPage
from httpdyno.servers.php_fpm import in_force
from httpdyno.servers.php_fpm.fastcgi import ask
from httpdyno.servers.php_fpm.frame import Frame, status_address, status_path
from httpdyno.servers.php_fpm.in_force import PhpSays
from httpdyno.servers.php_fpm.knob import KNOBS
from httpdyno.servers.php_fpm.status import PoolStatus, PoolStatusPage, pool_status
from httpdyno.servers.php_fpm.survey import pool_names
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import write_own
from httpdyno.servers.run.live_process import child_pids
from httpdyno.servers.stack.adapter import Insight, Seat
from httpdyno.servers.staging import last_lines

_READY = "ready to handle connections"
_REFUSED_CODE = 78
"""EX_CONFIG of sysexits.h: with it php-fpm ends where it does not take its configuration."""
_IN_USE = ("Address already in use", "Another FPM instance seems to already listen")
_ANSWER_S = 5.0
_OK = 200
_SOCKETS = "the kernel's list of sockets"
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
        return exit_code == _REFUSED_CODE and not any(text in words for text in _IN_USE)

    def lacking(self) -> str:
        """Return in words which of its children are not up yet; empty when all are."""
        if _READY not in log_text(self._frame.error_log):
            return "php-fpm does not say yet that it is ready"
        running = self._children()
        for pool in pool_names(self._survey):
            wanted = in_force.n_children_at_start(self._tested.get(pool, {}))
            if running[pool] < wanted:
                return f"{running[pool]} of {wanted} children of pool `{pool}` are up"
        return ""

    def effective(self) -> Effective:
        """Return what is in force of all knobs, and what was asked of them."""
        tested = self._tested
        asked = {name: level_text(level) for name, level in self._asked.values.items()}
        values: dict[str, str] = {}
        sources = {"php-fpm -tt"}
        found = {n: level_text(i.default) for n, i in self._known.items() if i.default is not None}
        for name, wanted in {**found, **asked}.items():
            bare, pool = self._of(name)
            text, source = self._in_force(bare, pool, wanted, tested)
            if name in asked and source == _SOCKETS:
                asked[name] = self._backlog_that_can_be(wanted)
            if text:
                values[name] = text
                sources.add(source)
        return Effective(values=values, asked=asked, source=", ".join(sorted(sources)))

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
    ) -> tuple[str, str]:
        if KNOBS[name].place == "ini":
            says = self.php(pool)
            if says is not None:
                return in_force.ini_text(name, says, wanted), "PHP itself"
            # No script of ours runs there, as in a pool with `chroot` or `open_basedir`.
            read = in_force.read_at_start(self._ini, tested.get(pool, {}))
            return in_force.ini_text(name, read, wanted), "php-fpm -i"
        if name == "listen.backlog":
            address = self._seat.port(self._survey.listeners[self._index(pool)].address)
            seen = in_force.backlog_listed(self._listing, address)
            if seen is not None:
                return str(seen), _SOCKETS
        if name == "pm" and (manager := self._manager(pool)):
            return manager, "its status page"
        return in_force.read_back_text(name, tested, pool), "php-fpm -tt"

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
            write_own(script, in_force.SCRIPT)
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
