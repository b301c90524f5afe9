"""Rules of workers, whatever server they are of: memory, lives, and what waits for them."""

import math
from collections.abc import Iterator, Mapping

from httpdyno.advice.curve import MOST_LOST_RATIO, Growth, LifeRow, joint_life, shortest_life
from httpdyno.advice.rules.apache_perl import ends_by_size
from httpdyno.advice.rules.declaration import Proposed, Seen, Severity, rule, where_said
from httpdyno.advice.rules.facts import Facts, is_said, number, where
from httpdyno.model import Reading, Record
from httpdyno.reason import Reason, because

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

    lost_ratio: float | None
    """Of the rate, that births take; None where that is not known."""
    evidence: Reason
    severity: Severity | None
    """Where it is not the rule's own."""
    n_requests: int | None
    """The shortest life that costs little; None where that is not known."""

    def costing(self, what: Reason) -> Reason:
        """Return what was found with what births cost, where that is known."""
        if self.lost_ratio is None:
            return what
        return because("rules.short-lives.lost", what=what, ratio=self.lost_ratio)

    def do(self, setting: str) -> Reason | None:
        """Return what to do about it; None where what the rule says is all there is."""
        n = self.n_requests
        return because("rules.short-lives.fix", setting=setting, n=n) if n else None


def short(facts: Facts, n: int | None) -> Short | None:
    """Return what is to be said of a life of so many requests; None where it is long enough."""
    if n is None or n <= 0:
        return None
    cost = facts.respawn
    if cost is None:
        if n >= FEW:
            return None
        return Short(
            lost_ratio=None,
            evidence=because("rules.short-lives.unknown", n=FEW),
            severity="bad" if n < _VERY_FEW else None,
            n_requests=None,
        )
    lost = 1 - cost.kept_ratio(n)
    if lost <= MOST_LOST_RATIO:
        return None
    return Short(
        lost_ratio=lost,
        evidence=because("rules.short-lives.costs", spawn=cost.spawn_s, serve=cost.serve_s),
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
        what=because(
            "rules.workers-over-memory.allowed",
            allowed=able.processes,
            n=fit.n,
            size=fit.size,
            available=pool.available_bytes,
            limited_by=pool.limited_by,
        ),
        evidence=(
            *(
                map(where, able.readings)
                if able.readings
                else (because("advice.run_below_first", n=pool.n_workers),)
            ),
            *fit.evidence,
        ),
        proposes=able.proposed(fit.n),
    )


class _Fit(Record, frozen=True):
    """How many workers memory holds."""

    n: int
    size: Reason
    """How large each is, and when."""
    evidence: tuple[Reason, ...] = ()


def _fit(facts: Facts) -> _Fit | None:
    """Return how many fit when they end, where load has shown that, else as they are now."""
    pool, row = facts.pool, last_of(facts)
    if pool is None or pool.n_fit is None or not pool.is_uniform:
        return None
    now = _Fit(
        n=pool.n_fit, size=because("rules.workers-over-memory.largest", each=pool.each_bytes)
    )
    if row is None or row.n_workers is None or row.each_bytes is None:
        return now
    if row.n_workers > pool.n_fit:
        # They are larger already than they were to be, as by kept connections, which count once,
        # or by what visitors ask besides: their end is not known.
        return now
    n = row.n_requests
    _, reading = life(facts)
    return _Fit(
        n=row.n_workers,
        size=because(
            "rules.workers-over-memory.grown" if n is None else "rules.workers-over-memory.at_end",
            n=n,
            now=pool.n_fit,
            each=row.each_bytes,
        ),
        evidence=(
            *([where(reading)] if reading and is_said(reading) else []),
            *_under_load(facts),
        ),
    )


def _under_load(facts: Facts) -> Iterator[Reason]:
    if facts.growth:
        yield because("advice.workers_under_load", n=facts.growth.n_workers)


@rule("workers-below-memory")
def _below(facts: Facts) -> Iterator[Seen]:
    able, pool, fit = allowed(facts), facts.pool, _fit(facts)
    if able is None or pool is None or fit is None:
        return
    waiting = [each for each in facts.queues if each.waiting]
    is_full = pool.n_workers >= able.processes
    if able.readings and is_full and waiting and fit.n >= _FAR * able.processes:
        yield Seen(
            what=because("rules.workers-below-memory", processes=able.processes, n=fit.n),
            evidence=(
                *map(where, able.readings),
                *(
                    because("advice.waiting_at", n=each.waiting, address=each.address)
                    for each in waiting
                ),
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
        what=because(
            "rules.workers-and-lives.pair",
            processes=able.processes,
            life=_long(row),
            grown=_grown(row),
            lost=_lost(row),
            n=workers,
            joint_life=_long(joint),
            each=joint.each_bytes,
            joint_lost=_lost(joint),
        ),
        evidence=(
            *(where(each) for each in able.readings if is_said(each)),
            *([where(reading)] if reading and is_said(reading) else []),
            *_under_load(facts),
        ),
        do=because(
            "rules.workers-and-lives.fix",
            knob=able.knob,
            n=workers * able.each,
            setting=LIFE_SETTINGS[facts.kind],
            n_requests=joint.n_requests or 0,
        ),
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


def _long(row: LifeRow) -> Reason:
    return because(
        "rules.workers-and-lives.for_good"
        if row.n_requests is None
        else "rules.workers-and-lives.for_requests",
        n=row.n_requests,
    )


def _grown(row: LifeRow) -> Reason:
    if row.n_workers is None:
        return because("rules.workers-and-lives.leak")
    return because("rules.workers-and-lives.grown", each=row.each_bytes, n=row.n_workers)


def _lost(row: LifeRow) -> Reason:
    lost = 1 - (row.kept_ratio or 0.0)
    return because(
        "rules.workers-and-lives.lost" if lost > 0 else "rules.workers-and-lives.nothing_lost",
        ratio=lost,
    )


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
    place = (
        where(reading)
        if reading and is_said(reading)
        else because("rules.long-lives.unset", name=name)
    )
    yield Seen(
        what=because(
            "rules.long-lives.limited" if n_life else "rules.long-lives.for_good",
            least=least,
            most=most,
            n_life=n_life,
            unit=unit,
            processes=able.processes,
            left=left_bytes,
            soonest=n,
            latest=_down(left_bytes / least),
        ),
        evidence=(
            because("rules.long-lives.confidence", n=growth.n_workers),
            place,
            *(where(each) for each in able.readings if is_said(each)),
        ),
        do=because("rules.long-lives.fix", name=name, n=n) if n else None,
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
            what=because("rules.clipped-backlog.asked", most=most, given=given),
            evidence=(
                *(where(reading) for _, reading in found),
                because("advice.somaxconn", n=given),
                *(
                    because("rules.clipped-backlog.now", n=each.backlog, address=each.address)
                    for each in facts.queues
                ),
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
        what=because(
            "rules.full-queue", waiting=fullest.waiting, backlog=fullest.backlog, given=given
        ),
        evidence=(
            *(
                because(
                    "advice.waiting_of", n=each.waiting, most=each.backlog, address=each.address
                )
                for each in full
            ),
            because("advice.somaxconn", n=given),
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
