"""How many workers settings allow, how long each lives, and what births cost. Pure."""

from collections.abc import Mapping

from httpdyno.advice.curve.finding import LifeRow
from httpdyno.advice.curve.joint import MOST_LOST_RATIO, shortest_life
from httpdyno.advice.rules.declaration import Proposed, Severity, where_said
from httpdyno.advice.rules.facts import Facts, number
from httpdyno.model import Reading, Record
from httpdyno.units import format_duration, format_percent

# Which module runs Apache's processes, and its numbers, as rules need them.

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


# How many processes the settings of a server allow.

OF_APACHE, OF_PHP, OF_GUNICORN = "MaxRequestWorkers", "pm.max_children", "workers"
"""The knobs that say so."""


class Allowed(Record, frozen=True):
    """What settings allow."""

    processes: int
    is_static: bool
    """Whether all of them run always."""
    readings: tuple[Reading, ...]
    """Empty where nothing sets it."""
    knob: str
    each: int = 1
    """Of a process: what the knob counts of it."""

    def proposed(self, n_processes: int) -> tuple[Proposed, ...]:
        """Return so many processes as the knob has them.

        None where memory holds none, or where several pools would have to share them out.
        """
        value = n_processes * self.each
        if len(self.readings) > 1 or n_processes < 1:
            return ()
        if not self.readings:
            return (Proposed(knob=self.knob, value=value),)
        return where_said(self.readings, self.knob, value)


def allowed(facts: Facts) -> Allowed | None:
    """Return how many processes a server of a kind with such a setting may have; None: not known.

    gunicorn has all of them always, so that those that run are told.
    """
    if facts.kind == "gunicorn":
        return _of_gunicorn(facts)
    return _of_apache(facts) if facts.kind == "apache" else _of_php(facts)


def _of_gunicorn(facts: Facts) -> Allowed | None:
    n = facts.pool.n_workers if facts.pool else 0
    # What else than its configuration may set it (`WEB_CONCURRENCY`, signals) is not read.
    readings = tuple(each for each in facts.said(OF_GUNICORN)[-1:] if number(each.text) == n)
    return Allowed(processes=n, is_static=True, readings=readings, knob=OF_GUNICORN) if n else None


def _of_apache(facts: Facts) -> Allowed | None:
    workers, threads = workers_taken(facts), threads_each(facts)
    reading = facts.reading(OF_APACHE)
    if workers is None or not threads:
        return None
    return Allowed(
        processes=max(1, workers // threads),
        is_static=False,
        readings=() if reading is None else (reading,),
        knob=OF_APACHE,
        each=threads,
    )


def _of_php(facts: Facts) -> Allowed | None:
    readings = facts.said(OF_PHP)
    numbers = [number(each.text) for each in readings]
    pools = facts.all_of("pool")
    known = [each for each in numbers if each is not None]
    # A pool that says nothing is refused; one that is not understood leaves a sum too small.
    if not known or len(known) < len(pools):
        return None
    is_static = any(each.text == "static" for each in facts.all_of("pm"))
    return Allowed(processes=sum(known), is_static=is_static, readings=readings, knob=OF_PHP)


# How long a server's settings let a worker live, and what it is like at the end of that.

LIFE_SETTINGS: Mapping[str, str] = {
    "apache": "MaxConnectionsPerChild",
    "php-fpm": "pm.max_requests",
    "gunicorn": "max_requests",
}
"""Kind → what bounds the life of a worker; 0 is for good, as is nothing of it."""
VARIABLE = "GUNICORN_CMD_ARGS"


def is_told(facts: Facts) -> bool:
    """Whether what nothing sets is set nowhere: gunicorn's arguments may stand in a variable."""
    return facts.environment_names is not None and VARIABLE not in facts.environment_names


def life(facts: Facts) -> tuple[int | None, Reading | None]:
    """Return how many requests or connections a worker lives for, and where that is set.

    0 is for good; None where it is not known, or differs from pool to pool.
    """
    name = LIFE_SETTINGS[facts.kind]
    if facts.kind == "gunicorn" and not is_told(facts):
        return None, None
    if len(facts.all_of("pool")) > 1:
        # Whose workers grow nobody knows.
        return None, None
    found = facts.all_of(name)
    if found:
        return number(found[-1].text), found[-1]
    is_none = facts.kind == "apache" and facts.is_whole
    return (0 if is_none else None), None


def last_of(facts: Facts) -> LifeRow | None:
    """Return what a worker comes to at the end of its life; None where no load has shown it."""
    n, _ = life(facts)
    marked = [each for each in facts.lives if each.configured]
    if len(marked) == 1 and (n is not None or facts.kind != "gunicorn"):
        return marked[0]
    if marked or n != 0:
        return None
    return next((each for each in facts.lives if each.n_requests is None), None)


def knob_of(facts: Facts, reading: Reading | None) -> str:
    """Return the knob that the length of a life is set by, in the scope in which it was read."""
    name = LIFE_SETTINGS[facts.kind]
    return f"{name}@{reading.scope}" if reading and reading.scope else name


# What it costs that workers end and others begin: as it was measured, else by a constant.

FEW = 200
"""Where nothing was measured: from there on a birth is less than a hundredth of what a request
costs where that is not tiny."""
_VERY_FEW = 20
_MOST = 0.5
"""Of the rate: more than that is worse than what a life is kept short for."""


class Short(Record, frozen=True):
    """A life that costs more births than it is worth."""

    what: str
    """What they cost, to follow the length of life; empty where that is not known."""
    evidence: str
    severity: Severity | None
    """Where it is not the rule's own."""
    n_requests: int | None
    """The shortest life that costs little; None where that is not known."""

    def do(self, setting: str) -> str:
        """Return what to do about it; empty where what the rule says is all there is."""
        n = self.n_requests
        return f"set `{setting}` to {n:,} or more, or to 0 where nothing leaks" if n else ""


def short(facts: Facts, n: int | None) -> Short | None:
    """Return what is to be said of a life of so many requests; None where it is long enough."""
    if n is None or n <= 0:
        return None
    cost = facts.respawn
    if cost is None:
        if n >= FEW:
            return None
        return Short(
            what="",
            evidence=f"what a birth costs is not known here (`--respawn`): less than {FEW} is "
            "taken for few",
            severity="bad" if n < _VERY_FEW else None,
            n_requests=None,
        )
    lost = 1 - cost.kept_ratio(n)
    if lost <= MOST_LOST_RATIO:
        return None
    return Short(
        what=f", and births take {format_percent(lost)} of the rate",
        evidence=f"a birth takes {format_duration(cost.spawn_s)} of the server's time and a "
        f"request {format_duration(cost.serve_s)}, by the rates of `--respawn`",
        severity="bad" if lost > _MOST else None,
        n_requests=shortest_life(cost),
    )
