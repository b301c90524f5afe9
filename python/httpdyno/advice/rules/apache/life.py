"""How many connections a process of Apache lives for."""

from collections.abc import Iterator

from httpdyno.advice.rules.apache.mpm import threads_each, workers_taken
from httpdyno.advice.rules.declaration import BOOK, HTTPD, Proposed, Proposes, Rule, Seen
from httpdyno.advice.rules.facts import Facts, is_said, number, where

_FEW = 200
"""From there on a birth is less than a hundredth of what a request costs where it is not tiny."""
_VERY_FEW = 20
_MANY = 10_000


def _short(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading("MaxConnectionsPerChild")
    workers, threads = workers_taken(facts), threads_each(facts)
    if reading is None or not is_said(reading) or workers is None or not threads:
        return
    n = number(reading.text)
    if n is None or not 0 < n < _FEW:
        return
    processes = max(1, workers // threads)
    yield Seen(
        what=f"a process ends after {n:,} {'connection' if n == 1 else 'connections'}: where the "
        f"parent replaces the dead once a second, {processes:,} processes take at most "
        f"{processes * n:,} a second",
        evidence=(where(reading),),
        severity="bad" if n < _VERY_FEW else None,
        proposes=(Proposed(knob="MaxConnectionsPerChild", value=_MANY),),
    )


RULES = (
    Rule(
        name="short-lives",
        kinds=("apache",),
        severity="doubtful",
        checks="`MaxConnectionsPerChild` so small that births cost more than they save",
        matters="Each process begins with a fork, and with mod_perl or mod_php also with copies of "
        "the pages that it writes, its own connections to databases and empty caches. The parent "
        "looks for dead ones once a second, so a pool takes at most workers × n connections a "
        "second, whatever CPUs there are.",
        needs="One known module, the number written somewhere, and above 0.",
        do=f"set `MaxConnectionsPerChild` to {_MANY}, or to 0 where nothing leaks",
        risks="a leak grows for longer before its process ends",
        wrong="requests leak so much that a process must not live longer: then mend the leak, and "
        "bound it by size until then",
        source=f"{BOOK}; {HTTPD}mod/mpm_common.html#maxconnectionsperchild",
        look=_short,
        proposes=(Proposes(knob="MaxConnectionsPerChild", value=f"{_MANY:,}"),),
    ),
)
