"""Rules for gunicorn: its workers, how long they live, when they are given up."""

from collections.abc import Iterator

from httpdyno.advice.rules.birth import COUNTS, short
from httpdyno.advice.rules.declaration import GUNICORN, Proposed, Proposes, Rule, Seen
from httpdyno.advice.rules.facts import Facts, is_said, number, where
from httpdyno.units import format_bytes

_KINDS = ("gunicorn",)
_MANY = 10_000
THREADS = 4
VARIABLE = "GUNICORN_CMD_ARGS"
_LARGE_BYTES = 32 << 20
"""Of its own that an application has in each worker, where preloading is worth a thought."""


def is_told(facts: Facts) -> bool:
    """Whether what nothing sets is set nowhere: arguments may stand in a variable, too."""
    return facts.environment_names is not None and VARIABLE not in facts.environment_names


def _n_workers(facts: Facts) -> tuple[int | None, str]:
    """Return how many workers there are, and how that is known; None where it is not."""
    if facts.pool is not None:
        return facts.pool.n_workers, f"{facts.pool.n_workers:,} below its first process"
    reading = facts.reading("workers")
    if reading is None or not is_said(reading):
        return None, ""
    return number(reading.text), where(reading)


def _one(facts: Facts) -> Iterator[Seen]:
    n, how = _n_workers(facts)
    kind, threads = facts.reading("worker_class"), facts.number("threads")
    n_cpus = facts.n_cpus
    if n != 1 or kind is None or kind.text != "sync" or threads != 1 or not is_told(facts):
        return
    yield Seen(
        what="one sync worker: one request at a time, and all others wait for it",
        evidence=(how, where(kind)),
        proposes=(
            *([] if n_cpus is None else [Proposed(knob="workers", value=2 * n_cpus + 1)]),
            Proposed(knob="threads", value=THREADS),
        ),
    )


def _patient(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("timeout") if number(each.text) == 0]
    if found:
        yield Seen(
            what="a worker that hangs is never given up: `timeout` is 0",
            evidence=tuple(map(where, found)),
        )


def _short(facts: Facts) -> Iterator[Seen]:
    for reading in facts.said("max_requests"):
        n = number(reading.text)
        found = short(facts, n)
        if n is not None and found is not None:
            yield Seen(
                what=f"a worker ends after {n:,} {'request' if n == 1 else 'requests'}, and the "
                f"next one begins with a fork and mostly with all imports{found.what}",
                evidence=(where(reading), found.evidence),
                severity=found.severity,
                do=found.do("max_requests"),
                proposes=(Proposed(knob="max_requests", value=found.n_requests or _MANY),),
            )


def _together(facts: Facts) -> Iterator[Seen]:
    reading, jitter = facts.reading("max_requests"), facts.reading("max_requests_jitter")
    n, how = _n_workers(facts)
    if reading is None or not is_said(reading) or jitter is None or not is_told(facts):
        return
    requests = number(reading.text) or 0
    if requests > 0 and number(jitter.text) == 0 and n is not None and n > 1:
        tenth = max(1, requests // 10)
        yield Seen(
            what=f"{n:,} workers that began together end together, after {reading.text} requests "
            "each: nothing spreads their ends",
            evidence=(where(reading), how),
            do=f"set `max_requests_jitter` to a tenth: {tenth}",
            proposes=(Proposed(knob="max_requests_jitter", value=tenth),),
        )


def _apart(facts: Facts) -> Iterator[Seen]:
    reading, pool = facts.reading("preload_app"), facts.pool
    if reading is None or reading.text != "false" or pool is None or not is_told(facts):
        return
    if pool.n_workers > 1 and pool.is_uniform and pool.each_bytes >= _LARGE_BYTES:
        yield Seen(
            what=f"{pool.n_workers:,} workers load the application each for itself: the largest "
            f"has {format_bytes(pool.each_bytes)} of its own",
            evidence=(where(reading),),
            proposes=(Proposed(knob="preload_app", value=True),),
        )


RULES = (
    Rule(
        name="one-sync-worker",
        kinds=_KINDS,
        severity="doubtful",
        checks="One worker of the class sync",
        matters="While it waits for a database or a slow client, nobody else is answered; a "
        "request that calls its own server waits for ever.",
        needs="One worker runs or is written, the class is sync without threads, and no "
        f"arguments stand in `{VARIABLE}`.",
        do="start more workers, or give it threads",
        risks="what a process keeps in memory is not shared among several",
        wrong="several such servers stand behind a balancer, one for each CPU",
        source=f"{GUNICORN}#workers",
        look=_one,
        proposes=(
            Proposes(knob="workers", value="2 × CPUs + 1, where it is known how many there are"),
            Proposes(knob="threads", value=f"{THREADS}"),
        ),
    ),
    Rule(
        name="no-timeout",
        kinds=_KINDS,
        severity="doubtful",
        checks="`timeout 0`",
        matters="A worker that waits for ever stays and answers nothing; one after another they "
        "all do.",
        needs="It is written.",
        do="set `timeout` above the longest request that is right",
        risks="requests that take longer are killed",
        wrong="another one watches the workers, or a single worker with threads has long requests",
        source=f"{GUNICORN}#timeout",
        look=_patient,
    ),
    Rule(
        name="gunicorn-short-lives",
        kinds=_KINDS,
        severity="doubtful",
        checks="`max_requests` so small that births cost more than they save",
        matters="Each worker begins with a fork, and without preloading it imports the whole "
        "application: meanwhile one worker fewer answers.",
        needs=f"It is written, and above 0. {COUNTS}",
        do="set `max_requests` to some thousands with a jitter, or to 0 where nothing leaks",
        risks="a leak grows for longer before its worker ends",
        wrong="requests leak so much that a worker must not live longer: mend that",
        source=f"{GUNICORN}#max-requests",
        look=_short,
        proposes=(
            Proposes(
                knob="max_requests",
                value=f"what costs little by rates that were measured; {_MANY:,} without them",
            ),
        ),
    ),
    Rule(
        name="no-jitter",
        kinds=_KINDS,
        severity="hint",
        checks="`max_requests` without `max_requests_jitter`, with several workers",
        matters="Workers that take turns reach the number at about the same time; then all import "
        "at once and few answer.",
        needs="`max_requests` is written, several workers run or are written, and no arguments "
        f"stand in `{VARIABLE}`.",
        do="set `max_requests_jitter` to a tenth of `max_requests`",
        risks="some workers live a tenth longer",
        wrong="load is so uneven that their ends are spread anyway",
        source=f"{GUNICORN}#max-requests-jitter",
        look=_together,
        proposes=(Proposes(knob="max_requests_jitter", value="a tenth of `max_requests`"),),
    ),
    Rule(
        name="no-preload",
        kinds=_KINDS,
        severity="hint",
        checks="Large workers without `preload_app`",
        matters="Loaded before the fork, an application's pages are there once for all workers, "
        "until one writes to them.",
        needs="Several workers run, of one kind, the largest with 32 MiB of its own or more, and "
        f"no arguments stand in `{VARIABLE}`.",
        do="try `preload_app`: `httpdyno tune` measures the memory",
        risks="connections and threads that are made at import are shared or lost after the fork; "
        "a reload does not load code anew",
        wrong="what is large comes with requests: caches, results",
        source=f"{GUNICORN}#preload-app",
        look=_apart,
        proposes=(Proposes(knob="preload_app", value="true"),),
    ),
)
