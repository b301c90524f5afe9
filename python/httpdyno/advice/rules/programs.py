"""Rules of what is written, and where to, whatever server does it; and of node."""

import re
from collections.abc import Iterator, Mapping

from httpdyno.advice.rules.apache_perl import states
from httpdyno.advice.rules.declaration import Proposed, Seen, rule
from httpdyno.advice.rules.facts import MEMORY, NETWORK, Facts, is_said, where, words
from httpdyno.model import Reading

_LOUD = re.compile(r"(?:[\w.]+:)?(debug|trace[1-8]?)", re.IGNORECASE)
_LEVELS: Mapping[str, str] = {
    "apache": "LogLevel",
    "nginx": "error_log",
    "php-fpm": "log_level",
    "gunicorn": "loglevel",
    "uvicorn": "log_level",
}
"""Kind → the reading."""
_CALM: Mapping[str, str] = {"apache": "warn", "uvicorn": "info"}
"""Kind whose level is a knob → what it proposes. Above info uvicorn writes no access log either,
which would be another question."""
_PYTHON = ("gunicorn", "uvicorn")
_NGINX_DEBUG = "--with-debug"
"""Of its build: else it writes no more at that level."""


@rule("debug-log")
def _logs(facts: Facts) -> Iterator[Seen]:
    if facts.kind == "nginx" and not facts.has_module(_NGINX_DEBUG):
        return
    found = [each for each in facts.said(_LEVELS[facts.kind]) if _is_loud(each, facts.kind)]
    places = tuple(map(where, found))
    flag = facts.flag("--log-level") if facts.kind in _PYTHON else ""
    if flag:
        # It counts before the file.
        places = (f"--log-level {flag}, its command line",) if _LOUD.fullmatch(flag) else ()
    if places:
        calm = _CALM.get(facts.kind)
        yield Seen(
            what="each request writes lines for debugging into the error log",
            evidence=places,
            proposes=(Proposed(knob=_LEVELS[facts.kind], value=calm),) if calm else (),
        )


def _is_loud(reading: Reading, kind: str) -> bool:
    given = words(reading.text)
    # The first word of nginx's is a path.
    return any(_LOUD.fullmatch(word) for word in (given[1:] if kind == "nginx" else given))


@rule("node-environment")
def _node(facts: Facts) -> Iterator[Seen]:
    names = facts.environment_names
    # Where nothing is known of the environment, or the command line sets it, nothing is said.
    if not names or facts.pool is None:
        return
    if "NODE_ENV" not in names and not any("NODE_ENV" in word for word in facts.command):
        yield Seen(
            what="`NODE_ENV` is not set: Express and others then keep no compiled views, and show "
            "traces of errors to visitors",
            evidence=(f"names of its environment: {len(names):,}, and it is none of them",),
        )


# What is written for each request, and the file system that it is written to.

_FILES = "files"
_SESSIONS, _HANDLER = "session.save_path", "session.save_handler"
_HEARTBEATS = "worker_tmp_dir"
_SETTINGS = frozenset({_SESSIONS, _HEARTBEATS})


def folders_of(facts: Facts) -> tuple[str, ...]:
    """Return the folders whose file systems rules ask for."""
    found = [each for each in facts.survey.readings if each.name in _SETTINGS and is_said(each)]
    found += [reading for _, reading in _of_mod_php(facts, _SESSIONS)]
    told = [folder for each in found if (folder := _folder(each))]
    return tuple(dict.fromkeys([*told, *(each.folder for each in states(facts))]))


def _folder(reading: Reading) -> str:
    # `N;MODE;/path` of PHP is a path, too; of `php_value` it is the second word.
    text = words(reading.text)[-1] if reading.name.lower().startswith("php_") else reading.text
    folder = text.rpartition(";")[2].strip("\"'")
    return folder if folder.startswith("/") else ""


def _of_mod_php(facts: Facts, name: str) -> Iterator[tuple[str, Reading]]:
    """Yield value and directive of a setting of PHP that stands in an Apache's configuration."""
    for directive in ("php_value", "php_admin_value"):
        for reading in facts.said(directive):
            given, *value = words(reading.text) or [""]
            if given == name and value:
                yield value[0], reading


def _handlers(facts: Facts) -> list[tuple[str, str]]:
    """Return scope and name of each handler of sessions that is set."""
    said = facts.said(_HANDLER)
    found = [(each.scope, each.text) for each in said]
    return [*found, *((each.scope, value) for value, each in _of_mod_php(facts, _HANDLER))]


@rule("sessions-on-network")
def _sessions(facts: Facts) -> Iterator[Seen]:
    inside = (reading for _, reading in _of_mod_php(facts, _SESSIONS))
    for reading in (*facts.said(_SESSIONS), *inside):
        handlers = [name for scope, name in _handlers(facts) if scope in ("", reading.scope)]
        kind = facts.filesystems.get(_folder(reading), "")
        if kind in NETWORK and all(each == _FILES for each in handlers):
            yield Seen(
                what=f"each request with a session locks, reads and writes a file of {kind}",
                evidence=(where(reading), f"{_folder(reading)} is {kind}"),
            )


@rule("heartbeat-on-disk")
def _heartbeat(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading(_HEARTBEATS)
    if reading is None or not is_said(reading):
        return
    kind = facts.filesystems.get(_folder(reading), "")
    if kind and kind not in MEMORY:
        yield Seen(
            what=f"workers touch their heartbeat on {kind}: while that is busy they are taken for "
            "dead",
            evidence=(where(reading), f"{_folder(reading)} is {kind}"),
            severity="doubtful" if kind in NETWORK else None,
        )
