"""What limited a server, in words: the same in studies, in load tests and where it is inspected."""

from collections.abc import Iterator

from httpdyno.advice.bottleneck import answer_split
from httpdyno.advice.bottleneck.facts import Facts
from httpdyno.advice.bottleneck.facts import of as written
from httpdyno.model import AnswerTime, Bottleneck, Look
from httpdyno.report.shared.phrase import plural
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

WHAT_LIMITED, WHAT_MAY_HELP, RUN_QUEUE = "what limited it", "what may help", "run queue"
_LITTLE = 0.05
"""Of what the client sees: less may be chance."""
_TOOK = 0.1
"""Of the machine's CPUs: who looks and the kernel itself take less."""


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
    yield WHAT_LIMITED, seen_words(look, found, of=of)
    if found.advice:
        yield WHAT_MAY_HELP, found.advice


def seen_words(look: Look, found: Bottleneck, *, of: str) -> str:
    """Return a limit, what says so, and in how much of what it was seen."""
    parts = (limit_word(found), reason_text(found), answer_time_text(found.answer_time))
    seen = f"seen in {format_duration(look.seconds)} {of}"
    return f"{'; '.join(each for each in parts if each)} ({seen})"


def run_queue_text(look: Look) -> str:
    """Return how many threads were at the machine's CPUs, and who beside the server had these.

    `5.2 threads ran or were ready on the machine's 2 CPUs in the mean; the load client used 0.7
    cores, others used 0.4 cores`. Empty where none had to wait for a CPU, or where hardly any went
    to anybody else: then the queue is the server's own.
    """
    facts = Facts(look)
    users = {"the load client": facts.client_cores, "others": facts.others_cores}
    took = {name: cores for name, cores in users.items() if cores >= _TOOK * look.host_cpus}
    if look.host_run_queue <= look.host_cpus or not took:
        return ""
    told = (f"{name} used {written(cores)} cores" for name, cores in took.items())
    return (
        f"{written(look.host_run_queue)} threads ran or were ready on the machine's "
        f"{plural(look.host_cpus, 'CPU')} in the mean; {', '.join(told)}"
    )


def answer_time_text(time: AnswerTime | None) -> str:
    """Return in words where an answer's time goes; empty where that is not known."""
    if time is None:
        return ""
    return "; ".join(filter(None, [_where(time), answer_split(time)]))


def _where(time: AnswerTime) -> str:
    worker, elsewhere_s = rough_time(time.worker_s), time.client_s - time.worker_s
    if elsewhere_s < _LITTLE * time.client_s:
        return f"an answer takes {worker} of a worker, and hardly any time in queues"
    return (
        f"an answer takes {worker} of a worker and {rough_time(time.client_s)} at the client: "
        f"{rough_time(elsewhere_s)} in queues and on the wire"
    )


def rough_time(seconds: float) -> str:
    """Write a time with the digits that a few samples carry."""
    for least_s, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= least_s:
            return f"{written(seconds / least_s)} {unit}"
    return f"{written(seconds * 1e6)} µs"
