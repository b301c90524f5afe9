"""Rules for Perl in Apache: what stands in its configuration and in what that runs at the start."""

import posixpath
import re
from collections.abc import Iterator
from itertools import combinations

from httpdyno.advice.rules.declaration import Seen, rule
from httpdyno.advice.rules.facts import (
    MEMORY,
    NETWORK,
    Facts,
    WorkerSize,
    number,
    place,
    where,
    words,
)
from httpdyno.model import Reading, Record
from httpdyno.reason import Reason, because

# Perl that stands in an Apache's configuration, and what that runs at the start.

MODULE = "perl_module"
_SECTION = "perl"
_ASP = re.compile(r"\bApache::ASP\b")
_BY_SIZE = re.compile(r"\bApache2?::(?:SizeLimit|GTopLimit|Resource)\b")
_POD = re.compile(r"^=[a-z]\w*")
_POD_ENDS = "=cut"
_REST_IS_DATA = re.compile(r"__(?:END|DATA)__\s*")


def perl_lines(facts: Facts) -> Iterator[tuple[str, str | Reason]]:
    """Yield each line of Perl with its place: of `<Perl>` sections, then of files run at the start.

    Comments and what is documentation are left out. What such a file loads is not followed.
    """
    for reading in facts.survey.readings:
        if is_perl(reading):
            yield f"{reading.name} {reading.text}".strip(), place(reading)
    for path, text in facts.perl.startup.items() if facts.perl else ():
        is_pod = False
        for nth, line in enumerate(text.splitlines(), 1):
            if _REST_IS_DATA.fullmatch(line):
                break
            if _POD.match(line):
                is_pod = not line.startswith(_POD_ENDS)
            elif not is_pod and not line.lstrip().startswith("#"):
                yield line.strip(), f"{path}:{nth}"


def is_perl(reading: Reading) -> bool:
    """Whether it is a line of a `<Perl>` section, which is no directive."""
    return reading.scope.lower().split()[-1:] == [_SECTION]


def perl_variables(facts: Facts) -> Iterator[tuple[str, str, Reading]]:
    """Yield name, value and directive of each `PerlSetVar` and of its kin."""
    for directive in ("PerlSetVar", "PerlAddVar", "PerlSetEnv"):
        for reading in facts.said(directive):
            name, *values = words(reading.text) or [""]
            if values:
                yield name, " ".join(values), reading


def uses_asp(facts: Facts) -> bool:
    """Whether Apache::ASP answers somewhere."""
    return any(named_in_perl(facts, _ASP))


def named_in_perl(facts: Facts, name: re.Pattern[str]) -> Iterator[Reason]:
    """Yield the places of an Apache with mod_perl whose directives or lines of Perl have a name."""
    if not facts.has_module(MODULE):
        return
    for reading in facts.survey.readings:
        is_directive = reading.name.lower().startswith("perl") and not is_perl(reading)
        if is_directive and name.search(reading.text):
            yield where(reading)
    for line, at in perl_lines(facts):
        if name.search(line):
            yield because("advice.line_at", line=line, at=at)


def ends_by_size(facts: Facts) -> bool:
    """Whether something in Perl ends processes that have become too large."""
    return any(named_in_perl(facts, _BY_SIZE))


# One folder of scripts, or one script, under two addresses.

_BOTH = 2
_REGISTRY = re.compile(r"\b(?:ModPerl|Apache2?)::Registry(?:BB|Prefork)?\b")


def _places(facts: Facts, name: str) -> Iterator[tuple[str, str, Reading]]:
    """Yield where the address is, its folder, and the directive."""
    for reading in facts.said(name):
        given = words(reading.text)
        if len(given) == _BOTH and given[1].startswith("/"):
            yield given[0], posixpath.normpath(given[1]), reading


def _is_perl(facts: Facts, address: str) -> bool:
    """Whether Perl answers there all the same: a handler of a place counts before an alias's."""
    place = f"location {address.rstrip('/')}"
    return any(
        "perl" in each.text.lower() and each.scope.lower().rstrip("/").endswith(place)
        for each in facts.said("SetHandler")
    )


