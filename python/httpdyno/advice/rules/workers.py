"""Rules of workers, whatever server they are of: memory, lives, and what waits for them."""

import math
from collections.abc import Iterator, Mapping

from httpdyno.advice.curve.finding import Growth, LifeRow
from httpdyno.advice.curve.joint import MOST_LOST_RATIO, joint_life
from httpdyno.advice.rules.apache_perl import ends_by_size
from httpdyno.advice.rules.declaration import Proposed, Seen, rule, where_said
from httpdyno.advice.rules.facts import Facts, PoolFacts, is_said, number, where
from httpdyno.advice.rules.pool import LIFE_SETTINGS, allowed, knob_of, last_of, life
from httpdyno.model import Record
from httpdyno.units import format_bytes, format_percent

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
