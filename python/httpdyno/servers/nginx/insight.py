"""What a running copy of nginx tells: its words, its workers, its sockets, its files.

nginx cannot be asked for its settings. So what is seen from outside counts first (workers, their
open-file limit, the sockets with their backlogs), and the rest is read from the files of the mount
namespace that the process itself is in.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.sock_diag import ListeningSocket, listening_sockets
from httpdyno.model import Effective, Level, level_text
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.link import seen_file
from httpdyno.servers.log_file import foreign_log_end
from httpdyno.servers.network.address import network_of
from httpdyno.servers.network.probe import StatusPage
from httpdyno.servers.nginx.catalogue import TUNABLES
from httpdyno.servers.nginx.conf import Build, Conf, conf_of, files_of, is_file
from httpdyno.servers.nginx.endpoint import name_for, status_pages
from httpdyno.servers.nginx.knob import SOCKET_OPTIONS
from httpdyno.servers.nginx.text import level_of
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.live_process import child_pids
from httpdyno.servers.stack.adapter import Insight
from httpdyno.servers.staging import last_lines

_TITLE = b"nginx: worker process"
_LEAVING = b"is shutting down"
_OPEN_FILES = re.compile(r"^Max open files +(\d+)", re.MULTILINE)


def workers(master: int) -> tuple[int, ...]:
    """Return the workers that take connections, those that are leaving left out.

    They are the generation of a master: after a reload that was taken up, all of them are others.
    """
    return tuple(pid for pid in child_pids(master) if _is_worker(pid))


def open_files_limit(pid: int) -> int | None:
    """Return how many files a process may have open; None where it is not told."""
    try:
        text = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
    except OSError:
        return None
    match = _OPEN_FILES.search(text)
    return int(match[1]) if match else None


def _is_worker(pid: int) -> bool:
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return title.startswith(_TITLE) and _LEAVING not in title


_QUIET = re.compile(r"\[(?:notice|info|debug)\]")
_REFUSED = re.compile(r"\[emerg\]|nginx: invalid option|nginx: option ")
_IN_USE = re.compile("Address already in use")
_OF_SOCKETS = {each.info.name: each for each in SOCKET_OPTIONS}
_COUNTED = "worker_processes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """What a copy was started with."""

    program: str
    main: str
    """Its main file, as it opens it."""
    build: Build
    asked: Mapping[str, Level]
    changed: frozenset[str]
    """Those of the knobs that are asked for another value than was found."""
    moved: Callable[[str], str]
    """From a scope to what it is in the copy, where that is an address."""


class NginxInsight(Insight):
    """What is known of one running copy."""

    def __init__(self, process: ServerProcess, started: Started) -> None:
        self._process = process
        self._started = started
        self._conf: Conf | None = None

    def words(self) -> str:
        """Return the end of what it printed and logged, without notices."""
        said = [self._process.last_words()]
        said += [foreign_log_end(file) for file in self._error_logs()]
        lines = [line for text in said for line in text.splitlines() if not _QUIET.search(line)]
        return last_lines("\n".join(dict.fromkeys(lines)))

    def refusal(self, exit_code: int | None, words: str) -> bool:
        """Whether it exited because it refused its configuration, as against crashed."""
        return exit_code == 1 and not _IN_USE.search(words) and bool(_REFUSED.search(words))

    def lacking(self) -> Reason | None:
        """Return how many workers are up; None when all are."""
        if not self._has_begun():
            return because("servers.not_up", program="nginx")
        conf = self._read()
        if conf is None or conf.main.arguments("master_process") == ("off",):
            return None
        wanted = _level(conf, _COUNTED)
        running = len(workers(self._process.pid))
        if isinstance(wanted, int) and running < wanted:
            return because("servers.workers_up", n=running, of=wanted)
        return None

    def effective(self) -> Effective | NotRunning:
        """Return what is in force of each knob that was asked."""
        conf = self._read()
        if conf is None:
            return NotRunning(status="refused", detail=because("servers.files_unreadable"))
        seen = self._seen(conf)
        values = {}
        asked = self._started.asked
        for name in asked:
            # A limit of this machine may hold below what was found, here as there.
            is_bare = name not in self._started.changed and name != _COUNTED
            text = (None if is_bare else seen.get(name)) or self._text_read(conf, name)
            if text is not None:
                values[name] = text
        return Effective(
            values=values,
            asked={name: level_text(level) for name, level in asked.items()},
            sources=(because("nginx.source"),),
        )

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return the places of `stub_status` in what it reads."""
        conf = self._read()
        return () if conf is None else status_pages(conf, network_of(self._process.pid))

    def _read(self) -> Conf | None:
        """Return the files that it reads, from its own mount namespace; once."""
        if self._conf is None and self._has_begun():
            try:
                files = files_of(self._started.main, f"/proc/{self._process.pid}/root")
                self._conf = conf_of(files.texts, self._started.build)
            except AdapterError:
                return None
        return self._conf

    def _has_begun(self) -> bool:
        """Whether the process is nginx: what becomes it is not in its namespaces at first."""
        try:
            name = Path(f"/proc/{self._process.pid}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            return False
        return bool(name) and posixpath.basename(self._started.program).startswith(name)

    def _text_read(self, conf: Conf, name: str) -> str | None:
        bare, _, scope = name.partition("@")
        texts = {reading.scope: reading.text for reading in TUNABLES[bare].readings(conf)}
        # A backend's address may be another one here, and the upstream that is made for it has
        # the name that it got from theirs.
        labels = (scope, self._started.moved(scope), name_for(scope))
        text = next((texts[label] for label in labels if label in texts), None)
        if text is None:
            return None
        level = level_of(TUNABLES[bare].info, text)
        return text if level is None else level_text(level)

    def _seen(self, conf: Conf) -> dict[str, str]:
        running = workers(self._process.pid)
        seen: dict[str, str] = {}
        if running:
            seen[_COUNTED] = str(len(running))
            files = open_files_limit(running[0])
            if files is not None:
                seen["worker_rlimit_nofile"] = str(files)
                connections = self._started.asked.get("worker_connections")
                if isinstance(connections, int) and files < connections:
                    seen["worker_connections"] = f"{connections}, with {files} open files"
        if any(name.partition("@")[0] in _OF_SOCKETS for name in self._started.asked):
            seen |= self._sockets_seen(conf, len(running))
        return seen

    def _sockets_seen(self, conf: Conf, n_workers: int) -> dict[str, str]:
        pid = self._process.pid
        try:
            found = listening_sockets(network_of(pid))
        except AdapterError:
            return {}
        of: dict[str, list[ListeningSocket]] = {}
        for each in found:
            of.setdefault(each.address, []).append(each)
        seen: dict[str, str] = {}
        for name in self._started.asked:
            bare, _, scope = name.partition("@")
            if bare not in _OF_SOCKETS:
                continue
            wanted = [self._started.moved(scope)] if scope else _OF_SOCKETS[bare].alike(conf)
            sockets = [of[address] for address in wanted if address in of]
            if not sockets:
                continue
            if bare == "listen_backlog":
                backlogs = dict.fromkeys(str(e.backlog) for group in sockets for e in group)
                seen[name] = ", ".join(backlogs)
            elif bare == "listen_reuseport" and n_workers > 1:
                seen[name] = ", ".join(
                    dict.fromkeys(level_text(len(group) > 1) for group in sockets)
                )
        return seen

    def _error_logs(self) -> list[Path]:
        conf = self._read()
        if conf is None or not self._has_begun():
            return []
        names = [each.texts[0] for each in conf.main.own("error_log") if each.args]
        paths = [conf.build.full(name) for name in names if is_file(name)]
        return [seen_file(path, self._process.pid) for path in paths]


def _level(conf: Conf, name: str) -> Level | None:
    reading = next(iter(TUNABLES[name].readings(conf)), None)
    return None if reading is None else level_of(TUNABLES[name].info, reading.text)
