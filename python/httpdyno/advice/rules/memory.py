"""How many workers may be beside how many memory holds, as the running ones show it."""

from collections.abc import Iterator

from httpdyno.advice.rules.apache.mpm import PREFORK, mpm, threads_each, workers_taken
from httpdyno.advice.rules.declaration import (
    BOOK,
    PHP,
    Proposed,
    Proposes,
    Rule,
    Seen,
    where_said,
)
from httpdyno.advice.rules.facts import Facts, number, where
from httpdyno.model import Reading, Record
from httpdyno.units import format_bytes

_MOD_PHP = ("php_module", "php7_module", "php5_module")
_OF_APACHE, _OF_PHP = "MaxRequestWorkers", "pm.max_children"
_FAR = 4
"""So many times what is allowed has to fit before that is called far below."""
_MORE = 2


class _Allowed(Record, frozen=True):
    processes: int
    """That the settings allow."""
    is_static: bool
    """Whether all of them run always."""
    readings: tuple[Reading, ...]
    knob: str
    each: int = 1
    """Of a process: what the knob counts of it."""

    def proposed(self, n_processes: int) -> tuple[Proposed, ...]:
        """Return so many processes as the knob has them.

        None where memory holds none, or where several pools would have to share them out.
        """
        if len(self.readings) != 1 or n_processes < 1:
            return ()
        return where_said(self.readings, self.knob, n_processes * self.each)


def _allowed(facts: Facts) -> _Allowed | None:
    return _of_apache(facts) if facts.kind == "apache" else _of_php(facts)


def _of_apache(facts: Facts) -> _Allowed | None:
    workers, threads = workers_taken(facts), threads_each(facts)
    reading = facts.reading(_OF_APACHE)
    if workers is None or not threads or reading is None:
        return None
    return _Allowed(
        processes=max(1, workers // threads),
        is_static=False,
        readings=(reading,),
        knob=_OF_APACHE,
        each=threads,
    )


def _of_php(facts: Facts) -> _Allowed | None:
    readings = facts.said(_OF_PHP)
    numbers = [number(each.text) for each in readings]
    pools = facts.all_of("pool")
    known = [each for each in numbers if each is not None]
    # A pool that says nothing is refused; one that is not understood leaves a sum too small.
    if not known or len(known) < len(pools):
        return None
    is_static = any(each.text == "static" for each in facts.all_of("pm"))
    return _Allowed(processes=sum(known), is_static=is_static, readings=readings, knob=_OF_PHP)


def _over(facts: Facts) -> Iterator[Seen]:
    allowed, pool = _allowed(facts), facts.pool
    if allowed is None or pool is None or pool.n_fit is None or not pool.is_uniform:
        return
    if allowed.processes > pool.n_fit:
        yield Seen(
            what=f"{allowed.processes:,} processes are allowed, and memory holds {pool.n_fit:,}: "
            f"the largest has {format_bytes(pool.each_bytes)} of its own, of "
            f"{format_bytes(pool.available_bytes)} ({pool.limited_by})",
            evidence=tuple(map(where, allowed.readings)),
            proposes=allowed.proposed(pool.n_fit),
        )


def _below(facts: Facts) -> Iterator[Seen]:
    allowed, pool = _allowed(facts), facts.pool
    if allowed is None or pool is None or pool.n_fit is None or not pool.is_uniform:
        return
    waiting = [each for each in facts.queues if each.waiting]
    is_full = pool.n_workers >= allowed.processes
    if is_full and waiting and pool.n_fit >= _FAR * allowed.processes:
        yield Seen(
            what=f"all {allowed.processes:,} processes run and connections wait, while memory "
            f"holds {pool.n_fit:,}",
            evidence=(
                *map(where, allowed.readings),
                *(f"{each.waiting:,} waiting at {each.address}" for each in waiting),
            ),
            proposes=allowed.proposed(_MORE * allowed.processes),
        )


def _threads_of_php(facts: Facts) -> Iterator[Seen]:
    if mpm(facts) in ("", PREFORK) or not facts.has_module(*_MOD_PHP):
        return
    yield Seen(
        what=f"mod_php runs beside mpm_{mpm(facts)}: threads share a process, and many of PHP's "
        "extensions cannot",
        evidence=tuple(m for m in facts.survey.modules if m.startswith(("php", "mpm_"))),
    )


def _knobs(value: str) -> tuple[Proposes, ...]:
    one = f"{value}, where one pool has all of them"
    return (
        Proposes(knob=_OF_APACHE, value=value, kinds=("apache",)),
        Proposes(knob=_OF_PHP, value=one, kinds=("php-fpm",)),
    )


RULES = (
    Rule(
        name="workers-over-memory",
        kinds=("apache", "php-fpm"),
        severity="bad",
        checks="More workers allowed than memory holds",
        matters="With all of them busy the machine swaps or kills; both are worse than waiting. "
        "What is shared is reckoned once, and what the largest worker has of its own for each.",
        needs="The server runs, its workers are of one kind, and their memory may be seen.",
        do="allow as many workers as `room` says, or make them smaller: preload, fewer modules, "
        "no leaks",
        risks="with fewer workers requests wait earlier",
        wrong="only one worker ever has the large request that it was measured after",
        source=f"{BOOK}; {PHP}install.fpm.configuration.php#pm.max-children",
        look=_over,
        proposes=_knobs("as many as memory holds"),
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
