"""What configuration Apache really runs with, from its own words.

`-D DUMP_CONFIG` prints the directives as read, but not what the MPM makes of them afterwards.
That is in warnings (workers over ServerLimit are clipped), or nowhere at all: a MaxSpareServers
that is not above MinSpareServers silently becomes one more than it.

Source of the silent rules: httpd 2.4 documentation, prefork, MaxSpareServers ("Apache httpd will
automatically adjust it to MinSpareServers + 1"), and StartServers, of which no more than
MaxRequestWorkers are ever started; under `worker` and `event` no more than MaxRequestWorkers /
ThreadsPerChild.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from httpdyno.model import Effective
from httpdyno.reason import because
from httpdyno.servers.apache.knob import KNOBS, MPM
from httpdyno.servers.network.probe import FOR_PROGRAMS

_ADJUSTED = re.compile(
    r"(?:WARNING|AH\d{5}): (\w+) of (-?\d+) .*?"
    r"(?:decreasing|increasing)(?: \w+)? to (?:nearest multiple )?(-?\d+)"
)
_REFUSED = re.compile(r"AH00526|AH00534|AH0001[46]|Syntax error|Configuration Failed")
"""Words of a server that does not take its configuration."""
_IN_USE = re.compile("Address already in use")
SOURCE = because("apache.source")
QUIET = re.compile(r"\[\w+:(?:notice|info|debug|trace\d)\]")
"""Lines of its log that say of no trouble."""
_MPM_SAYS = re.compile(r"\[mpm_(\w+):")
_OPENS = re.compile(r"<(\w+)\s*([^>]*)>")
_LOCATION = re.compile(r'<Location\s+"?(/[^"\s]*)"?\s*>', re.IGNORECASE)
_TRANSPARENT = frozenset({"ifmodule", "ifdefine", "ifversion", "ifdirective", "iffile"})
_MIN_SPARE_DEFAULT = 5
PREFORK = "prefork"
_PREFORK_START = 5
_THREADED_START = 3
_PREFORK_WORKERS = 256
_THREADED_WORKERS = 400
_THREADS_PER_CHILD = 25
"""Defaults of httpd 2.4, mpm_common; `worker` and `event` are threaded and have the same ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Directive:
    """One directive of the dump."""

    name: str
    arguments: str
    section: str
    """Such as `<VirtualHost *:80>`; empty for the main server."""


def directives(dump: str) -> list[Directive]:
    """Return the directives of a `-D DUMP_CONFIG`, in order."""
    found: list[Directive] = []
    sections: list[tuple[str, str]] = []
    for raw in dump.splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("</"):
            if sections:
                sections.pop()
            continue
        opening = _OPENS.fullmatch(line)
        if opening is not None:
            sections.append((opening[1], line))
            continue
        name, _, arguments = line.partition(" ")
        inner = [text for kind, text in sections if kind.lower() not in _TRANSPARENT]
        found.append(
            Directive(name=name, arguments=arguments.strip(), section=inner[-1] if inner else "")
        )
    return found


def status_paths(dump: str) -> tuple[str, ...]:
    """Return the paths at which mod_status says its scoreboard for programs, `/status?auto`."""
    return tuple(
        f"{place[1]}{FOR_PROGRAMS}"
        for directive in directives(dump)
        if directive.name.lower() == "sethandler"
        and directive.arguments.strip('"').lower() == "server-status"
        and (place := _LOCATION.fullmatch(directive.section))
    )


def is_refusal(exit_code: int | None, words: str) -> bool:
    """Whether Apache exited because it refused its configuration, as against crashed."""
    return exit_code == 1 and not _IN_USE.search(words) and bool(_REFUSED.search(words))


def adjustments(words: str) -> dict[str, int]:
    """Return what Apache says that it changed: directive → value in force."""
    return {match[1]: int(match[3]) for match in _ADJUSTED.finditer(words)}


def running_mpm(words: str) -> str:
    """Return the module that says in Apache's log that it runs the processes; empty before that.

    It says so with the level `notice`, which no LogLevel keeps out of a file.
    """
    found = _MPM_SAYS.search(words)
    return found[1] if found else ""


def effective(dump: str, words: str, asked: Mapping[str, str], *, mpm: str = PREFORK) -> Effective:
    """Return what is in force of the knobs, and what was asked of them.

    Args:
        dump: What it printed for `-D DUMP_CONFIG`; it reads its configuration twice.
        words: What Apache wrote to its error output and log.
        asked: Directive → argument, as Apache writes it; and the MPM, where it is a knob.
        mpm: The module that runs its processes.
    """
    names = {name.lower(): name for name in KNOBS}
    values: dict[str, str] = {}
    elsewhere: dict[str, Directive] = {}
    for directive in directives(dump):
        name = names.get(directive.name.lower())
        if name is None:
            continue
        if directive.section:
            elsewhere[name] = directive
        else:
            values[name] = _canonical(name, directive.arguments)
    values |= {name: str(value) for name, value in adjustments(words).items()}
    values |= _silent_adjustments(values, _most_processes(mpm, values, dump, words))
    for name, directive in elsewhere.items():
        other = _canonical(name, directive.arguments)
        if name in asked and other != values.get(name):
            values[name] = f"{values.get(name, 'not set')} ({other} in {directive.section})"
    if MPM.name in asked:
        values[MPM.name] = running_mpm(words)
    return Effective(
        values=values,
        asked=dict(asked),
        sources=(SOURCE,),
    )


def processes_at_start(mpm: str, dump: str, words: str) -> int:
    """Return how many processes Apache starts before it looks at its load."""
    values = effective(dump, words, {}, mpm=mpm).values
    started = _number(values, "StartServers")
    if started is None:
        started = _PREFORK_START if mpm == PREFORK else _THREADED_START
    return min(started, _most_processes(mpm, values, dump, words))


def _most_processes(mpm: str, values: Mapping[str, str], dump: str, words: str) -> int:
    """Return the limit of processes: under the threaded modules several workers share one."""
    workers = _number(values, "MaxRequestWorkers")
    if mpm == PREFORK:
        return _PREFORK_WORKERS if workers is None else workers
    threads = _THREADS_PER_CHILD
    for directive in directives(dump):
        if directive.name.lower() == "threadsperchild" and directive.arguments.isdecimal():
            threads = int(directive.arguments)
    threads = adjustments(words).get("ThreadsPerChild", threads)
    return max(1, (_THREADED_WORKERS if workers is None else workers) // max(1, threads))


def _silent_adjustments(values: Mapping[str, str], most_processes: int) -> dict[str, str]:
    adjusted = {}
    least = _number(values, "MinSpareServers") or _MIN_SPARE_DEFAULT
    most = _number(values, "MaxSpareServers")
    if most is not None and most <= least:
        adjusted["MaxSpareServers"] = str(least + 1)
    started = _number(values, "StartServers")
    if started is not None and started > most_processes:
        adjusted["StartServers"] = str(most_processes)
    return adjusted


def _number(values: Mapping[str, str], name: str) -> int | None:
    text = values.get(name, "")
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def _canonical(name: str, arguments: str) -> str:
    bare = arguments.strip('"')
    if KNOBS[name].kind == "integer":
        # Apache reads numbers by atoi: what is none silently becomes 0.
        digits = re.match(r"[+-]?\d+", bare)
        return str(int(digits[0])) if digits else "0"
    return bare.capitalize() if bare.lower() in {"on", "off"} else bare
