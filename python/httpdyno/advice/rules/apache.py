"""Rules for Apache: its pool, kept connections, what it looks up, and what it does not read."""

import re
from collections.abc import Iterator, Mapping

from httpdyno.advice.rules.declaration import Proposed, Seen, Severity, rule, where_said
from httpdyno.advice.rules.facts import Facts, KeptWorkers, is_said, number, place, where, words
from httpdyno.advice.rules.pool import (
    PREFORK,
    in_force,
    most_workers,
    mpm,
    short,
    threads_each,
    workers_taken,
)
from httpdyno.model import Reading
from httpdyno.units import format_bytes, format_percent

# The numbers of Apache's pool beside each other: bands, starts, limits that clip.

_WRITTEN = "MaxRequestWorkers as written"
"""The reading of what stands in the file, where Apache says that it takes another number."""


def _names(facts: Facts) -> tuple[str, str]:
    what = "Servers" if mpm(facts) == PREFORK else "Threads"
    return f"MinSpare{what}", f"MaxSpare{what}"


def _places(facts: Facts, *names: str) -> tuple[str, ...]:
    """Return where these are set, `NAME N, FILE:LINE`; those that nothing sets with their number.

    Args:
        facts: Of the server.
        names: Directives of the module.
    """
    found = []
    for name in names:
        reading = facts.reading(name)
        text = reading.text if reading else str(in_force(facts, name))
        found.append(f"{name} {text}, {place(reading) if reading else 'compiled in'}")
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
            what=f"`{high}` {most:,} is not above `{low}` {fewest:,} by a process: Apache takes "
            f"{taken:,} without a word",
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
    unit = "" if each == 1 else f" × {each} threads"
    if n * each < fewest:
        words = f"below `{low}` {fewest:,}: after a start processes are made once a second"
    elif n * each > max(most, taken):
        words = f"above `{high}` {max(most, taken):,}: the idle ones are ended one a second"
    else:
        return
    yield Seen(
        what=f"`StartServers` {n:,}{unit} is {words}",
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
    unit = "" if threads == 1 else f" × {threads} threads"
    n_fit = facts.pool.n_fit if facts.pool else None
    yield Seen(
        what=f"`MaxRequestWorkers` {asked:,} is cut to {most:,} by `ServerLimit` "
        f"{most // threads:,}{unit}",
        evidence=(f"MaxRequestWorkers {asked}, {place(reading)}", *_places(facts, *names)),
        do=f"set `ServerLimit` to {processes:,} and restart, or ask for {most:,}",
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
_BY_PROXY = (
    "put a light proxy in front, which keeps clients' connections and takes answers off at once: "
    "nginx, or Apache under `mpm_event`; behind it set `KeepAlive Off`"
)


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
        what=f"under prefork a kept connection holds a worker for {seconds} s after its last "
        f"answer: {workers:,} workers take {workers / seconds:,.1f} such visitors a second",
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
            *([f"the largest of {pool.n_workers:,} workers"] if pool and own_bytes else []),
            *(where(each) if each else "KeepAlive is On where nothing sets it" for each in places),
            *(f"TLS at {each.address}" for each in secured),
        ),
        do=_BY_PROXY if secured else "",
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


def _of_looks(kept: KeptWorkers, own_bytes: int) -> str:
    own = f", each with up to {format_bytes(own_bytes)} of its own" if own_bytes else ""
    none = ", and next to none was idle" if kept.n_idle < 1 else ""
    return (
        f"{format_percent(kept.kept_ratio)} of the workers' time goes into kept connections that "
        f"ask for nothing: {kept.n_kept:.1f} of {kept.n_workers:.1f} workers{own}{none}"
    )


def _of_size(facts: Facts, own_bytes: int) -> str:
    seconds = facts.number("KeepAliveTimeout")
    if facts.reading("KeepAliveTimeout") is None:
        seconds = _COMPILED_TIMEOUT_S
    after = f" for {seconds} s after its last answer" if seconds is not None else ""
    return (
        f"under prefork each kept connection holds a process{after}, with up to "
        f"{format_bytes(own_bytes)} of its own"
    )


def _looks(kept: KeptWorkers) -> str:
    return (
        f"server-status, {kept.n_looks} looks: of {kept.n_workers:.1f} workers {kept.n_kept:.1f} "
        f"in K, {kept.n_idle:.1f} idle"
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
        what="each request makes a connection and a TLS handshake of its own: `KeepAlive` is off",
        evidence=(*map(where, said), *(f"TLS at {each.address}" for each in secured)),
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
        what=f"a process ends after {n:,} {'connection' if n == 1 else 'connections'}: where the "
        f"parent replaces the dead once a second, {processes:,} processes take at most "
        f"{processes * n:,} a second{found.what}",
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
            what="the name server is asked for the name of each client, and the client waits"
            + (" twice" if any(r.text.lower() == "double" for r in found) else ""),
            evidence=(*_asked(facts), *map(where, found)),
            proposes=where_said(found, "HostnameLookups", "Off"),
        )


@rule("access-by-name")
def _by_name(facts: Facts) -> Iterator[Seen]:
    found = [r for r in (*facts.said("Allow"), *facts.said("Deny")) if _has_name(r)]
    found += [r for r in facts.said("Require") if _is_host(r)]
    if found:
        yield Seen(
            what="who may ask is told by names of hosts: the name server is asked twice for each "
            "client, though `HostnameLookups` is off",
            evidence=(*_asked(facts), *map(where, found)),
        )


def _asked(facts: Facts) -> Iterator[str]:
    """Yield whom requests were seen to ask for names, besides what else the server asks for."""
    calls = facts.calls
    if calls is not None:
        counts = {"opens of /etc/hosts": calls.hosts_opens}
        yield calls.seen({**counts, "connections to name servers": calls.name_servers})


def _has_name(reading: Reading) -> bool:
    given = words(reading.text)
    return given[:1] == ["from"] and any(
        not _ADDRESS.fullmatch(word) and not _NO_NAME.fullmatch(word) for word in given[1:]
    )


def _is_host(reading: Reading) -> bool:
    given = [word.lower() for word in words(reading.text)]
    return (given[1:2] if given[:1] == ["not"] else given[:1]) == ["host"]


# Directives that Apache 2.4 does not have, or reads otherwise than they look.

REMOVED: Mapping[str, str] = {
    "CacheSize": "went with the disk cache of 1.3: clean it with `htcacheclean`",
    "CacheGcInterval": "went with the disk cache of 1.3: clean it with `htcacheclean`",
    "AcceptMutex": "is `Mutex` since 2.4",
    "LockFile": "is `Mutex` since 2.4",
    "SSLMutex": "is `Mutex` since 2.4",
    "RewriteLog": "is `LogLevel rewrite:traceN` since 2.4",
    "RewriteLogLevel": "is `LogLevel rewrite:traceN` since 2.4",
    "ServerType": "went with 1.3",
    "BindAddress": "is `Listen` since 2.0",
    "Port": "is `Listen` since 2.0",
    "ClearModuleList": "went with 1.3",
    "AddModule": "went with 1.3",
}
"""Source: httpd.apache.org/docs/2.4/upgrading.html, /docs/2.2/upgrading.html, /docs/2.0/."""
IGNORED: Mapping[str, str] = {"NameVirtualHost": "does nothing since 2.4"}
_LONGEST_CACHE_PATH = 20
"""Characters of a hash that are folders: mod_cache_disk.h, CACHEFILE_LEN."""
_DEFAULTS = (2, 2)


@rule("removed-directives")
def _unknown(facts: Facts) -> Iterator[Seen]:
    for name, why in (*REMOVED.items(), *IGNORED.items()):
        found = facts.said(name)
        if found:
            yield Seen(
                what=f"`{name}` {why}",
                evidence=tuple(map(where, found)),
                do="take it out" if name in IGNORED else "",
                severity="hint" if name in IGNORED else None,
            )


@rule("order-with-space")
def _order(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("Order") if len(words(each.text)) > 1]
    if found:
        yield Seen(
            what="`Order` takes one word: with a space behind the comma Apache refuses it",
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
            what=f"`CacheDirLevels` {levels} × `CacheDirLength` {length} is {levels * length}: "
            f"Apache refuses more than {_LONGEST_CACHE_PATH}",
            evidence=tuple(where(each) for each in found if each),
        )


# What runs in its processes, and how many of them there are.

_MOD_PHP = ("php_module", "php7_module", "php5_module")


@rule("php-in-threads")
def _threads_of_php(facts: Facts) -> Iterator[Seen]:
    if mpm(facts) in ("", PREFORK) or not facts.has_module(*_MOD_PHP):
        return
    yield Seen(
        what=f"mod_php runs beside mpm_{mpm(facts)}: threads share a process, and many of PHP's "
        "extensions cannot",
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
            what=f"one process answers one request at a time: `{found[0]}` is for debugging",
            evidence=("its command line",),
        )
