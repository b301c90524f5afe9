"""Rules for PHP: php-fpm's pools, OPcache, and switches for development."""

from collections.abc import Iterator

from httpdyno.advice.rules.declaration import Seen, rule, where_said
from httpdyno.advice.rules.facts import Facts, is_said, number, where
from httpdyno.advice.rules.workers import short

_MANY = 5000
_OFF = frozenset({"0", "off", "no", "false", ""})
_MIN, _MAX, _START = "pm.min_spare_servers", "pm.max_spare_servers", "pm.start_servers"
_NOT_READ = {
    "static": (_MIN, _MAX, _START, "pm.process_idle_timeout"),
    "ondemand": (_MIN, _MAX, _START),
}
"""Manner → settings of a pool that count for nothing then."""


def _scopes(facts: Facts) -> list[str]:
    return [each.scope for each in facts.all_of("pool")]


@rule("php-inverted-spares")
def _band(facts: Facts) -> Iterator[Seen]:
    for scope in _scopes(facts):
        pm = facts.reading("pm", scope)
        if pm is None or pm.text != "dynamic":
            continue
        low, high = facts.number(_MIN, scope), facts.number(_MAX, scope)
        most, start = facts.number("pm.max_children", scope), facts.number(_START, scope)
        if low is None or high is None:
            continue
        if low > high:
            words = f"`{_MAX}` {high} is below `{_MIN}` {low}"
        elif most is not None and high > most:
            words = f"`{_MAX}` {high} is above `pm.max_children` {most}"
        elif start is not None and not low <= start <= high:
            words = f"`{_START}` {start} is not between `{_MIN}` {low} and `{_MAX}` {high}"
        else:
            continue
        readings = (facts.reading(n, scope) for n in (_MIN, _MAX, _START, "pm.max_children"))
        yield Seen(
            what=f"{words}: php-fpm refuses that",
            evidence=tuple(where(each) for each in readings if each and is_said(each)),
        )


@rule("php-unread-spares")
def _not_read(facts: Facts) -> Iterator[Seen]:
    for scope in _scopes(facts):
        pm = facts.reading("pm", scope)
        names = _NOT_READ.get(pm.text, ()) if pm else ()
        found = [each for name in names if (each := facts.reading(name, scope)) and is_said(each)]
        if pm and found:
            yield Seen(
                what=f"with `pm = {pm.text}` these count for nothing: "
                f"{', '.join(each.name for each in found)}",
                evidence=(where(pm), *map(where, found)),
            )


@rule("php-short-lives")
def _short(facts: Facts) -> Iterator[Seen]:
    for reading in facts.said("pm.max_requests"):
        n, children = number(reading.text), facts.number("pm.max_children", reading.scope)
        found = short(facts, n)
        if n is None or found is None:
            continue
        of = f", of {children:,} that may run," if children else ""
        yield Seen(
            what=f"a child ends after {n:,} {'request' if n == 1 else 'requests'}{of} and the "
            f"next one begins with a fork{found.what}",
            evidence=(where(reading), found.evidence),
            severity=found.severity,
            do=found.do("pm.max_requests"),
            proposes=where_said([reading], "pm.max_requests", found.n_requests or _MANY),
        )


@rule("opcache-off")
def _uncompiled(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("opcache.enable") if each.text.lower() in _OFF]
    if found:
        yield Seen(
            what="each request compiles all of its scripts anew: OPcache is off",
            evidence=tuple(map(where, found)),
            proposes=where_said(found, "opcache.enable", True),
        )


_TRUE = frozenset({"1", "on", "yes", "true", "stdout"})
_XDEBUG = "xdebug"


@rule("php-debugging")
def _debugging(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("display_errors") if each.text.lower() in _TRUE]
    if found:
        yield Seen(
            what="visitors see the errors of scripts, with paths: `display_errors` is on",
            evidence=tuple(map(where, found)),
            severity="bad",
        )
    mode = facts.said("xdebug.mode")
    is_off = bool(mode) and all(each.text.lower() == "off" for each in mode)
    # The variable counts before the setting, and its value is not read.
    is_off = is_off or "XDEBUG_MODE" in (facts.environment_names or ())
    if facts.has_module(_XDEBUG) and not is_off:
        yield Seen(
            what="xdebug is loaded: it hooks into each call of a function, and keeps the JIT off",
            evidence=tuple(map(where, mode)) or ("its extension is in the ini files",),
            do="take its ini file away (`phpdismod xdebug` on Debian), or set `xdebug.mode=off`",
        )
