"""Connections that may wait to be accepted: what is asked beside what the kernel gives."""

from collections.abc import Iterator, Mapping

from httpdyno.advice.rules.declaration import Rule, Seen
from httpdyno.advice.rules.facts import Facts, is_said, number, where

_NAMES: Mapping[str, str] = {
    "apache": "ListenBacklog",
    "nginx": "listen_backlog",
    "php-fpm": "listen.backlog",
    "gunicorn": "backlog",
    "uvicorn": "backlog",
}
"""Kind → the reading."""


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


RULES = (
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
