"""How long a server's settings let a worker live, and what it is like at the end of that. Pure."""

from collections.abc import Mapping

from httpdyno.advice.curve.finding import LifeRow
from httpdyno.advice.rules.facts import Facts, number
from httpdyno.model import Reading

NAMES: Mapping[str, str] = {
    "apache": "MaxConnectionsPerChild",
    "php-fpm": "pm.max_requests",
    "gunicorn": "max_requests",
}
"""Kind → what bounds the life of a worker; 0 is for good, as is nothing of it."""
_GUNICORN_VARIABLE = "GUNICORN_CMD_ARGS"


def life(facts: Facts) -> tuple[int | None, Reading | None]:
    """Return how many requests or connections a worker lives for, and where that is set.

    0 is for good; None where it is not known, or differs from pool to pool.
    """
    name = NAMES[facts.kind]
    if facts.kind == "gunicorn" and (
        facts.environment_names is None or _GUNICORN_VARIABLE in facts.environment_names
    ):
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
    name = NAMES[facts.kind]
    return f"{name}@{reading.scope}" if reading and reading.scope else name
