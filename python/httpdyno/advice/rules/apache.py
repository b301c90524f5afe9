"""Rules for Apache: its pool, kept connections, what it looks up, and what it does not read."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch

from httpdyno.advice.rules.declaration import Proposed, Seen, Severity, rule, where_said
from httpdyno.advice.rules.facts import Facts, KeptWorkers, is_said, number, place, where, words
from httpdyno.advice.rules.workers import (
    OF_APACHE,
    PREFORK,
    in_force,
    most_workers,
    mpm,
    short,
    threads_each,
    workers_taken,
)
from httpdyno.model import Reading, Record
from httpdyno.reason import Reason, because

# Rules for the way from a URL to a file in Apache: what it looks at in each folder of a path.

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
    cases: dict[tuple[str, int], list[Reason]] = {}
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
    counted = (
        (calls.seen(because("rules.overrides.opens", n=calls.htaccess_opens)),) if calls else ()
    )
    for (path, n), places in cases.items():
        yield Seen(
            what=because("rules.overrides.folders", n=n, path=path),
            evidence=(*counted, *places),
            proposes=_INLINED,
        )
    # What is seen needs no reading of the configuration.
    if calls is not None and calls.htaccess_opens and not cases:
        yield Seen(what=because("rules.overrides.seen"), evidence=counted, proposes=_INLINED)


def _down_to(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    return ["/" + "/".join(parts[:n]) for n in range(len(parts) + 1)]


def _is_allowed_in(applying: list[tuple[Reading, str]], folder: str) -> bool:
    above = [reading for reading, path in applying if _is_below(folder, path)]
    return bool(above) and not _is_none(above[-1])


def _is_none(reading: Reading) -> bool:
    return reading.text.strip().strip('"').lower() == "none"


@rule("link-checks")
def _links(facts: Facts) -> Iterator[Seen]:
    for root in roots(facts) if facts.is_whole else ():
        applying = _applying(facts, "Options", root)
        found = _options([reading for reading, _ in applying])
        is_well = not applying or found & {_FOLLOW, _OWNER} == {_FOLLOW}
        if is_well or _is_unclear(facts, "Options", root):
            continue
        calls = facts.calls
        counted = (
            (calls.seen(because("rules.link-checks.lstats", n=calls.lstats)),) if calls else ()
        )
        yield Seen(
            what=because(
                "rules.link-checks.owner" if _OWNER in found else "rules.link-checks.none",
                path=root.path,
                n=depth(root.path),
            ),
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
    counted = calls.seen(
        because("rules.walked-path.stats", n=calls.stats),
        because("rules.link-checks.lstats", n=calls.lstats),
    )
    yield Seen(
        what=because("rules.walked-path.missing", file=calls.missing_file),
        evidence=(counted,),
    )


# The numbers of Apache's pool beside each other: bands, starts, limits that clip.

_WRITTEN = f"{OF_APACHE} as written"
"""The reading of what stands in the file, where Apache says that it takes another number."""


def _names(facts: Facts) -> tuple[str, str]:
    what = "Servers" if mpm(facts) == PREFORK else "Threads"
    return f"MinSpare{what}", f"MaxSpare{what}"


def _places(facts: Facts, *names: str) -> tuple[Reason, ...]:
    """Return where these are set, `NAME N, FILE:LINE`; those that nothing sets with their number.

    Args:
        facts: Of the server.
        names: Directives of the module.
    """
    found = []
    for name in names:
        reading = facts.reading(name)
        text = reading.text if reading else str(in_force(facts, name))
        at = place(reading) if reading else because("advice.compiled_in")
        found.append(because("advice.set", name=name, text=text, place=at))
    return tuple(found)


def _band(facts: Facts) -> tuple[int, int, int] | None:
    """Return the fewest idle, the most idle as written, and the most that Apache takes at least."""
    fewest, most = (in_force(facts, name) for name in _names(facts))
    threads = threads_each(facts)
    if threads is None or fewest is None or most is None:
        return None
    return fewest, most, fewest + threads


@rule("inverted-spares")
def _inverted(facts: Facts) -> Iterator[Seen]:
    band = _band(facts)
    if band is None or not any(facts.said(name) for name in _names(facts)):
        return
    fewest, most, taken = band
    if most < taken:
        low, high = _names(facts)
        yield Seen(
            what=because(
                "rules.inverted-spares", high=high, most=most, low=low, fewest=fewest, taken=taken
            ),
            evidence=_places(facts, low, high),
            # Not `wide`: it forks half of all that may be, and whether memory holds these is not
            # known here.
            proposes=(Proposed(knob="spare_servers", value="narrow"),),
        )


@rule("start-outside-spares")
def _start(facts: Facts) -> Iterator[Seen]:
    band, start = _band(facts), facts.reading("StartServers")
    n = in_force(facts, "StartServers")
    if band is None or start is None or n is None:
        return
    fewest, most, taken = band
    each = taken - fewest
    low, high = _names(facts)
    if n * each < fewest:
        words = because("rules.start-outside-spares.below", low=low, n=fewest)
    elif n * each > max(most, taken):
        words = because("rules.start-outside-spares.above", high=high, n=max(most, taken))
    else:
        return
    yield Seen(
        what=because(
            "rules.start-outside-spares.processes"
            if each == 1
            else "rules.start-outside-spares.threads",
            n=n,
            each=each,
            words=words,
        ),
        evidence=_places(facts, "StartServers", low, high),
        proposes=(Proposed(knob="spare_servers", value="between"),),
    )


@rule("clipped-workers")
def _clipped(facts: Facts) -> Iterator[Seen]:
    most, threads = most_workers(facts), threads_each(facts)
    reading = facts.reading("MaxRequestWorkers")
    if reading is None or most is None or not threads:
        return
    # Where Apache itself was asked, its number is what it takes already.
    is_as_written = reading.evidence == "read"
    written = reading if is_as_written else facts.reading(_WRITTEN)
    asked = number(written.text) if written else None
    # Of threads Apache takes whole processes only, whatever the limit is.
    processes = 0 if asked is None else asked // threads
    if asked is None or processes * threads <= most:
        return
    names = ("ServerLimit", *(["ThreadsPerChild"] if threads > 1 else []))
    n_fit = facts.pool.n_fit if facts.pool else None
    yield Seen(
        what=because(
            "rules.clipped-workers.processes" if threads == 1 else "rules.clipped-workers.threads",
            asked=asked,
            most=most,
            n=most // threads,
            threads=threads,
        ),
        evidence=(
            because("advice.set", name="MaxRequestWorkers", text=str(asked), place=place(reading)),
            *_places(facts, *names),
        ),
        do=because("rules.clipped-workers.fix", n=processes, most=most),
        # What is asked takes the limit along.
        proposes=(Proposed(knob="MaxRequestWorkers", value=processes * threads),)
        if n_fit is None or processes <= n_fit
        else (),
    )


# Connections that are kept: what they hold under prefork, and what closing them costs with TLS.

_COMPILED_TIMEOUT_S = 5
"""More than that somebody has asked for."""
_TOO_LONG_S = 15
_ENOUGH_S = 2
"""For the parts of a page."""
_ON, _OFF = "on", "off"
HEAVY_BYTES = 8 << 20
"""Of its own that a process has: several times what one of a plain Apache has."""
_MUCH, _MOSTLY = 0.25, 0.5
"""Of the workers' time."""
_LITTLE = 0.05


