"""Rules for the way from a URL to a file in Apache: what it looks at in each folder of a path."""

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatch

from httpdyno.advice.rules.declaration import Proposed, Seen, rule
from httpdyno.advice.rules.facts import Facts, where, words
from httpdyno.model import Reading, Record

_FOLDER = re.compile(r"(?:(?P<host>\S+) )?(?P<path>/\S*)")
_SECTIONS = frozenset(
    {"location", "locationmatch", "files", "filesmatch", "directorymatch", "proxy", "proxymatch"}
    | {"if", "elseif", "else", "limit", "limitexcept"}
)
_INLINED = (Proposed(knob="htaccess", value="inlined"),)
_FOLLOW, _OWNER = "followsymlinks", "symlinksifownermatch"


class Root(Record, frozen=True):
    """A folder that is served."""

    path: str
    host: str
    reading: Reading


def roots(facts: Facts) -> list[Root]:
    """Return the folders that files are served from; not those of hosts that pass everything on."""
    found = []
    for reading in facts.said("DocumentRoot"):
        path = posixpath.normpath((words(reading.text) or [""])[0])
        if path.startswith("/") and not _passes_all(facts, reading.scope):
            found.append(Root(path=path, host=reading.scope, reading=reading))
    # What hosts have of their own is not served by the main server.
    own = [each for each in found if each.host]
    return [*(own or found), *_aliased(facts)]


def _aliased(facts: Facts) -> Iterator[Root]:
    """Yield the folders that an `Alias` serves, as Debian's packages of applications do."""
    for reading in facts.said("Alias"):
        path = posixpath.normpath((words(reading.text)[1:2] or [""])[0])
        is_file = bool(posixpath.splitext(path)[1])
        if path.startswith("/") and not is_file and folder_of(reading.scope) is None:
            yield Root(path=path, host=reading.scope, reading=reading)


def folder_of(scope: str) -> tuple[str, str] | None:
    """Return the host and the path of a `<Directory>`; None of other scopes and of patterns."""
    match = _FOLDER.fullmatch(scope)
    if match is None or (match["host"] or "").lower() in _SECTIONS:
        return None
    if any(character in match["path"] for character in "*?["):
        return None
    return match["host"] or "", posixpath.normpath(match["path"])


def depth(path: str) -> int:
    """Return how many folders a path has, `/` too."""
    return 1 + sum(1 for part in path.split("/") if part)


def _passes_all(facts: Facts, host: str) -> bool:
    return any(r.scope == host and words(r.text)[:1] == ["/"] for r in facts.said("ProxyPass"))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _applying(facts: Facts, name: str, root: Root) -> list[tuple[Reading, str]]:
    """Return the directives that count for a folder, the last to count last, with their folders.

    Apache merges the server, the host, then folders by their depth, a host's own last.
    """
    found: list[tuple[int, bool, int, Reading, str]] = []
    for nth, reading in enumerate(facts.said(name)):
        place = folder_of(reading.scope)
        if place is not None:
            host, path = place
            if host in ("", root.host) and _is_below(root.path, path):
                found.append((depth(path), bool(host), nth, reading, path))
        elif reading.scope in ("", root.host):
            found.append((0, bool(reading.scope), nth, reading, ""))
    return [(reading, path) for *_, reading, path in sorted(found, key=lambda each: each[:3])]


def _is_unclear(facts: Facts, name: str, root: Root) -> bool:
    """Whether a section of a kind or a pattern that is not followed here may count for a folder."""
    for reading in facts.said(name):
        *before, last = reading.scope.split(" ")
        if not reading.scope or folder_of(reading.scope) is not None:
            continue
        if before and (before[-1].lower() in _SECTIONS or before[-1] == "~"):
            return True
        if last.startswith("/") and fnmatch(root.path, f"{last.rstrip('/')}*"):
            return True
    return False


@rule("overrides")
def _overridden(facts: Facts) -> Iterator[Seen]:
    cases: dict[tuple[str, int], list[str]] = {}
    for root in roots(facts) if facts.is_whole else ():
        if _is_unclear(facts, "AllowOverride", root):
            continue
        applying = [each for each in _applying(facts, "AllowOverride", root) if each[1]]
        begins = [path for reading, path in applying if not _is_none(reading)]
        if not applying or _is_none(applying[-1][0]) or not begins:
            continue
        reading = applying[-1][0]
        # A folder of the path where nothing is allowed is not looked into, those below are again.
        n = sum(1 for folder in _down_to(root.path) if _is_allowed_in(applying, folder))
        cases.setdefault((root.path, n), []).append(where(reading))
    calls = facts.calls
    counted = (calls.seen({"opens of a `.htaccess`": calls.htaccess_opens}),) if calls else ()
    for (path, n), places in cases.items():
        yield Seen(
            what=f"for each request `.htaccess` is looked for in {_folders(n)} of the path to "
            f"{path}, and in each deeper one",
            evidence=(*counted, *places),
            proposes=_INLINED,
        )
    # What is seen needs no reading of the configuration.
    if calls is not None and calls.htaccess_opens and not cases:
        yield Seen(what="each request looks for `.htaccess`", evidence=counted, proposes=_INLINED)


def _down_to(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    return ["/" + "/".join(parts[:n]) for n in range(len(parts) + 1)]


def _is_allowed_in(applying: list[tuple[Reading, str]], folder: str) -> bool:
    above = [reading for reading, path in applying if _is_below(folder, path)]
    return bool(above) and not _is_none(above[-1])


def _is_none(reading: Reading) -> bool:
    return reading.text.strip().strip('"').lower() == "none"


def _folders(n: int) -> str:
    return "1 folder" if n == 1 else f"{n} folders"


@rule("link-checks")
def _links(facts: Facts) -> Iterator[Seen]:
    for root in roots(facts) if facts.is_whole else ():
        applying = _applying(facts, "Options", root)
        found = _options([reading for reading, _ in applying])
        is_well = not applying or found & {_FOLLOW, _OWNER} == {_FOLLOW}
        if is_well or _is_unclear(facts, "Options", root):
            continue
        calls = facts.calls
        counted = (calls.seen({"`lstat`": calls.lstats}),) if calls else ()
        why = "`SymLinksIfOwnerMatch`" if _OWNER in found else "no `FollowSymLinks`"
        yield Seen(
            what=f"{why} for {root.path}: each request looks whether one of the {depth(root.path)} "
            "folders of the path, or what lies below, is a link",
            evidence=(*counted, *(where(reading) for reading, _ in applying[-2:])),
            proposes=(Proposed(knob="link_checks", value="followed"),),
        )


def _options(readings: list[Reading]) -> set[str]:
    """Return the options in force: 2.4 begins with `FollowSymLinks`."""
    found = {_FOLLOW}
    for reading in readings:
        given = [word.lower() for word in words(reading.text)]
        if any(word[:1] not in "+-" for word in given):
            found = set()
        for word in given:
            named = {_FOLLOW} if word.lstrip("+-") == "all" else {word.lstrip("+-")}
            found = found - named if word.startswith("-") else found | named
    return found


# A place that no file stands for, and Apache looks for one all the same.


@rule("walked-path")
def _walked(facts: Facts) -> Iterator[Seen]:
    calls = facts.calls
    if calls is None or not calls.missing_file or not calls.stats + calls.lstats:
        return
    counts = {"`stat`": calls.stats, "`lstat`": calls.lstats}
    yield Seen(
        what=f"{calls.missing_file} is looked for in each request, and is not there",
        evidence=(calls.seen(counts),),
    )
