"""How many processes the settings of a server allow. Pure."""

from httpdyno.advice.rules.apache.mpm import threads_each, workers_taken
from httpdyno.advice.rules.declaration import Proposed, where_said
from httpdyno.advice.rules.facts import Facts, number
from httpdyno.model import Reading, Record

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