@rule("kept-workers")
def _held(facts: Facts) -> Iterator[Seen]:
    timeout = facts.reading("KeepAliveTimeout")
    kept = facts.reading("KeepAlive")
    is_off = kept is not None and kept.text.lower() == _OFF
    if mpm(facts) != PREFORK or timeout is None or not is_said(timeout) or is_off:
        return
    seconds, workers = number(timeout.text), workers_taken(facts)
    if seconds is None or workers is None or seconds <= _COMPILED_TIMEOUT_S:
        return
    yield Seen(
        what=because(
            "rules.kept-workers", seconds=seconds, workers=workers, per_s=workers / seconds
        ),
        evidence=(where(timeout),),
        severity="bad" if seconds > _TOO_LONG_S and workers / seconds < 1 else None,
        proposes=where_said([timeout], "KeepAliveTimeout", _ENOUGH_S),
    )


@rule("kept-heavy-workers")
def _heavy(facts: Facts) -> Iterator[Seen]:
    places = _kept_places(facts)
    pool, kept = facts.pool, facts.kept
    if mpm(facts) != PREFORK or not places:
        return
    own_bytes = pool.each_bytes if pool is not None and pool.is_uniform else 0
    is_busy = kept is not None and kept.n_workers - kept.n_idle >= 1
    is_held = kept is not None and is_busy and kept.kept_ratio >= _MUCH
    # Among visitors who hold nobody, the size does not matter.
    is_free = kept is not None and is_busy and kept.kept_ratio < _LITTLE
    if is_free or not (is_held or own_bytes >= HEAVY_BYTES):
        return
    secured = [each for each in facts.survey.listeners if each.is_tls]
    yield Seen(
        what=_of_looks(kept, own_bytes) if kept and is_held else _of_size(facts, own_bytes),
        evidence=(
            *([_looks(kept)] if kept else []),
            *(
                [because("rules.kept-heavy-workers.largest", n=pool.n_workers)]
                if pool and own_bytes
                else []
            ),
            *(
                where(each) if each else because("rules.kept-heavy-workers.unset")
                for each in places
            ),
            *(because("advice.tls_at", address=each.address) for each in secured),
        ),
        do=because("rules.kept-heavy-workers.proxy") if secured else None,
        severity=_severity(kept) if kept and is_held else "hint",
        # Each request would have a handshake of its own.
        proposes=()
        if secured
        else tuple(
            proposed
            for each in places
            for proposed in (
                where_said([each], "KeepAlive", False)
                if each
                else (Proposed(knob="KeepAlive", value=False),)
            )
        ),
    )


