"""Rules of workers, whatever server they are of: memory, lives, and what waits for them."""

import math
from collections.abc import Iterator, Mapping

from httpdyno.advice.curve import MOST_LOST_RATIO, Growth, LifeRow, joint_life, shortest_life
from httpdyno.advice.rules.apache_perl import ends_by_size
from httpdyno.advice.rules.declaration import Proposed, Seen, Severity, rule, where_said
from httpdyno.advice.rules.facts import Facts, PoolFacts, is_said, number, where
from httpdyno.model import Reading, Record
from httpdyno.units import format_bytes, format_duration, format_percent

# How many workers settings allow, how long each lives, and what births cost. Pure.

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


# How many workers may be beside how many memory holds, as the running ones show it.

_FAR = 4
"""So many times what is allowed has to fit before that is called far below."""
_MORE = 2


@rule("workers-over-memory")
def _over(facts: Facts) -> Iterator[Seen]:
    able, pool, fit = allowed(facts), facts.pool, _fit(facts)
    if able is None or pool is None or fit is None or able.processes <= fit.n:
        return
    # All of gunicorn's run always; of the others nobody asked for what is compiled in.
    if not able.readings and not able.is_static:
        return
    yield Seen(
        what=f"{able.processes:,} processes are allowed, and memory holds {fit.n:,}{fit.words}, of "
        f"{format_bytes(pool.available_bytes)} ({pool.limited_by})",
        evidence=(
            *(map(where, able.readings) if able.readings else (_running(pool),)),
            *fit.evidence,
        ),
        proposes=able.proposed(fit.n),
    )


def _running(pool: PoolFacts) -> str:
    return f"{pool.n_workers:,} run below its first process"


class _Fit(Record, frozen=True):
    """How many workers memory holds."""

    n: int
    words: str
    """How large each is, and when."""
    evidence: tuple[str, ...] = ()


def _fit(facts: Facts) -> _Fit | None:
    """Return how many fit when they end, where load has shown that, else as they are now."""
    pool, row = facts.pool, last_of(facts)
    if pool is None or pool.n_fit is None or not pool.is_uniform:
        return None
    now = _Fit(n=pool.n_fit, words=f": the largest has {format_bytes(pool.each_bytes)} of its own")
    if row is None or row.n_workers is None or row.each_bytes is None:
        return now
    if row.n_workers > pool.n_fit:
        # They are larger already than they were to be, as by kept connections, which count once,
        # or by what visitors ask besides: their end is not known.
        return now
    n = row.n_requests
    age = "when they are grown, since nothing ends them" if n is None else f"after {n:,} requests"
    _, reading = life(facts)
    return _Fit(
        n=row.n_workers,
        words=f" at the end of their lives ({age}; as they are now {pool.n_fit:,}): each then has "
        f"{format_bytes(row.each_bytes)} with the kernel's part",
        evidence=(
            *([where(reading)] if reading and is_said(reading) else []),
            *([f"{facts.growth.n_workers} workers under load"] if facts.growth else []),
        ),
    )


@rule("workers-below-memory")
def _below(facts: Facts) -> Iterator[Seen]:
    able, pool, fit = allowed(facts), facts.pool, _fit(facts)
    if able is None or pool is None or fit is None:
        return
    waiting = [each for each in facts.queues if each.waiting]
    is_full = pool.n_workers >= able.processes
    if able.readings and is_full and waiting and fit.n >= _FAR * able.processes:
        yield Seen(
            what=f"all {able.processes:,} processes run and connections wait, while memory "
            f"holds {fit.n:,}",
            evidence=(
                *map(where, able.readings),
                *(f"{each.waiting:,} waiting at {each.address}" for each in waiting),
                *fit.evidence,
            ),
            proposes=able.proposed(_MORE * able.processes),
        )


# How many workers there are and how long each lives, which memory and births make one question.


@rule("workers-and-lives")
def _apart(facts: Facts) -> Iterator[Seen]:
    able, pool = allowed(facts), facts.pool
    row, joint = last_of(facts), joint_life(facts.lives)
    n, reading = life(facts)
    if able is None or pool is None or not pool.is_uniform or n is None:
        return
    if row is None or joint is None or joint.n_workers is None or _is_well(row, able.processes):
        return
    workers = min(able.processes, joint.n_workers)
    # A life that is too short for its births alone, and room for all of a longer one: the rules of
    # short lives say so.
    if joint.n_requests == row.n_requests or (
        _fits(row, able.processes) and joint.n_workers >= able.processes
    ):
        return
    yield Seen(
        what=f"{able.processes:,} workers that live {_long(row)} {_comes_to(row)}; of {workers:,} "
        f"that live {_long(joint)} all fit, {_size(joint)} each at the end, and births take "
        f"{_lost(joint)}",
        evidence=(
            *(where(each) for each in able.readings if is_said(each)),
            *([where(reading)] if reading and is_said(reading) else []),
            *([f"{facts.growth.n_workers} workers under load"] if facts.growth else []),
        ),
        do=f"set `{able.knob}` to {workers * able.each:,} and `{LIFE_SETTINGS[facts.kind]}` to "
        f"{joint.n_requests or 0:,} together",
        proposes=(
            *(able.proposed(workers) if workers != able.processes else ()),
            Proposed(knob=knob_of(facts, reading), value=joint.n_requests or 0),
        ),
    )


