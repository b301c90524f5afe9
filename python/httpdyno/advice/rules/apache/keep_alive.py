"""Connections that are kept: what they hold under prefork, and what closing them costs with TLS."""

from collections.abc import Iterator

from httpdyno.advice.rules.apache.mpm import PREFORK, mpm, workers_taken
from httpdyno.advice.rules.declaration import (
    BOOK,
    HTTPD,
    Proposes,
    Rule,
    Seen,
    where_said,
)
from httpdyno.advice.rules.facts import Facts, is_said, number, where

_COMPILED_TIMEOUT_S = 5
"""More than that somebody has asked for."""
_TOO_LONG_S = 15
_ENOUGH_S = 2
"""For the parts of a page."""
_ON, _OFF = "on", "off"


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


RULES = (
    Rule(
        name="kept-workers",
        kinds=("apache",),
        severity="doubtful",
        checks="`KeepAliveTimeout` above 5 s where prefork runs the processes",
        matters="A process of prefork serves one connection. While that one is idle and kept, the "
        "process does nothing, and with all of them held so new visitors wait. A pool of n takes "
        "at most n / timeout visitors a second that leave without closing.",
        needs="The module is `mpm_prefork_module`, `KeepAlive` is not off, and the timeout is "
        "written somewhere.",
        do="set `KeepAliveTimeout` to 1 to 3 s, or run `mpm_event`, whose kept connections hold no "
        "worker",
        risks="shorter than the idle time of a proxy in front, that one meets closed connections",
        wrong="only a proxy with a few connections of its own comes here, or visitors are few",
        source=f"{BOOK}; {HTTPD}mod/core.html#keepalivetimeout",
        look=_held,
        proposes=(Proposes(knob="KeepAliveTimeout", value=f"{_ENOUGH_S} s"),),
    ),
    Rule(
        name="closed-tls",
        kinds=("apache",),
        severity="doubtful",
        checks="`KeepAlive Off` where it speaks TLS",
        matters="A handshake takes one or two round trips and most of the CPU of a small answer; "
        "a page with twenty parts pays it twenty times.",
        needs="A listener with TLS, and `KeepAlive Off` for the whole that no host turns on again.",
        do="turn `KeepAlive` on with a timeout of 1 to 3 s",
        risks="under prefork kept connections hold workers",
        wrong="each visitor asks for one thing only, as calls of an interface do",
        source=f"{HTTPD}mod/core.html#keepalive",
        look=_closed,
        proposes=(Proposes(knob="KeepAlive", value="on, wherever it is off"),),
    ),
)
