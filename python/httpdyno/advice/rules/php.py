"""Rules for PHP: php-fpm's pools, OPcache, and switches for development."""

from collections.abc import Iterator

from httpdyno.advice.rules.declaration import Seen, rule, where_said
from httpdyno.advice.rules.facts import Facts, is_said, number, where
from httpdyno.advice.rules.workers import short
from httpdyno.reason import because

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
            what = because("rules.php-inverted-spares.below", high=high, low=low)
        elif most is not None and high > most:
            what = because("rules.php-inverted-spares.above", high=high, most=most)
        elif start is not None and not low <= start <= high:
            what = because("rules.php-inverted-spares.start", start=start, low=low, high=high)
        else:
            continue
        readings = (facts.reading(n, scope) for n in (_MIN, _MAX, _START, "pm.max_children"))
        yield Seen(
            what=what,
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
                what=because(
                    "rules.php-unread-spares", pm=pm.text, names=[each.name for each in found]
                ),
                evidence=(where(pm), *map(where, found)),
            )


@rule("php-short-lives")
def _short(facts: Facts) -> Iterator[Seen]:
    for reading in facts.said("pm.max_requests"):
        n, children = number(reading.text), facts.number("pm.max_children", reading.scope)
        found = short(facts, n)
        if n is None or found is None:
            continue
        yield Seen(
            what=found.costing(
                because(
                    "rules.php-short-lives.of" if children else "rules.php-short-lives.child",
                    n=n,
                    children=children,
                )
            ),
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
            what=because("rules.opcache-off"),
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
            what=because("rules.php-debugging.shown"),
            evidence=tuple(map(where, found)),
            severity="bad",
        )
    mode = facts.said("xdebug.mode")
    is_off = bool(mode) and all(each.text.lower() == "off" for each in mode)
    # The variable counts before the setting, and its value is not read.
    is_off = is_off or "XDEBUG_MODE" in (facts.environment_names or ())
    if facts.has_module(_XDEBUG) and not is_off:
        yield Seen(
            what=because("rules.php-debugging.xdebug"),
            evidence=tuple(map(where, mode)) or (because("rules.php-debugging.extension"),),
            do=because("rules.php-debugging.fix"),
        )
