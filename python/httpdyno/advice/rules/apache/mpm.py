"""Which module runs Apache's processes, and its numbers, as rules need them. Pure."""

from collections.abc import Mapping

from httpdyno.advice.rules.facts import Facts, number

PREFORK = "prefork"
_KNOWN = ("event", "worker", PREFORK)
_COMPILED: Mapping[bool, Mapping[str, int]] = {
    True: {
        "MaxRequestWorkers": 400,
        "ServerLimit": 16,
        "ThreadsPerChild": 25,
        "StartServers": 3,
        "MinSpareThreads": 75,
        "MaxSpareThreads": 250,
    },
    False: {
        "MaxRequestWorkers": 256,
        "ServerLimit": 256,
        "StartServers": 5,
        "MinSpareServers": 5,
        "MaxSpareServers": 10,
    },
}
"""Threaded or not → directive → what httpd 2.4 has where nothing sets it.

Source: httpd.apache.org/docs/2.4/mod/mpm_common.html.
"""


def mpm(facts: Facts) -> str:
    """Return `prefork`, `worker` or `event`; empty where it is not told, or compiled in."""
    found = [name for name in _KNOWN if facts.has_module(f"mpm_{name}_module")]
    return found[0] if len(found) == 1 else ""


def in_force(facts: Facts, name: str) -> int | None:
    """Return a number of the module, what is compiled in where nothing sets it; None: not known."""
    module = mpm(facts)
    reading = facts.reading(name)
    if reading is not None:
        return number(reading.text)
    if not module or not facts.is_whole:
        return None
    return _COMPILED[module != PREFORK].get(name)


def workers_taken(facts: Facts) -> int | None:
    """Return how many requests are answered at once: as asked, or as `ServerLimit` cuts it."""
    asked, most = in_force(facts, "MaxRequestWorkers"), most_workers(facts)
    return None if asked is None or most is None else min(asked, most)


def most_workers(facts: Facts) -> int | None:
    """Return the most that `ServerLimit` allows; None where that is not known."""
    limit, threads = in_force(facts, "ServerLimit"), threads_each(facts)
    return None if limit is None or threads is None else limit * threads


def threads_each(facts: Facts) -> int | None:
    """Return how many requests a process answers at once; None where the module is not known."""
    module = mpm(facts)
    if not module:
        return None
    return 1 if module == PREFORK else in_force(facts, "ThreadsPerChild")
