"""Connections that are kept: what they hold under prefork, and what closing them costs with TLS."""

from collections.abc import Iterator

from httpdyno.advice.rules.apache.mpm import PREFORK, mpm, workers_taken
from httpdyno.advice.rules.declaration import (
    BOOK,
    HTTPD,
    Proposed,
    Proposes,
    Rule,
    Seen,
    Severity,
    where_said,
)
from httpdyno.advice.rules.facts import Facts, KeptWorkers, is_said, number, where
from httpdyno.model import Reading
from httpdyno.units import format_bytes, format_percent

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
        name="kept-heavy-workers",
        kinds=("apache",),
        severity="doubtful",
        checks="Connections kept by heavy processes of prefork, or by many of them",
        matters="A process of prefork that holds a kept connection does nothing else, and keeps "
        "its memory: an interpreter and all that it has loaded and unshared. For the same visitors "
        "the pool has to be larger by all that are held so, and memory bounds it. With connections "
        "closed after each answer, or kept by a light proxy in front, heavy processes only work.",
        needs="The module is `mpm_prefork_module`, `KeepAlive` is on somewhere, and it runs: its "
        f"workers are of one kind and the largest has {format_bytes(HEAVY_BYTES)} of its own or "
        "more; or `httpdyno inspect --status URL` has found a quarter or more of the workers' time "
        "in state K by Apache's own page. Where that page shows workers with connections and "
        "next to no time in K, it says nothing. With a listener of TLS it speaks of a proxy only.",
        do="set `KeepAlive Off` for what these processes answer, or " + _BY_PROXY,
        risks="without a proxy each part of a page opens a connection: a round trip more for each, "
        "and a process for each that comes at the same time",
        wrong="only a proxy with a few connections of its own comes here; or pages have many parts "
        "that these very processes send over long ways, and memory holds one for each visitor",
        source=f"{BOOK}; {HTTPD}mod/core.html#keepalive",
        look=_heavy,
        proposes=(Proposes(knob="KeepAlive", value="off, wherever it is on, without TLS"),),
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