@rule("scripts-twice")
def _twice(facts: Facts) -> Iterator[Seen]:
    if not facts.has_module("perl_module"):
        return
    scripts = list(_places(facts, "ScriptAlias"))
    for address, folder, reading in _places(facts, "Alias"):
        for other, same, script in scripts:
            # Hosts may have the same folder each in its own way.
            is_both = folder == same and address != other and reading.scope == script.scope
            if is_both and not _is_perl(facts, other):
                yield Seen(
                    what=because(
                        "rules.scripts-twice", folder=folder, address=address, other=other
                    ),
                    evidence=(where(reading), where(script)),
                )


def linked_folders(facts: Facts) -> tuple[str, ...]:
    """Return the folders of scripts that mod_perl keeps, of which it is asked where they lie."""
    return tuple(dict.fromkeys(folder for _, folder, _ in _kept(facts)))


def _kept(facts: Facts) -> Iterator[tuple[str, str, Reading]]:
    """Yield the places whose scripts stay compiled, by the name of their file."""
    if not facts.has_module("perl_module"):
        return
    registries = [
        each.scope.lower().rstrip("/").rpartition(" ")[2]
        for name in ("PerlResponseHandler", "PerlHandler")
        for each in facts.said(name)
        if _REGISTRY.search(each.text)
    ]
    for address, folder, reading in _places(facts, "Alias"):
        if {address.lower().rstrip("/"), folder.lower()} & set(registries):
            yield address, folder, reading


@rule("scripts-kept-twice")
def _linked(facts: Facts) -> Iterator[Seen]:
    kept = list(_kept(facts))
    for (address, folder, reading), (other, same, second) in combinations(kept, 2):
        place = facts.real_paths.get(folder, "")
        if place and folder != same and facts.real_paths.get(same) == place:
            yield Seen(
                what=because("rules.scripts-kept-twice", address=address, other=other, place=place),
                evidence=(where(reading), where(second)),
            )


# What Perl keeps in files from one request to the next, and where these lie.

_NO = frozenset({"", "0"})
_SESSION_FILE = re.compile(r"\bApache::Session::File\b")
_SESSION = re.compile(r"session", re.IGNORECASE)
_DIRECTORY = re.compile(r"\b(?:Lock)?Directory['\"]?\s*(?:=>|=)\s*['\"]?(/[^\s'\",;]*)")
_OF_FOLDER = re.compile(r"(?:Lock)?Dir(?:ectory)?$", re.IGNORECASE)


class State(Record, frozen=True):
    """A folder that Perl keeps state in."""

    folder: str
    whose: str
    seen: Reason
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
                yield _session_state(folder, because("advice.line_at", line=line, at=at))


def _session_state(folder: str, seen: Reason) -> State:
    return State(folder=posixpath.normpath(folder), whose="Apache::Session", seen=seen)


@rule("perl-state-on-disk")
def _on_disk(facts: Facts) -> Iterator[Seen]:
    found: dict[tuple[str, str], list[Reason]] = {}
    for state in states(facts):
        found.setdefault((state.folder, state.whose), []).append(state.seen)
    for (folder, whose), places in found.items():
        kind = facts.filesystems.get(folder, "")
        if kind and kind not in MEMORY:
            yield Seen(
                what=because("rules.perl-state-on-disk", whose=whose, kind=kind),
                evidence=(because("advice.folder_is", folder=folder, kind=kind), *places),
                severity="doubtful" if kind in NETWORK else None,
            )


# Switches for development of Apache::ASP.

_SHOWN = 2
"""From there on, or below minus that, it is sent to visitors."""


@rule("asp-debugging")
def _debugging(facts: Facts) -> Iterator[Seen]:
    if not uses_asp(facts):
        return
    found = list(perl_variables(facts))
    levels = [(number(value) or 0, each) for name, value, each in found if name == "Debug"]
    # 1 is what its manual has for production: only what pages write by `$Response->Debug`.
    on = [(level, each) for level, each in levels if level < 0 or level >= _SHOWN]
    if on:
        is_logged = any(level < 0 for level, _ in on)
        is_shown = any(abs(level) >= _SHOWN for level, _ in on)
        does = (
            *([because("rules.asp-debugging.logs")] if is_logged else []),
            *([because("rules.asp-debugging.shows")] if is_shown else []),
        )
        yield Seen(
            what=because("rules.asp-debugging.debug", does=does),
            evidence=tuple(where(each) for _, each in on),
            severity="bad" if is_shown else None,
        )
    reloading = [each for name, value, each in found if name == "StatINC" and value not in _NO]
    if reloading:
        yield Seen(
            what=because("rules.asp-debugging.reloads"),
            evidence=tuple(map(where, reloading)),
            do=because("rules.asp-debugging.fix"),
        )


