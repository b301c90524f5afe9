"""What is written for each request, and the file system that it is written to."""

from collections.abc import Iterator

from httpdyno.advice.rules.apache.state import states
from httpdyno.advice.rules.declaration import GUNICORN, PHP, Rule, Seen
from httpdyno.advice.rules.facts import Facts, is_said, where
from httpdyno.advice.rules.file_system import MEMORY, NETWORK
from httpdyno.model import Reading

_FILES = "files"
_SESSIONS, _HEARTBEATS = "session.save_path", "worker_tmp_dir"
_SETTINGS = frozenset({_SESSIONS, _HEARTBEATS})


def folders_of(facts: Facts) -> tuple[str, ...]:
    """Return the folders whose file systems rules ask for."""
    found = [each for each in facts.survey.readings if each.name in _SETTINGS and is_said(each)]
    told = [folder for each in found if (folder := _folder(each))]
    return tuple(dict.fromkeys([*told, *(each.folder for each in states(facts))]))


def _folder(reading: Reading) -> str:
    # `N;MODE;/path` of PHP is a path, too.
    folder = reading.text.rpartition(";")[2].strip("\"'")
    return folder if folder.startswith("/") else ""


def _sessions(facts: Facts) -> Iterator[Seen]:
    for reading in facts.said(_SESSIONS):
        handlers = [r for r in facts.said("session.save_handler") if r.scope in ("", reading.scope)]
        kind = facts.filesystems.get(_folder(reading), "")
        if kind in NETWORK and all(each.text == _FILES for each in handlers):
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
        kinds=("php-fpm",),
        severity="doubtful",
        checks="Sessions of PHP in files on another machine",
        matters="A session's file is locked, read and written for each request, each of it a way "
        "over the network, and requests of one visitor wait for each other's lock.",
        needs="`session.save_path` is written, the handler is `files` or not written, and the type "
        "of the file system is known.",
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
