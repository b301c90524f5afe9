"""Which of the servers that were looked at stand before another one, and keep connections to it."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from httpdyno.advice.rules.facts import Front
from httpdyno.model import Backend
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.inspection import Inspected
from httpdyno.servers.nginx.catalogue import IDLE
from httpdyno.servers.nginx.text import time_s


def fronts_of(
    seen: Inspected,
    all_seen: Iterable[Inspected],
    serving: Callable[[Backend], Sequence[Found]],
) -> tuple[Front, ...]:
    """Return the proxies that keep connections to a server that runs.

    Args:
        seen: The server.
        all_seen: Whoever was looked at with it.
        serving: Who listens where a backend is.
    """
    return tuple(
        front
        for other in all_seen
        if other.found != seen.found
        for front in _fronts(other)
        if _is_served(seen, front, other, serving)
    )


def _fronts(other: Inspected) -> Iterator[Front]:
    for reading in other.survey.readings if other.survey else ():
        idle_s = time_s(reading.text) if reading.name == IDLE else None
        if idle_s is not None:
            yield Front(name=other.found.member.kind, idle_s=idle_s, idle=reading)


def _is_served(
    seen: Inspected,
    front: Front,
    other: Inspected,
    serving: Callable[[Backend], Sequence[Found]],
) -> bool:
    root = seen.found.root
    return root is not None and any(
        found.root is not None and found.root.pid == root.pid
        for backend in (other.survey.backends if other.survey else ())
        if backend.to == front.idle.scope
        for found in serving(backend)
    )