# Apache2::SizeLimit, and what it takes for a process's own memory.

_SIZE_LIMIT = re.compile(r"\bApache2::SizeLimit\b")
_LIMIT = re.compile(
    r"\bApache2::SizeLimit(?:->set_max_unshared_size\(|::setmax_unshared\(|::MAX_UNSHARED_SIZE\s*=)"
    r"\s*([\d_]+)\b"
)
"""In KB."""
_WITHOUT_SMAPS = re.compile(r"\bUSE_SMAPS\s*=\s*0\b")
_KB = 1024
_RIGHT = 1.25
"""Up to there the count is right enough."""


@rule("size-limit-by-statm")
def _by_statm(facts: Facts) -> Iterator[Seen]:
    places = list(named_in_perl(facts, _SIZE_LIMIT))
    lines = list(perl_lines(facts))
    has_smaps = facts.perl.has_smaps if facts.perl else None
    if any(_WITHOUT_SMAPS.search(line) for line, _ in lines):
        has_smaps = False
    if not places or has_smaps:
        return
    is_sure = has_smaps is False
    sizes = facts.pool.sizes if facts.pool and facts.pool.is_uniform else ()
    if not sizes:
        yield Seen(
            what=_unless_smaps(because("rules.size-limit-by-statm.counts"), is_sure=is_sure),
            evidence=tuple(places),
        )
        return
    # One that has answered nothing counts for more: it has fewer pages of files to be taken off.
    largest = max(sizes, key=lambda each: each.own_bytes)
    if largest.statm_bytes <= _RIGHT * largest.own_bytes:
        return
    limit_kb = _limit_kb(lines)
    over = [] if limit_kb is None else [each for each in sizes if _is_taken(each, limit_kb)]
    what = _unless_smaps(
        because(
            "rules.size-limit-by-statm.counted",
            statm=largest.statm_bytes,
            pid=largest.pid,
            own=largest.own_bytes,
        ),
        is_sure=is_sure,
    )
    if over and limit_kb is not None:
        what = because(
            "rules.size-limit-by-statm.ended",
            what=what,
            n=len(over),
            of=len(sizes),
            limit=limit_kb * _KB,
        )
    yield Seen(
        what=what,
        evidence=(
            *places[:2],
            because("rules.size-limit-by-statm.largest", pid=largest.pid, n=len(sizes)),
        ),
        severity="bad" if over and has_smaps is False else None,
    )


def _unless_smaps(what: Reason, *, is_sure: bool) -> Reason:
    return what if is_sure else because("rules.size-limit-by-statm.unless", what=what)


def _limit_kb(lines: list[tuple[str, str | Reason]]) -> int | None:
    """Return the limit that is set last; None where none is, or it is no plain number."""
    found = [match[1] for line, _ in lines for match in _LIMIT.finditer(line)]
    return int(found[-1].replace("_", "")) if found else None


def _is_taken(size: WorkerSize, limit_kb: int) -> bool:
    return bool(limit_kb) and size.own_bytes <= limit_kb * _KB < size.statm_bytes


_PERL_RELOAD = re.compile(r"Apache2?::(Reload|StatINC|DB)|Devel::\w+")
_PERL = ("PerlModule", "PerlInitHandler", "PerlPostReadRequestHandler", "PerlFixupHandler")


@rule("perl-reload")
def _reloads(facts: Facts) -> Iterator[Seen]:
    found = [r for name in _PERL for r in facts.said(name) if _PERL_RELOAD.search(r.text)]
    if found:
        yield Seen(
            what=because("rules.perl-reload"),
            evidence=tuple(map(where, found)),
        )
