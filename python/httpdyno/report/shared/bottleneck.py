"""What limited a server, in words: the same in studies, in load tests and where it is inspected."""

from collections.abc import Iterator

from httpdyno.advice.bottleneck import answer_split
from httpdyno.advice.bottleneck.facts import of as written
from httpdyno.model import AnswerTime, Bottleneck, Look
from httpdyno.units import format_duration

LIMIT_WORDS = {
    "cpu": "CPU",
    "too_few_workers": "too few workers",
    "too_many_workers": "too many workers",
    "backend": "a backend",
    "keep_alive": "workers held by kept connections",
    "slow_clients": "workers held by slow clients",
    "spawning": "processes that come and go",
    "disk": "a disk",
    "memory": "memory",
    "listen_queue": "the listen queue",
    "lock": "a lock",
    "load_generator": "the load client",
    "nothing": "nothing",
    "unknown": "cannot be told",
}

WHAT_LIMITED, WHAT_MAY_HELP = "what limited it", "what may help"
_LITTLE = 0.05
"""Of what the client sees: less may be chance."""


def limit_word(found: Bottleneck) -> str:
    """Return what limited it: `too few workers`."""
    return LIMIT_WORDS[found.limit]


def reason_text(found: Bottleneck) -> str:
    """Return what says so; that it cannot be told the word says."""
    return found.reason.removeprefix("it cannot be told: ")


def verdict_rows(
    look: Look, found: Bottleneck, *, of: str = "of load"
) -> Iterator[tuple[str, str]]:
    """Yield what is said of one server that was looked at once: its limit, and what may help.

    Args:
        look: How it was looked at.
        found: What that says.
        of: What it was that it was looked at in.
    """
    parts = (limit_word(found), reason_text(found), answer_time_text(found.answer_time))
    seen = f"seen in {format_duration(look.seconds)} {of}"
    yield WHAT_LIMITED, f"{'; '.join(each for each in parts if each)} ({seen})"
    if found.advice:
        yield WHAT_MAY_HELP, found.advice


def answer_time_text(time: AnswerTime | None) -> str:
    """Return in words where an answer's time goes; empty where that is not known."""
    if time is None:
        return ""
    return "; ".join(filter(None, [_where(time), answer_split(time)]))


def _where(time: AnswerTime) -> str:
    worker, elsewhere_s = _rough(time.worker_s), time.client_s - time.worker_s
    if elsewhere_s < _LITTLE * time.client_s:
        return f"an answer takes {worker} of a worker, and hardly any time in queues"
    return (
        f"an answer takes {worker} of a worker and {_rough(time.client_s)} at the client: "
        f"{_rough(elsewhere_s)} in queues and on the wire"
    )


def _rough(seconds: float) -> str:
    """Write a time with the digits that a few samples carry."""
    for least_s, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= least_s:
            return f"{written(seconds / least_s)} {unit}"
    return f"{written(seconds * 1e6)} µs"
