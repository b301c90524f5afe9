"""How long a worker lives beside what each request leaves in it, as load has shown."""

import math
from collections.abc import Iterator

from httpdyno.advice.curve.finding import Growth
from httpdyno.advice.rules.allowed import allowed
from httpdyno.advice.rules.apache.perl import ends_by_size
from httpdyno.advice.rules.declaration import (
    BOOK,
    GUNICORN,
    HTTPD,
    PHP,
    Proposed,
    Proposes,
    Rule,
    Seen,
)
from httpdyno.advice.rules.facts import Facts, is_said, where
from httpdyno.advice.rules.life import NAMES, knob_of, life
from httpdyno.units import format_bytes


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
    name = NAMES[facts.kind]
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


RULES = (
    Rule(
        name="long-lives",
        kinds=tuple(NAMES),
        severity="doubtful",
        checks="Workers that leak and live so long that they outgrow memory",
        matters="What each request leaves adds up until the worker ends. With all workers at the "
        "end of their lives the machine swaps or kills, days after the start, when nobody looks.",
        needs="`httpdyno inspect --load URL` has proven a leak, with its interval; the workers are "
        "of one kind, their memory may be seen, and it is known how many are allowed and how long "
        "one lives; nothing in an Apache's Perl ends processes by their size. What a bounded life "
        "leaves, by the lower end of the interval, has to be beyond a worker's share of memory.",
        do="bound the life of a worker, and find the leak",
        risks="each end is a fork, with Apache up to a second in which the worker is missing; over "
        "kept connections several requests come for each that is counted: bound it lower there",
        wrong="it is a cache that fills, and is bounded further up; or the load that was tried is "
        "not what visitors ask for",
        source=f"{BOOK}; {HTTPD}mod/mpm_common.html#maxconnectionsperchild; "
        f"{PHP}install.fpm.configuration.php#pm.max-requests; {GUNICORN}#max-requests",
        look=_outgrown,
        proposes=tuple(
            Proposes(
                knob=knob,
                value="as many as fit a worker's room by the upper end of the interval",
                kinds=(kind,),
            )
            for kind, knob in NAMES.items()
        ),
    ),
)
