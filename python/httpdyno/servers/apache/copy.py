"""A running copy: how it is started in its seat, and what it says of itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.sock_diag import listening_sockets
from httpdyno.model import Effective, KnobInfo, Level, Survey, level_text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.apache import in_force as study
from httpdyno.servers.apache.said import (
    backlogs,
    knob_values,
    said_values,
    with_backlog,
)
from httpdyno.servers.apache.setting import is_threaded, number_of
from httpdyno.servers.log_file import log_text
from httpdyno.servers.network.address import network_of
from httpdyno.servers.network.probe import HttpStatusPage, StatusPage
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.live_process import child_pids
from httpdyno.servers.stack.adapter import Insight, Seat
from httpdyno.servers.stack.listener import reached_at
from httpdyno.servers.staging import last_lines

DUMP = "apache-dump.txt"
_DUMP_BYTES = 1 << 25
_LOG_LINES = "40"
_IN_USE = "Address already in use"
_SOURCE = "the running Apache's -D DUMP_CONFIG and its warnings"
_SOCKETS = "listening sockets"


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """What a copy was started with."""

    found: Survey
    known: Mapping[str, KnobInfo]
    asked: Mapping[str, Level]
    seat: Seat
    dump: Path
    """Where it prints its configuration."""
    error_log: str
    """As seen in the seat; empty where it has none."""
    user: str = ""
    """Whom it runs as; empty is root, or whoever runs httpdyno."""


class SiteInsight(Insight):
    """What a copy's logs, dump, processes and sockets say."""

    def __init__(self, process: ServerProcess, started: Started) -> None:
        self._process = process
        self._started = started

    def words(self) -> str:
        """Return the end of what it printed and logged, without what is no trouble."""
        lines = f"{self._process.last_words()}\n{self._log()}".splitlines()
        return last_lines("\n".join(line for line in lines if not study.QUIET.search(line)))

    def refusal(self, exit_code: int | None, words: str) -> bool:
        """Whether it exited because it refused its configuration, as against crashed."""
        return exit_code == 1 and _IN_USE not in words and bool(study.REFUSED.search(words))

    def lacking(self) -> str:
        """Return in words how many of its processes are not up yet; empty when all are."""
        now = self._now()
        threads = number_of(now, "ThreadsPerChild") if is_threaded(now) else 1
        most = max(1, number_of(now, "MaxRequestWorkers") // max(1, threads))
        wanted = min(number_of(now, "StartServers"), most)
        running = len(worker_pids(self._process.pid))
        return f"{running} of {wanted} processes are up" if running < wanted else ""

    def effective(self) -> Effective | NotRunning:
        """Return what the running server says is in force, and what was asked of it."""
        started = self._started
        if not self._dump():
            words = "what is in force is unknown: install Apache's mod_info, which prints it"
            return NotRunning(status="refused", detail=words)
        values = knob_values(started.found, self._now(), started.known, started.asked)
        seen = self._backlogs()
        return Effective(
            values=with_backlog(values, seen),
            asked={name: level_text(level) for name, level in started.asked.items()},
            source=f"{_SOURCE}, {_SOCKETS}" if seen else _SOURCE,
        )

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return each place of mod_status, at each address that speaks plain HTTP."""
        started, network = self._started, network_of(self._process.pid)
        return tuple(
            HttpStatusPage(
                address=reached_at(started.seat.port(listener.address)),
                path=path,
                host=next(iter(listener.names), ""),
                network=network,
            )
            for path in dict.fromkeys(study.status_paths(self._dump()))
            for listener in started.found.listeners
            if not listener.is_tls
        )

    def _now(self) -> Survey:
        dump = self._dump()
        if not dump:
            return self._started.found
        return said_values(self._started.found, dump, self._process.first_words())

    def _dump(self) -> str:
        return log_text(self._started.dump, n_bytes=_DUMP_BYTES)

    def _backlogs(self) -> list[int]:
        started = self._started
        addresses = [started.seat.port(each.address) for each in started.found.listeners]
        try:
            sockets = listening_sockets(f"/proc/{self._process.pid}/ns/net")
        except AdapterError:
            return []
        return backlogs(sockets, addresses)

    def _log(self) -> str:
        if not self._started.error_log:
            return ""
        command = ["/usr/bin/tail", "-n", _LOG_LINES, self._started.error_log]
        try:
            return self._started.seat.run(
                command, environment={"LANG": "C"}, user=self._started.user
            ).output
        except AdapterError:
            return ""


def worker_pids(pid: int) -> tuple[int, ...]:
    """Return the children of Apache's first process that run the same program.

    Programs that logs are piped into are children of it, too.
    """
    program = _program(pid)
    return tuple(child for child in child_pids(pid) if not program or _program(child) == program)


def _program(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""
