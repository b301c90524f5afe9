"""A member's survey: of its own dump in a seat, or of its text where nothing may be run."""

from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from httpdyno.model import LoadedModule, Member, Notice, Origin, Reading, Survey
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.apache.directive import Directive
from httpdyno.servers.apache.dump import parsed_dump
from httpdyno.servers.apache.in_force import adjustments
from httpdyno.servers.apache.inlined import inlinable, override_files, why_not
from httpdyno.servers.apache.invocation import INFO, info_file, invocation
from httpdyno.servers.apache.lines import Places
from httpdyno.servers.apache.reader import walk_of
from httpdyno.servers.apache.rule import SOMAXCONN
from httpdyno.servers.apache.scope import Scopes
from httpdyno.servers.apache.setting import WRITTEN
from httpdyno.servers.apache.surveyed import (
    backends,
    listeners,
    logs,
    readings,
    written_folders,
)
from httpdyno.servers.apache.tunable import HTACCESS, ONE_VALUE, is_tunable
from httpdyno.servers.apache.walk import STATIC_MODULES, Walked
from httpdyno.servers.stack.adapter import MemberFiles, Said, Seat

SERVER_ROOT = "ServerRoot"
"""The reading whose origin is the main file."""
_LOAD = "LoadModule"
_NOT_SAID = frozenset({"defaultruntimedir", "serverroot"})
"""What acts while it is read, and so is in no dump."""
_FROM_TEXT = "what is in force was taken from the text of the files"
_NOT_RUN = f"{_FROM_TEXT}; nothing was run"
_NAME = "Apache httpd"
_NOT_FOLLOWED = "an include was not followed"
"""So begins the notice of what else may be set somewhere."""
_NO_INFO = f"`mod_info` is not there, so {_FROM_TEXT}"


def is_whole(survey: Survey) -> bool:
    """Whether all that a configuration includes was read."""
    return not any(each.words.startswith(_NOT_FOLLOWED) for each in survey.notices)


