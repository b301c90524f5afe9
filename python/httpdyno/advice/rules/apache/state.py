"""What Perl keeps in files from one request to the next, and where these lie."""

import posixpath
import re
from collections.abc import Iterator

from httpdyno.advice.rules.apache.perl import MODULE, perl_lines, perl_variables, uses_asp
from httpdyno.advice.rules.declaration import BOOK, Rule, Seen
from httpdyno.advice.rules.facts import Facts, where
from httpdyno.advice.rules.file_system import MEMORY, NETWORK
from httpdyno.model import Record

_NO = frozenset({"", "0"})
_SESSION_FILE = re.compile(r"\bApache::Session::File\b")
_SESSION = re.compile(r"session", re.IGNORECASE)
_DIRECTORY = re.compile(r"\b(?:Lock)?Directory['\"]?\s*(?:=>|=)\s*['\"]?(/[^\s'\",;]*)")
_OF_FOLDER = re.compile(r"(?:Lock)?Dir(?:ectory)?$", re.IGNORECASE)


class State(Record, frozen=True):
    """A folder that Perl keeps state in."""

    folder: str
    whose: str
    seen: str
    """Where the configuration says so."""


def states(facts: Facts) -> tuple[State, ...]:
    """Return the folders that a configuration tells; those that depend on the script are none."""
    if not facts.has_module(MODULE):
        return ()
    return tuple(dict.fromkeys([*_of_asp(facts), *_of_sessions(facts)]))


def _of_asp(facts: Facts) -> Iterator[State]:
    if not uses_asp(facts):
        return
    found = list(perl_variables(facts))
    off = {
        reading.scope for name, value, reading in found if name == "NoState" and value not in _NO
    }
    own = {reading.scope for name, _, reading in found if name == "StateDir"}
    for name, value, reading in found:
        if reading.scope in off or not value.startswith("/"):
            continue
        if name == "StateDir":
            yield State(folder=posixpath.normpath(value), whose="Apache::ASP", seen=where(reading))
        elif name == "Global" and "" not in own and reading.scope not in own:
            folder = posixpath.join(posixpath.normpath(value), ".state")
            yield State(folder=folder, whose="Apache::ASP", seen=where(reading))


def _of_sessions(facts: Facts) -> Iterator[State]:
    for name, value, reading in perl_variables(facts):
        if not _SESSION.search(name):
            continue
        folders = _DIRECTORY.findall(value)
        if _OF_FOLDER.search(name) and value.startswith("/"):
            folders.append(value)
        for folder in folders:
            yield _session_state(folder, where(reading))
    lines = list(perl_lines(facts))
    if any(_SESSION_FILE.search(line) for line, _ in lines):
        for line, at in lines:
            for folder in _DIRECTORY.findall(line):
                yield _session_state(folder, f"{line}, {at}")


def _session_state(folder: str, seen: str) -> State:
    return State(folder=posixpath.normpath(folder), whose="Apache::Session", seen=seen)


def _kept(facts: Facts) -> Iterator[Seen]:
    found: dict[tuple[str, str], list[str]] = {}
    for state in states(facts):
        found.setdefault((state.folder, state.whose), []).append(state.seen)
    for (folder, whose), places in found.items():
        kind = facts.filesystems.get(folder, "")
        if kind and kind not in MEMORY:
            yield Seen(
                what=f"each request with a session of {whose} locks, reads and writes files of "
                f"{kind}",
                evidence=(f"{folder} is {kind}", *places),
                severity="doubtful" if kind in NETWORK else None,
            )


RULES = (
    Rule(
        name="perl-state-on-disk",
        kinds=("apache",),
        severity="hint",
        checks="State of Apache::ASP or sessions of Apache::Session in files on a disk, or on "
        "another machine",
        matters="Each request with a session locks its file, reads it and writes it again, in "
        "Apache::ASP also those of the application. On a disk that is busy or slow a request waits "
        "for that; over a network each lock is a way there and back.",
        needs="The configuration, a `<Perl>` section or a file that is run at the start names the "
        "folder by its whole path: `StateDir` or `Global` of Apache::ASP, a directory of a "
        "session's; and the type of its file system is known.",
        do="put the folder on a file system in this machine's memory (tmpfs); with Apache::ASP, "
        "`PerlSetVar NoState 1` where nothing uses `$Session`",
        risks="in memory sessions end with the machine, take memory, and other machines do not see "
        "them",
        wrong="the kernel's cache takes the writes of a local disk, as it mostly does; or several "
        "machines have to see them",
        source=f"Chamas, Apache::ASP Site Tuning, 1999; {BOOK}; "
        "metacpan.org/pod/Apache::ASP#StateDir",
        look=_kept,
    ),
)
