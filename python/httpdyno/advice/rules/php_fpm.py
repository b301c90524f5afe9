"""Rules for php-fpm: its pools and OPcache."""

from collections.abc import Iterator

from httpdyno.advice.rules.birth import COUNTS, short
from httpdyno.advice.rules.declaration import PHP, Proposes, Rule, Seen, where_said
from httpdyno.advice.rules.facts import Facts, is_said, number, where

_KINDS = ("php-fpm",)
_FPM = f"{PHP}install.fpm.configuration.php#"
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


def _uncompiled(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("opcache.enable") if each.text.lower() in _OFF]
    if found:
        yield Seen(
            what="each request compiles all of its scripts anew: OPcache is off",
            evidence=tuple(map(where, found)),
            proposes=where_said(found, "opcache.enable", True),
        )


RULES = (
    Rule(
        name="php-inverted-spares",
        kinds=_KINDS,
        severity="bad",
        checks="Numbers of idle children that contradict each other, with `pm = dynamic`",
        matters="php-fpm does not start with them, nor reload: what runs is an older "
        "configuration.",
        needs="`pm = dynamic`, and both numbers of idle children are known.",
        do="order them: min ≤ start ≤ max ≤ `pm.max_children`",
        risks="idle children keep their memory",
        wrong="never: it is refused",
        source=f"{_FPM}pm.min-spare-servers",
        look=_band,
    ),
    Rule(
        name="php-unread-spares",
        kinds=_KINDS,
        severity="hint",
        checks="Settings of `pm = dynamic` where `pm` is another one",
        matters="Whoever changes them believes that something happens.",
        needs="`pm` is `static` or `ondemand`, and such a setting is written for the pool.",
        do="take them out, or set `pm = dynamic`",
        risks="none: they count for nothing now",
        wrong="they stand there for the day when `pm` is set back",
        source=f"{_FPM}pm",
        look=_not_read,
    ),
    Rule(
        name="php-short-lives",
        kinds=_KINDS,
        severity="doubtful",
        checks="`pm.max_requests` so small that births cost more than they save",
        matters="Each child begins with a fork, opens its connections to databases anew and "
        "fills its caches of paths; and while many end at once fewer answer.",
        needs=f"It is written, and above 0. {COUNTS}",
        do="set `pm.max_requests` to some thousands, or to 0 where nothing leaks",
        risks="a leak grows for longer before its child ends",
        wrong="requests leak so much that a child must not live longer: mend that",
        source=f"{_FPM}pm.max-requests",
        look=_short,
        proposes=(
            Proposes(
                knob="pm.max_requests",
                value=f"what costs little by rates that were measured; {_MANY:,} without them",
            ),
        ),
    ),
    Rule(
        name="opcache-off",
        kinds=_KINDS,
        severity="bad",
        checks="OPcache turned off",
        matters="Each request reads and compiles each of its scripts, which is mostly more work "
        "than running them.",
        needs="`opcache.enable` is written, for the whole or for a pool.",
        do="set `opcache.enable=1`",
        risks="changed scripts count after `opcache.revalidate_freq` seconds only",
        wrong="this is a machine for development",
        source=f"{PHP}opcache.configuration.php#ini.opcache.enable",
        look=_uncompiled,
        proposes=(Proposes(knob="opcache.enable", value="on, wherever it is off"),),
    ),
)
