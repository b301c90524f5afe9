"""Directives that Apache 2.4 does not have, or reads otherwise than they look."""

from collections.abc import Iterator, Mapping

from httpdyno.advice.rules.declaration import BOOK, HTTPD, Rule, Seen
from httpdyno.advice.rules.facts import Facts, number, where, words

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


def _order(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("Order") if len(words(each.text)) > 1]
    if found:
        yield Seen(
            what="`Order` takes one word: with a space behind the comma Apache refuses it",
            evidence=tuple(map(where, found)),
        )


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


RULES = (
    Rule(
        name="removed-directives",
        kinds=("apache",),
        severity="bad",
        checks="Directives that 2.4 does not have any more, or that do nothing",
        matters="Apache 2.4 refuses a name that it does not know, so the next start fails; one "
        "that it only ignores is believed to do something.",
        needs="The directive is in force: no `<IfModule>` or `<IfVersion>` leaves it out.",
        do="take it out, and write what the manual has in its place",
        risks="none: it does nothing now",
        wrong="a module of your own has a directive of that name",
        source=f"{HTTPD}upgrading.html",
        look=_unknown,
    ),
    Rule(
        name="order-with-space",
        kinds=("apache",),
        severity="bad",
        checks="`Order deny, allow` with a space",
        matters="The space makes two words of one, and Apache does not start.",
        needs="`Order` with more than one word.",
        do="write `Order deny,allow`, or `Require` in its place",
        risks="with `Require` and `Order` side by side both count",
        wrong="never: it is refused",
        source=f"{BOOK}; {HTTPD}mod/mod_access_compat.html#order",
        look=_order,
    ),
    Rule(
        name="long-cache-path",
        kinds=("apache",),
        severity="bad",
        checks="`CacheDirLevels` × `CacheDirLength` over 20",
        matters="Folders take their names from a hash, of which there are 20 characters for that; "
        "Apache refuses more.",
        needs="At least one of the two is written; the other is 2 where nothing sets it.",
        do="use 2 levels of 1 character, or 3 where there are millions of files",
        risks="what is cached lies elsewhere then: the cache begins empty",
        wrong="never: it is refused",
        source=f"{HTTPD}mod/mod_cache_disk.html#cachedirlevels",
        look=_cache_path,
    ),
)
