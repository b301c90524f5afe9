"""Connections that may wait to be accepted: what is asked beside what the kernel gives."""

from collections.abc import Iterator, Mapping

from httpdyno.advice.rules.declaration import Proposed, Proposes, Rule, Seen, where_said
from httpdyno.advice.rules.facts import Facts, is_said, number, where

_NAMES: Mapping[str, str] = {
    "apache": "ListenBacklog",
    "nginx": "listen_backlog",
    "php-fpm": "listen.backlog",
    "gunicorn": "backlog",
    "uvicorn": "backlog",
}
"""Kind → the reading, and the knob."""
_LONG = 4096


def _over(facts: Facts) -> Iterator[Seen]:
    given = facts.somaxconn
    if given is None:
        return
    found = [
        (asked, reading)
        for reading in facts.all_of(_NAMES[facts.kind])
        if is_said(reading) and (asked := number(reading.text)) is not None and asked > given
    ]
    # Of a socket that is there the kernel says how many it was given.
    opened = [each for each in facts.queues if each.backlog > given]
    if found and not opened:
        most = max(asked for asked, _ in found)
        yield Seen(
            what=f"{most:,} connections are to wait at most, and the kernel gives {given:,}",
            evidence=(
                *(where(reading) for _, reading in found),
                f"net.core.somaxconn {given:,}",
                *(f"{each.backlog:,} at {each.address} now" for each in facts.queues),
            ),
        )


def _full(facts: Facts) -> Iterator[Seen]:
    given = facts.somaxconn
    full = [each for each in facts.queues if 0 < each.backlog <= each.waiting]
    if given is None or not full:
        return
    fullest = max(full, key=lambda each: each.waiting)
    if fullest.backlog >= given:
        return
    yield Seen(
        what=f"{fullest.waiting:,} connections wait where {fullest.backlog:,} may, and those that "
        f"come besides are dropped; the kernel gives {given:,}",
        evidence=(
            *(f"{each.waiting:,} of {each.backlog:,} waiting at {each.address}" for each in full),
            f"net.core.somaxconn {given:,}",
        ),
        proposes=_longer(facts, min(given, max(_LONG, 2 * fullest.backlog))),
    )


def _longer(facts: Facts, n: int) -> tuple[Proposed, ...]:
    """Return a queue of that length; none where several pools have one each."""
    name = _NAMES[facts.kind]
    readings = facts.all_of(name)
    if any(each.scope == "" for each in readings):
        return (Proposed(knob=name, value=n),)
    if len(facts.all_of("pool")) > 1:
        return ()
    return where_said(readings[:1], name, n) if readings else (Proposed(knob=name, value=n),)


RULES = (
    Rule(
        name="full-queue",
        kinds=tuple(_NAMES),
        severity="doubtful",
        checks="A listen queue that is full, where the kernel would give a longer one",
        matters="A connection that comes while the queue is full is dropped, and its client tries "
        "again after one second, then three. A queue takes what comes at once; it does not make "
        "the server faster.",
        needs="The server runs and was named, a queue of its has as many connections now as may "
        "wait, and `net.core.somaxconn` allows more.",
        do="ask for a longer queue, and see what its workers wait for",
        risks="a long queue makes clients wait for answers that they gave up on",
        wrong="more come than can be answered, and not for a moment: then a queue of any length "
        "fills",
        source="man7.org/linux/man-pages/man2/listen.2.html",
        look=_full,
        proposes=tuple(
            Proposes(
                knob=knob,
                value=f"{_LONG:,} or twice as long, as far as the kernel allows",
                kinds=(kind,),
            )
            for kind, knob in _NAMES.items()
        ),
    ),
    Rule(
        name="clipped-backlog",
        kinds=tuple(_NAMES),
        severity="doubtful",
        checks="A longer listen queue asked for than the kernel gives",
        matters="The kernel takes the smaller one of what a server asks and "
        "`net.core.somaxconn`, without a word; what comes beyond is dropped, and its client "
        "tries again after a second or more.",
        needs="The queue is written somewhere, and `net.core.somaxconn` can be read.",
        do="raise `net.core.somaxconn` with `sysctl`, then restart the server; or ask for less",
        risks="a long queue makes clients wait for answers that they gave up on",
        wrong="the server runs in a network namespace whose `net.core.somaxconn` is another one",
        source="man7.org/linux/man-pages/man2/listen.2.html",
        look=_over,
    ),
)