def survey_of(member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
    """Return what is in force: as the server says it in its seat, else as its text says it.

    Raises:
        AdapterError: The configuration's text cannot be followed.
    """
    walk = walk_of(member, dict(files.texts))
    info = info_file(walk)
    if seat is None:
        return _with_info(_survey(walk, files, _written(walk, _NAME, _NOT_RUN)), info)
    call = invocation(member, seat, info=info)
    asked = seat.run([call.program, "-v"], environment=call.environment, user=member.user)
    version = asked.output.partition("\n")[0].removeprefix("Server version:").strip()
    if not call.can_dump:
        return _survey(walk, files, _written(walk, version, _NO_INFO))
    said = seat.run(
        call.dumping(),
        environment=call.environment,
        user=member.user,
        timeout_s=member.ready_timeout_s,
    )
    if said.exit_code != 0:
        # What it prints before it refuses is no part of what it says.
        return NotRunning(status="refused", detail=said.errors.strip() or "it refuses to start")
    survey = _adjusted(_survey(walk, files, _dumped(said, walk, version)), said.errors)
    return _with_info(survey, info)


def _with_info(survey: Survey, info: str | None) -> Survey:
    """Add what a copy loads besides, to say what it has read."""
    if info is None:
        return survey
    reading = Reading(name=INFO, scope="", text=info)
    return structs.replace(survey, readings=(*survey.readings, reading))


def _adjusted(survey: Survey, words: str) -> Survey:
    """Return it with the numbers that Apache says it takes in place of theirs, and theirs."""
    taken = adjustments(words)
    cut = [each for each in survey.readings if each.name in taken and not each.scope]
    readings = [
        structs.replace(each, text=str(taken[each.name]), evidence="said") if each in cut else each
        for each in survey.readings
    ]
    readings += [Reading(name=f"{each.name}{WRITTEN}", scope="", text=each.text) for each in cut]
    return structs.replace(survey, readings=tuple(readings))


def _written(walk: Walked, version: str, why: str) -> "_Said":
    modules = dict.fromkeys([*STATIC_MODULES, *walk.modules])
    return _Said(walk.directives, list(modules), version, (why,))


def _dumped(said: Said, walk: Walked, version: str) -> "_Said":
    dump = parsed_dump(said.output)
    acting = [d for d in walk.directives if d.name.lower() in _NOT_SAID]
    words = [line for line in said.errors.splitlines() if line.strip() not in {"", "Syntax OK"}]
    modules = [name for name in dump.modules if name != INFO or INFO in walk.modules]
    return _Said([*acting, *dump.directives], modules, version, tuple(words))


@dataclass(frozen=True, slots=True)
class _Said:
    directives: list[Directive]
    modules: list[str]
    version: str = ""
    words: tuple[str, ...] = ()


def _survey(walk: Walked, files: MemberFiles, said: _Said) -> Survey:
    directives = said.directives
    places, scopes = Places(files.texts), Scopes(directives)
    main = Origin(file=next(iter(walk.texts)), line=0, start=0, end=0)
    root = Reading(name=SERVER_ROOT, scope="", text=walk.server_root, origin=main)
    somaxconn = Reading(name=SOMAXCONN, scope="", text=_somaxconn(), evidence="seen")
    found = [r for r in readings(directives, places, scopes) if r.name.lower() != "serverroot"]
    notices = [Notice(words=words) for words in said.words]
    notices += [Notice(words=f"{_NOT_FOLLOWED}: {where}") for where in walk.unknown]
    survey = Survey(
        version=said.version,
        readings=(root, somaxconn, *_last_of_each(found)),
        listeners=tuple(listeners(directives, places)),
        backends=tuple(backends(directives, places)),
        logs=tuple(logs(directives, places, scopes, walk.server_root)),
        modules=tuple(said.modules),
        # No dump has these lines: they act while they are read.
        loaded=tuple(
            LoadedModule(name=name, origin=places.origin(file, line, _LOAD))
            for name, file, line in walk.loads
            if name in said.modules
        ),
        writes=tuple(written_folders(directives, walk.server_root)),
        unreadable=files.unreadable,
    )
    survey = structs.replace(survey, notices=(*notices, *_uneditable(survey, files)))
    return _with_overrides(survey, files)


def _with_overrides(survey: Survey, files: MemberFiles) -> Survey:
    """Add what is known of the `.htaccess` files: that they can be inlined, or why not."""
    n_files = len(override_files(survey, files))
    if n_files == 0:
        return survey
    if why := why_not(survey, files):
        words = f"{n_files} `.htaccess` files are read at requests; not to be inlined: {why}"
        return structs.replace(survey, notices=(*survey.notices, Notice(words=words)))
    own = [
        Reading(name=HTACCESS, scope=scope, text=f"{n} files")
        for scope, n in inlinable(survey, files).items()
    ]
    return structs.replace(survey, readings=(*survey.readings, *own))


def _somaxconn() -> str:
    try:
        return Path("/proc/sys/net/core/somaxconn").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _last_of_each(found: list[Reading]) -> list[Reading]:
    """Return the readings without those that a later one of the same scope replaces.

    What can be tuned comes first; otherwise they are in the order of the configuration.
    """
    last = {(r.name.lower(), r.scope): index for index, r in enumerate(found)}
    kept = [
        reading
        for index, reading in enumerate(found)
        if reading.name.lower() not in ONE_VALUE
        or last[(reading.name.lower(), reading.scope)] == index
    ]
    # People look for what can be set first; among a hundred types of icons they would not find it.
    return sorted(kept, key=lambda reading: not is_tunable(reading.name))


def _uneditable(survey: Survey, files: MemberFiles) -> list[Notice]:
    """Return a notice for each place outside of the files that settings come from."""
    elsewhere = dict.fromkeys(
        reading.origin.file
        for reading in survey.readings
        if reading.origin is not None and reading.origin.file not in files.texts
    )
    return [Notice(words=f"settings of {file} cannot be changed") for file in elsewhere]
