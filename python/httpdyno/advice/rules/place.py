"""What is written for each request, and the file system that it is written to."""

from collections.abc import Iterator

from httpdyno.advice.rules.apache.state import states
from httpdyno.advice.rules.declaration import GUNICORN, PHP, Rule, Seen
from httpdyno.advice.rules.facts import Facts, is_said, where, words
from httpdyno.advice.rules.file_system import MEMORY, NETWORK
from httpdyno.model import Reading

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


RULES = (
    Rule(
        name="sessions-on-network",
        kinds=("php-fpm", "apache"),
        severity="doubtful",
        checks="Sessions of PHP in files on another machine",
        matters="A session's file is locked, read and written for each request, each of it a way "
        "over the network, and requests of one visitor wait for each other's lock.",
        needs="`session.save_path` is written, with mod_php by `php_value`; the handler is "
        "`files` or not written, and the type of the file system is known.",
        do="keep sessions on a file system of this machine's memory, or in Redis or memcached",
        risks="in memory they end with the machine, and another machine does not see them",
        wrong="sessions are used by few requests, and several machines have to see them",
        source=f"{PHP}session.configuration.php#ini.session.save-path",
        look=_sessions,
    ),
    Rule(
        name="heartbeat-on-disk",
        kinds=("gunicorn",),
        severity="hint",
        checks="`worker_tmp_dir` on a disk",
        matters="A worker tells that it lives by changing a file's times; where that waits for a "
        "disk, the worker does nothing else, and is killed in the end.",
        needs="The folder is written, and the type of its file system is known.",
        do="set `worker_tmp_dir` to `/dev/shm`",
        risks="none: the files are empty",
        wrong="the disk is never busy",
        source="docs.gunicorn.org/en/stable/faq.html#blocking-os-fchmod; "
        f"{GUNICORN}#worker-tmp-dir",
        look=_heartbeat,
    ),
)
