"""How many connections a process of Apache lives for."""

from collections.abc import Iterator

from httpdyno.advice.rules.apache.mpm import threads_each, workers_taken
from httpdyno.advice.rules.birth import COUNTS, short
from httpdyno.advice.rules.declaration import BOOK, HTTPD, Proposed, Proposes, Rule, Seen
from httpdyno.advice.rules.facts import Facts, is_said, number, where

_MANY = 10_000


def _short(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading("MaxConnectionsPerChild")
    workers, threads = workers_taken(facts), threads_each(facts)
    if reading is None or not is_said(reading) or workers is None or not threads:
        return
    n = number(reading.text)
    found = short(facts, n)
    if n is None or found is None:
        return
    processes = max(1, workers // threads)
    yield Seen(
        what=f"a process ends after {n:,} {'connection' if n == 1 else 'connections'}: where the "
        f"parent replaces the dead once a second, {processes:,} processes take at most "
        f"{processes * n:,} a second{found.what}",
        evidence=(where(reading), found.evidence),
        severity=found.severity,
        do=found.do("MaxConnectionsPerChild"),
        proposes=(Proposed(knob="MaxConnectionsPerChild", value=found.n_requests or _MANY),),
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
        needs=f"One known module, the number written somewhere, and above 0. {COUNTS}",
        do=f"set `MaxConnectionsPerChild` to {_MANY}, or to 0 where nothing leaks",
        risks="a leak grows for longer before its process ends",
        wrong="requests leak so much that a process must not live longer: then mend the leak, and "
        "bound it by size until then",
        source=f"{BOOK}; {HTTPD}mod/mpm_common.html#maxconnectionsperchild",
        look=_short,
        proposes=(
            Proposes(
                knob="MaxConnectionsPerChild",
                value=f"what costs little by rates that were measured; {_MANY:,} without them",
            ),
        ),
    ),
)