def _kept_places(facts: Facts) -> list[Reading | None]:
    """Return where connections are kept; None stands for what is compiled in."""
    found: list[Reading | None] = []
    if facts.reading("KeepAlive") is None and facts.is_whole:
        found.append(None)
    # Of several in one scope the last one counts.
    last = {each.scope: each for each in facts.all_of("KeepAlive")}
    found += [each for each in last.values() if each.text.lower() == _ON]
    return found


def _of_looks(kept: KeptWorkers, own_bytes: int) -> Reason:
    found = because(
        "rules.kept-heavy-workers.time_of_heavy" if own_bytes else "rules.kept-heavy-workers.time",
        ratio=kept.kept_ratio,
        kept=kept.n_kept,
        workers=kept.n_workers,
        each=own_bytes,
    )
    return because("rules.kept-heavy-workers.none_idle", what=found) if kept.n_idle < 1 else found


def _of_size(facts: Facts, own_bytes: int) -> Reason:
    seconds = facts.number("KeepAliveTimeout")
    if facts.reading("KeepAliveTimeout") is None:
        seconds = _COMPILED_TIMEOUT_S
    return because(
        "rules.kept-heavy-workers.held" if seconds is None else "rules.kept-heavy-workers.held_for",
        seconds=seconds,
        each=own_bytes,
    )


def _looks(kept: KeptWorkers) -> Reason:
    return because(
        "rules.kept-heavy-workers.samples",
        n=kept.n_looks,
        workers=kept.n_workers,
        kept=kept.n_kept,
        idle=kept.n_idle,
    )


def _severity(kept: KeptWorkers) -> Severity | None:
    return "bad" if kept.n_idle < 1 and kept.kept_ratio >= _MOSTLY else None


@rule("closed-tls")
def _closed(facts: Facts) -> Iterator[Seen]:
    secured = [each for each in facts.survey.listeners if each.is_tls]
    said = facts.said("KeepAlive")
    if not secured or not said or any(each.text.lower() != _OFF for each in said):
        return
    if not any(each.scope == "" for each in said):
        return
    yield Seen(
        what=because("rules.closed-tls"),
        evidence=(
            *map(where, said),
            *(because("advice.tls_at", address=each.address) for each in secured),
        ),
        proposes=where_said(said, "KeepAlive", True),
    )


# How many connections a process of Apache lives for.

_MANY = 10_000