def _is_well(row: LifeRow, n_allowed: int) -> bool:
    """Whether all that are allowed fit at the end of their lives, and births cost little."""
    if row.kept_ratio is None:
        return True
    return _fits(row, n_allowed) and row.kept_ratio >= 1 - MOST_LOST_RATIO


def _fits(row: LifeRow, n_allowed: int) -> bool:
    # Without a number a worker has either nothing of its own, or no end of its growth.
    return row.each_bytes is not None if row.n_workers is None else row.n_workers >= n_allowed


def _long(row: LifeRow) -> str:
    return "for good" if row.n_requests is None else f"for {row.n_requests:,} requests"


def _comes_to(row: LifeRow) -> str:
    if row.n_workers is None:
        grown = "outgrow any memory, since they leak"
    else:
        grown = f"are {_size(row)} each at the end, of which memory holds {row.n_workers:,}"
    return f"{grown}, and births take {_lost(row)}"


def _size(row: LifeRow) -> str:
    return "–" if row.each_bytes is None else format_bytes(row.each_bytes)


def _lost(row: LifeRow) -> str:
    lost = 1 - (row.kept_ratio or 0.0)
    return f"{format_percent(lost)} of the rate" if lost > 0 else "nothing of the rate"


# How long a worker lives beside what each request leaves in it, as load has shown.


@rule("long-lives")
def _outgrown(facts: Facts) -> Iterator[Seen]:
    growth, pool, able = facts.growth, facts.pool, allowed(facts)
    if growth is None or pool is None or able is None or not pool.is_uniform:
        return
    if ends_by_size(facts):
        return
    n_life, reading = life(facts)
    ends = _ends(growth)
    if n_life is None or ends is None or not pool.each_bytes:
        return
    least, most = ends
    share_bytes = pool.room_bytes // able.processes - pool.kernel_bytes
    left_bytes = share_bytes - pool.each_bytes
    # Where they are too many as they are, the rule of that says so.
    if left_bytes <= 0 or (n_life and n_life * least <= left_bytes):
        return
    n = _down(left_bytes / most)
    name = LIFE_SETTINGS[facts.kind]
    unit = "connections" if facts.kind == "apache" else "requests"
    lives = f"for {n_life:,} {unit}" if n_life else "for good"
    place = where(reading) if reading and is_said(reading) else f"{name} is 0 where nothing sets it"
    yield Seen(
        what=f"each request leaves {format_bytes(least)} … {format_bytes(most)} in its worker, "
        f"which lives {lives}: {able.processes:,} workers have room to grow by "
        f"{format_bytes(left_bytes)} each, which is taken after {n:,} to "
        f"{_down(left_bytes / least):,} requests",
        evidence=(
            f"95 % over {growth.n_workers} workers under load",
            place,
            *(where(each) for each in able.readings if is_said(each)),
        ),
        do=f"set `{name}` to {n:,} at most, until the leak is found" if n else "",
        proposes=(Proposed(knob=knob_of(facts, reading), value=n),) if n else (),
    )


def _ends(growth: Growth) -> tuple[float, float] | None:
    """Return the least and the most that a request leaves; None where no leak is proven."""
    low, high = growth.late_low_bytes, growth.late_high_bytes
    if growth.verdict != "leak" or low is None or high is None or low <= 0:
        return None
    return low, high


def _down(n: float) -> int:
    """Return a count in two digits, downwards: it is a bound."""
    unit: int = 10 ** max(0, math.floor(math.log10(max(1.0, n))) - 1)
    return math.floor(n / unit) * unit


# Connections that may wait to be accepted: what is asked beside what the kernel gives.

_QUEUES: Mapping[str, str] = {
    "apache": "ListenBacklog",
    "nginx": "listen_backlog",
    "php-fpm": "listen.backlog",
    "gunicorn": "backlog",
    "uvicorn": "backlog",
}
"""Kind → the reading, and the knob."""
_LONG = 4096


@rule("clipped-backlog")
def _clipped(facts: Facts) -> Iterator[Seen]:
    given = facts.somaxconn
    if given is None:
        return
    found = [
        (asked, reading)
        for reading in facts.all_of(_QUEUES[facts.kind])
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


@rule("full-queue")
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
    name = _QUEUES[facts.kind]
    readings = facts.all_of(name)
    if any(each.scope == "" for each in readings):
        return (Proposed(knob=name, value=n),)
    if len(facts.all_of("pool")) > 1:
        return ()
    return where_said(readings[:1], name, n) if readings else (Proposed(knob=name, value=n),)
