"""How many workers may be beside how many memory holds, as the running ones show it."""

from collections.abc import Iterator

from httpdyno.advice.rules.allowed import OF_APACHE, OF_GUNICORN, OF_PHP, allowed
from httpdyno.advice.rules.apache.mpm import PREFORK, mpm
from httpdyno.advice.rules.declaration import BOOK, GUNICORN, PHP, Proposes, Rule, Seen
from httpdyno.advice.rules.facts import Facts, PoolFacts, is_said, where
from httpdyno.advice.rules.life import last_of, life
from httpdyno.model import Record
from httpdyno.units import format_bytes

_MOD_PHP = ("php_module", "php7_module", "php5_module")
_FAR = 4
"""So many times what is allowed has to fit before that is called far below."""
_MORE = 2


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


def _threads_of_php(facts: Facts) -> Iterator[Seen]:
    if mpm(facts) in ("", PREFORK) or not facts.has_module(*_MOD_PHP):
        return
    yield Seen(
        what=f"mod_php runs beside mpm_{mpm(facts)}: threads share a process, and many of PHP's "
        "extensions cannot",
        evidence=tuple(m for m in facts.survey.modules if m.startswith(("php", "mpm_"))),
    )


def _knobs(value: str, *besides: Proposes) -> tuple[Proposes, ...]:
    one = f"{value}, where one pool has all of them"
    return (
        Proposes(knob=OF_APACHE, value=value, kinds=("apache",)),
        Proposes(knob=OF_PHP, value=one, kinds=("php-fpm",)),
        *besides,
    )


RULES = (
    Rule(
        name="workers-over-memory",
        kinds=("apache", "php-fpm", "gunicorn"),
        severity="bad",
        checks="More workers allowed than memory holds",
        matters="With all of them busy the machine swaps or kills; both are worse than waiting. "
        "What is shared is reckoned once, and what the largest worker has of its own for each. "
        "Workers grow as they serve: where `--load` has shown how, each counts as large as at the "
        "end of its life.",
        needs="The server runs, its workers are of one kind, and their memory may be seen. What "
        "they are at the end of their lives takes `httpdyno inspect --load URL` and, in one pool, "
        "a known length of life; else, where they are larger already, and where a leak has no end, "
        "they count as large as now.",
        do="allow as many workers as `room` says, or make them smaller: preload, fewer modules, "
        "no leaks",
        risks="with fewer workers requests wait earlier",
        wrong="only one worker ever has the large request that it was measured after",
        source=f"{BOOK}; {PHP}install.fpm.configuration.php#pm.max-children; {GUNICORN}#workers",
        look=_over,
        proposes=_knobs(
            "as many as memory holds",
            Proposes(knob=OF_GUNICORN, value="as many as memory holds", kinds=("gunicorn",)),
        ),
    ),
    Rule(
        name="workers-below-memory",
        kinds=("apache", "php-fpm"),
        severity="hint",
        checks="All workers taken and connections waiting, where memory holds four times as many",
        matters="What waits for a database or another server could be waited for by more workers.",
        needs="The server runs and was named, its workers are of one kind, their memory may be "
        "seen, all that are allowed run, and a listen queue has connections in it now.",
        do="try more workers: `httpdyno tune` measures whether they help",
        risks="a database has limits of its own, and more workers fill its connections",
        wrong="CPUs are busy already: then more workers only make each slower",
        source=BOOK,
        look=_below,
        proposes=_knobs("twice as many"),
    ),
    Rule(
        name="php-in-threads",
        kinds=("apache",),
        severity="doubtful",
        checks="mod_php under a threaded module",
        matters="PHP built for threads is slower, and an extension that is not takes the process "
        "and all of its connections with it.",
        needs="`mpm_event` or `mpm_worker`, and a module of PHP, are loaded.",
        do="run PHP in php-fpm behind `mpm_event`, or mod_php under `mpm_prefork`",
        risks="php-fpm has settings of its own, and `.htaccess` cannot set those of PHP",
        wrong="all its extensions are known to be safe with threads",
        source=f"{PHP}install.unix.apache2.php",
        look=_threads_of_php,
    ),
)