@rule("short-lives")
def _short(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading("MaxConnectionsPerChild")
    workers, threads = workers_taken(facts), threads_each(facts)
    if reading is None or not is_said(reading) or workers is None or not threads:
        return
    n = number(reading.text)
    found = short(facts, n)
    if n is None or found is None:
        return
    processes = max(1, workers // threads)
    yield Seen(
        what=found.costing(
            because(
                "rules.short-lives.connections", n=n, processes=processes, most_per_s=processes * n
            )
        ),
        evidence=(where(reading), found.evidence),
        severity=found.severity,
        do=found.do("MaxConnectionsPerChild"),
        proposes=(Proposed(knob="MaxConnectionsPerChild", value=found.n_requests or _MANY),),
    )


# Names of clients that Apache asks a name server for, while they wait.

_ASKING = frozenset({"on", "double"})
_ADDRESS = re.compile(r"[\d./]+|[0-9a-f:./]*:[0-9a-f:./]*", re.IGNORECASE)
_NO_NAME = re.compile(r"all|env=.*", re.IGNORECASE)


@rule("name-lookups")
def _looked_up(facts: Facts) -> Iterator[Seen]:
    found = [r for r in facts.said("HostnameLookups") if r.text.lower() in _ASKING]
    if found:
        yield Seen(
            what=because(
                "rules.name-lookups.twice"
                if any(r.text.lower() == "double" for r in found)
                else "rules.name-lookups.once"
            ),
            evidence=(*_asked(facts), *map(where, found)),
            proposes=where_said(found, "HostnameLookups", "Off"),
        )


@rule("access-by-name")
def _by_name(facts: Facts) -> Iterator[Seen]:
    found = [r for r in (*facts.said("Allow"), *facts.said("Deny")) if _has_name(r)]
    found += [r for r in facts.said("Require") if _is_host(r)]
    if found:
        yield Seen(
            what=because("rules.access-by-name"),
            evidence=(*_asked(facts), *map(where, found)),
        )


def _asked(facts: Facts) -> Iterator[Reason]:
    """Yield whom requests were seen to ask for names, besides what else the server asks for."""
    calls = facts.calls
    if calls is not None:
        yield calls.seen(
            because("rules.name-lookups.hosts", n=calls.hosts_opens),
            because("rules.name-lookups.servers", n=calls.name_servers),
        )


def _has_name(reading: Reading) -> bool:
    given = words(reading.text)
    return given[:1] == ["from"] and any(
        not _ADDRESS.fullmatch(word) and not _NO_NAME.fullmatch(word) for word in given[1:]
    )


def _is_host(reading: Reading) -> bool:
    given = [word.lower() for word in words(reading.text)]
    return (given[1:2] if given[:1] == ["not"] else given[:1]) == ["host"]


# Directives that Apache 2.4 does not have, or reads otherwise than they look.

REMOVED: Mapping[str, Reason] = {
    "CacheSize": because("rules.removed-directives.went_with_cache"),
    "CacheGcInterval": because("rules.removed-directives.went_with_cache"),
    "AcceptMutex": because("rules.removed-directives.is_mutex"),
    "LockFile": because("rules.removed-directives.is_mutex"),
    "SSLMutex": because("rules.removed-directives.is_mutex"),
    "RewriteLog": because("rules.removed-directives.is_trace"),
    "RewriteLogLevel": because("rules.removed-directives.is_trace"),
    "ServerType": because("rules.removed-directives.went_with_1_3"),
    "BindAddress": because("rules.removed-directives.is_listen"),
    "Port": because("rules.removed-directives.is_listen"),
    "ClearModuleList": because("rules.removed-directives.went_with_1_3"),
    "AddModule": because("rules.removed-directives.went_with_1_3"),
}
"""Source: httpd.apache.org/docs/2.4/upgrading.html, /docs/2.2/upgrading.html, /docs/2.0/."""
IGNORED: Mapping[str, Reason] = {
    "NameVirtualHost": because("rules.removed-directives.does_nothing")
}
_LONGEST_CACHE_PATH = 20
"""Characters of a hash that are folders: mod_cache_disk.h, CACHEFILE_LEN."""
_DEFAULTS = (2, 2)


@rule("removed-directives")
def _unknown(facts: Facts) -> Iterator[Seen]:
    for name, why in (*REMOVED.items(), *IGNORED.items()):
        found = facts.said(name)
        if found:
            yield Seen(
                what=because("rules.removed-directives.directive", name=name, why=why),
                evidence=tuple(map(where, found)),
                do=because("rules.removed-directives.ignored") if name in IGNORED else None,
                severity="hint" if name in IGNORED else None,
            )


@rule("order-with-space")
def _order(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("Order") if len(words(each.text)) > 1]
    if found:
        yield Seen(
            what=because("rules.order-with-space"),
            evidence=tuple(map(where, found)),
        )


@rule("long-cache-path")
def _cache_path(facts: Facts) -> Iterator[Seen]:
    names = ("CacheDirLevels", "CacheDirLength")
    for scope in dict.fromkeys(each.scope for name in names for each in facts.said(name)):
        found = [facts.reading(name, scope) for name in names]
        pairs = zip(found, _DEFAULTS, strict=True)
        levels, length = (number(each.text) if each else default for each, default in pairs)
        if levels is None or length is None or levels * length <= _LONGEST_CACHE_PATH:
            continue
        yield Seen(
            what=because(
                "rules.long-cache-path",
                levels=levels,
                length=length,
                n=levels * length,
                most=_LONGEST_CACHE_PATH,
            ),
            evidence=tuple(where(each) for each in found if each),
        )


# What runs in its processes, and how many of them there are.

_MOD_PHP = ("php_module", "php7_module", "php5_module")


@rule("php-in-threads")
def _threads_of_php(facts: Facts) -> Iterator[Seen]:
    if mpm(facts) in ("", PREFORK) or not facts.has_module(*_MOD_PHP):
        return
    yield Seen(
        what=because("rules.php-in-threads", mpm=mpm(facts)),
        evidence=tuple(m for m in facts.survey.modules if m.startswith(("php", "mpm_"))),
    )


_ONE_PROCESS = re.compile(r"(?<!\S)(?:-X|-D ?(?:ONE_PROCESS|DEBUG))(?!\S)")


@rule("one-process")
def _alone(facts: Facts) -> Iterator[Seen]:
    # `-D` and its word may be one argument or two.
    joined = " ".join(facts.command[1:])
    found = _ONE_PROCESS.search(joined)
    if found:
        yield Seen(
            what=because("rules.one-process", flag=found[0]),
            evidence=(because("advice.command_line"),),
        )
