"""What limited a server, in words: the same in studies, in load tests and where it is inspected."""

from collections.abc import Iterator, Sequence

from httpdyno.advice.bottleneck import Difference
from httpdyno.advice.bottleneck.facts import Facts
from httpdyno.model import AnswerTime, Behind, Bottleneck, Look
from httpdyno.report.shared import message
from httpdyno.report.shared.phrase import plural
from httpdyno.units import format_about, format_bytes, format_duration, format_percent

# Which servers a figure of another one is without, in words.


def behind_text(behind: Sequence[Behind]) -> str:
    """Return which servers behind it are no part of its processes; empty: none is known."""
    return ", ".join(
        f"{each.by} ({each.to})" if each.by else f"what answers at {each.to}" for each in behind
    )


# What limited a server, in words: the same in studies, in load tests and where it is inspected.

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
    "unknown": "unknown",
}

WHAT_LIMITED, WHAT_MAY_HELP, RUN_QUEUE = "what limited it", "what may help", "run queue"
_LITTLE = 0.05
"""Of what the client sees: less may be chance."""
_TOOK = 0.1
"""Of the machine's CPUs: who looks and the kernel itself take less."""


def limit_word(found: Bottleneck) -> str:
    """Return what limited it: `too few workers`."""
    return LIMIT_WORDS[found.limit]


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
        yield WHAT_MAY_HELP, message.text(found.advice)


def seen_words(look: Look, found: Bottleneck, *, of: str) -> str:
    """Return a limit, what says so, and in how much of what it was seen."""
    parts = (limit_word(found), message.text(found.reason), answer_time_text(found.answer_time))
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
    told = (f"{name} used {format_about(cores)} cores" for name, cores in took.items())
    return (
        f"{format_about(look.host_run_queue)} threads ran or were ready on the machine's "
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
            return f"{format_about(seconds / least_s)} {unit}"
    return f"{format_about(seconds * 1e6)} µs"


_DOING_WORDS = {
    "running": "on a CPU or ready for one",
    "backend": "waiting for a backend",
    "lock": "waiting for a lock",
    "disk": "waiting for a disk",
    "child": "waiting for a child process",
    "client_write": "waiting for the client to take it",
    "sleep": "asleep",
    "other": "at something unknown",
}
_TOLD_RATIO, _ALL_RATIO = 0.05, 0.95


def answer_split(time: AnswerTime | None) -> str:
    """Return what a worker is at for which share of an answer; empty where that is not sure."""
    whole_s = sum(time.split.values()) if time else 0.0
    if time is None or whole_s <= 0:
        return ""
    parts = sorted(time.split.items(), key=lambda item: -item[1])
    if parts[0][1] >= _ALL_RATIO * whole_s:
        return f"at the worker it is {_DOING_WORDS[parts[0][0]]}"
    told = [(_DOING_WORDS[name], s / whole_s) for name, s in parts if s >= _TOLD_RATIO * whole_s]
    shares = ", ".join(f"{words} {format_percent(ratio)}" for words, ratio in told)
    return f"at the worker it is {shares}"


FIGURE_WORDS = {
    "host_forks_per_s": "processes begun a second on this machine",
    "forks_per_s": "processes begun a second, at least",
    "htaccess_opens": "opens of .htaccess for an answer",
    "opens": "files opened for an answer",
    "stats": "file lookups (stat, lstat, access) for an answer",
    "file_locks": "locks of files for an answer",
    "syncs": "forced writes (fsync) for an answer",
    "spawn_cpu_s": "CPU time of an answer in processes that began and ended meanwhile",
    "read_calls": "read calls of an answer",
    "written_bytes": "written to disks for an answer",
    "read_bytes": "read from disks for an answer",
    "disk_workers": "workers that waited for a disk",
    "lock_workers": "workers that waited for a lock",
    "backend_workers": "workers that waited for a backend",
    "client_read_workers": "workers held by silent clients",
    "listen_queue": "connections in the listen queue",
    "switches_involuntary": "times an answer's worker was taken off its core",
    "switches_voluntary": "waits of an answer",
    "workers": "workers",
    "server_cores": "cores that the server used",
    "sleep_workers": "workers that slept",
    "writes": "writes for an answer",
    "write_calls": "write calls of an answer",
    "counted_opens": "files opened",
    "counted_stats": "lookups",
    "counted_writes": "written",
    "counted_locks": "locked",
    "private_bytes": "private memory of a process",
    "shared_bytes": "memory that processes share, counted once",
}
"""What a change did inside a server: by the key of the figure that differs."""
_OF_ALL_STARTS = frozenset({"private_bytes", "shared_bytes"})
"""Of these a page more is no chance."""
_KIB = 1024.0


def difference_text(found: Difference) -> str:
    """Return a figure before and after: `waits of an answer 14 → 6.1`."""
    write = {"count": format_about, "bytes": format_bytes, "s": format_duration}[found.unit]
    old, new = write(found.before), write(found.after)
    if old == new and found.figure in _OF_ALL_STARTS:
        old, new = (f"{size / _KIB:,.0f} KiB" for size in (found.before, found.after))
    if found.most is not None:
        # Cores and workers are whole ones, mostly.
        most = [f" of {write(each).removesuffix('.0')}" if each else "" for each in found.most]
        # What both have of the same is said once: `1.8 → 1.9 of 2`.
        old, new = old + (most[0] if most[0] != most[1] else ""), new + most[1]
    elif old == new:
        return f"{FIGURE_WORDS[found.figure]} {new} as before"
    return f"{FIGURE_WORDS[found.figure]} {old} → {new}{'' if found.is_claim else ' (no claim)'}"
