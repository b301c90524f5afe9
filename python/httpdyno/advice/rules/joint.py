"""How many workers there are and how long each lives, which memory and births make one question."""

from collections.abc import Iterator

from httpdyno.advice.curve.finding import LifeRow
from httpdyno.advice.curve.joint import ALIKE_RATIO, MOST_LOST_RATIO, joint_life
from httpdyno.advice.rules.allowed import OF_APACHE, OF_GUNICORN, OF_PHP, allowed
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
from httpdyno.advice.rules.life import NAMES, knob_of, last_of, life
from httpdyno.units import format_bytes, format_percent

_WORKERS = {"apache": OF_APACHE, "php-fpm": OF_PHP, "gunicorn": OF_GUNICORN}


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
        do=f"set `{able.knob}` to {workers * able.each:,} and `{NAMES[facts.kind]}` to "
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


RULES = (
    Rule(
        name="workers-and-lives",
        kinds=tuple(NAMES),
        severity="doubtful",
        checks="As many workers, and such lives of theirs, that memory does not hold them at the "
        "end or births take too much of the rate, where another pair of both does better",
        matters="A worker grows as it serves, so a longer life leaves room for fewer; a shorter "
        "one costs more births. Whoever sets one of both for itself pays with the other.",
        needs="`httpdyno inspect --load URL --respawn N=RATE …` has shown how large a worker is at "
        "which age, and what a birth costs; the workers are of one kind, in one pool, and it is "
        "known how many are allowed and how long each lives. Taken is the pair with the most "
        "workers that fit of those lives whose births take "
        f"{format_percent(MOST_LOST_RATIO)} of the rate at most; a longer life that has at most "
        f"{format_percent(ALIKE_RATIO)} fewer workers counts as having as many. More workers than "
        "are allowed are not proposed; of a life that is only too short, with room for all of a "
        "longer one, the rules of short lives speak.",
        do="set both together",
        risks="with fewer workers requests wait earlier; a longer life lets a leak grow",
        wrong="the load that was tried is not what visitors ask for; over kept connections a "
        "worker of Apache serves several requests for each that `MaxConnectionsPerChild` counts",
        source=f"{BOOK}; {HTTPD}mod/mpm_common.html#maxconnectionsperchild; "
        f"{PHP}install.fpm.configuration.php#pm.max-requests; {GUNICORN}#max-requests",
        look=_apart,
        proposes=tuple(
            each
            for kind, knob in NAMES.items()
            for each in (
                Proposes(
                    knob=_WORKERS[kind],
                    value="as many as fit with that life, where it allows more",
                    kinds=(kind,),
                ),
                Proposes(knob=knob, value="the life of the pair", kinds=(kind,)),
            )
        ),
    ),
)
