"""A running copy of Apache: how it is started in its sandbox, and what it says of itself.

What a running Apache has in force: what it read, and what it made of that. Pure.

At a start it says on its error output what it changes (`WARNING: …`); at a graceful restart it
says so in its error log, and for some only that it does. What it changes without a word is in
`rule.py`, and redone here.

A running copy: how it is started in its seat, and what it says of itself.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.host.sock_diag import ListeningSocket, listening_sockets
from httpdyno.model import Effective, KnobInfo, Level, Reading, Survey, level_text
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.apache import in_force as study
from httpdyno.servers.apache.in_force import adjustments
from httpdyno.servers.apache.knob import (
    BACKLOG,
    FOUND,
    HTACCESS,
    LINK_CHECKS,
    ONE_VALUE,
    OWN_KNOBS,
    SPARE,
    is_threaded,
    number_of,
    present_name,
    reading_of,
    said_text,
    spare_names,
    spare_values,
)
from httpdyno.servers.apache.reading import OPTIONS, Scopes, allowing_scopes, checking, is_checking
from httpdyno.servers.apache.survey import Dump, parsed_dump, split_name
from httpdyno.servers.log_file import log_text
from httpdyno.servers.network.address import network_of
from httpdyno.servers.network.probe import HttpStatusPage, StatusPage
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.live_process import child_pids
from httpdyno.servers.stack.adapter import Insight, Seat
from httpdyno.servers.stack.names import reached_at
from httpdyno.servers.staging import last_lines

_EVERYWHERE = ("0.0.0.0:", "[::]:")
_KEPT = re.compile(r"changing (\w+) to \d+ from original value of (\d+) not allowed")
_MATCHED = re.compile(r"(\w+) of \d+ (?:exceeds|is less than) \w+ (?:value )?of (\d+), .* to match")


def said_values(survey: Survey, output: str, words: str) -> Survey:
    """Return a survey of what is in force, after one as found.

    Args:
        survey: As found: its modules, and which hosts and folders there are.
        output: What the server printed for `-D DUMP_CONFIG` at its last reading.
        words: What it said at its start or restart.
    """
    dump = parsed_dump(output)
    changed = {**_adjusted(words), **dict(_MATCHED.findall(words)), **dict(_KEPT.findall(words))}
    found = [r for r in _last_readings(dump) if r.scope or r.name not in changed]
    found += [Reading(name=name, scope="", text=text) for name, text in changed.items()]
    now = structs.replace(survey, readings=tuple(found))
    silent = _silent(now)
    kept = tuple(r for r in found if r.scope or r.name not in silent)
    said = tuple(Reading(name=name, scope="", text=str(n)) for name, n in silent.items())
    return structs.replace(survey, readings=(*kept, *said))


def knob_values(
    found: Survey, now: Survey, known: Mapping[str, KnobInfo], asked: Mapping[str, Level]
) -> dict[str, str]:
    """Return each knob's value in force, as levels are written.

    Args:
        found: The survey as found.
        now: What is in force.
        known: The knobs that are offered.
        asked: All levels that it was started with.
    """
    values: dict[str, str] = {}
    for name, info in known.items():
        directive, scope = split_name(name)
        if name == SPARE:
            values[name] = _spare(found, now, asked)
        elif name == HTACCESS:
            values[name] = _overriding(found, now)
        elif name == LINK_CHECKS:
            values[name] = _looking(found, now)
        elif (reading := reading_of(now, directive, scope)) is not None:
            values[name] = said_text(OWN_KNOBS[directive].info, reading.text)
        elif (default := _unset(found, name, info)) is not None:
            values[name] = level_text(default)
    return values


def _adjusted(words: str) -> dict[str, str]:
    return {name: str(number) for name, number in adjustments(words).items()}


def _last_readings(dump: Dump) -> Iterable[Reading]:
    scopes = Scopes(dump.directives)
    last: dict[tuple[str, str], Reading] = {}
    options: list[Reading] = []
    for directive in dump.directives:
        name = present_name(directive.name)
        reading = Reading(name=name, scope=scopes.of(directive), text=directive.arguments)
        if name.lower() in ONE_VALUE:
            last[(name.lower(), reading.scope)] = reading
        elif name.lower() == OPTIONS.lower():
            # Of several in a scope each may count.
            options.append(structs.replace(reading, name=OPTIONS))
    return [*last.values(), *options]


def _silent(now: Survey) -> dict[str, int]:
    """Return what Apache changes without a word."""
    _, least_name, most_name = spare_names(now)
    if reading_of(now, most_name) is None and reading_of(now, least_name) is None:
        return {}
    threads = number_of(now, "ThreadsPerChild") if is_threaded(now) else 1
    least, most = number_of(now, least_name), number_of(now, most_name)
    return {most_name: least + threads} if most < least + threads else {}


def _spare(found: Survey, now: Survey, asked: Mapping[str, Level]) -> str:
    names = spare_names(found)
    numbers = {name: level for name, level in asked.items() if type(level) is int}
    wanted = str(asked.get(SPARE, FOUND))
    expected = {name: number_of(found, name) for name in names}
    expected |= spare_values(found, wanted, numbers)
    present = {name: number_of(now, name) for name in names}
    # What goes along with more threads is no other band.
    is_raised = wanted == FOUND and present[names[2]] >= expected[names[2]]
    different = [
        n for n in names if present[n] != expected[n] and not (is_raised and n == names[2])
    ]
    if not different:
        return wanted
    return ", ".join(f"{name} {number}" for name, number in present.items())


def _overriding(found: Survey, now: Survey) -> str:
    allowing = set(allowing_scopes(now)) & {r.scope for r in found.readings if r.name == HTACCESS}
    return FOUND if allowing else "inlined"


def _looking(found: Survey, now: Survey) -> str:
    """Return whether links are still looked for in a scope of those that the knob changes."""
    scopes = {each.scope for each in checking(found)}
    looked = (r for r in now.readings if r.name == OPTIONS and r.scope in scopes)
    return FOUND if any(is_checking(each.text) for each in looked) else "followed"


def _unset(found: Survey, name: str, info: KnobInfo) -> Level | None:
    """Return what is compiled in, where nothing sets a directive any more or yet."""
    return info.default if reading_of(found, *split_name(name)) is None else None


def backlogs(sockets: Iterable[ListeningSocket], addresses: Iterable[str]) -> list[int]:
    """Return the queue lengths of the sockets that listen at these addresses.

    `Listen 80` is one socket of both families, `[::]:80`.
    """
    wanted = set(addresses)
    ports = {each.rpartition(":")[2] for each in wanted if each.startswith(_EVERYWHERE)}
    return [
        each.backlog
        for each in sockets
        if each.address in wanted
        or (each.address.startswith(_EVERYWHERE) and each.address.rpartition(":")[2] in ports)
    ]


def with_backlog(values: Mapping[str, str], seen: list[int]) -> dict[str, str]:
    """Return the values with the queue length that the kernel has, where it was seen."""
    return {**values, BACKLOG: str(min(seen))} if seen and BACKLOG in values else dict(values)


DUMP = "apache-dump.txt"
_DUMP_BYTES = 1 << 25
_LOG_LINES = "40"


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
        return study.is_refusal(exit_code, words)

    def lacking(self) -> Reason | None:
        """Return how many of its processes are up; None when all are."""
        now = self._now()
        threads = number_of(now, "ThreadsPerChild") if is_threaded(now) else 1
        most = max(1, number_of(now, "MaxRequestWorkers") // max(1, threads))
        wanted = min(number_of(now, "StartServers"), most)
        running = len(worker_pids(self._process.pid))
        if running >= wanted:
            return None
        return because("servers.processes_up", n=running, of=wanted)

    def effective(self) -> Effective | NotRunning:
        """Return what the running server says is in force, and what was asked of it."""
        started = self._started
        if not self._dump():
            return NotRunning(status="refused", detail=because("servers.no_mod_info"))
        values = knob_values(started.found, self._now(), started.known, started.asked)
        seen = self._backlogs()
        return Effective(
            values=with_backlog(values, seen),
            asked={name: level_text(level) for name, level in started.asked.items()},
            sources=(study.SOURCE, because("apache.source_sockets")) if seen else (study.SOURCE,),
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
