"""Rules for gunicorn and uvicorn: workers, kept connections, switches for development."""

from collections.abc import Iterator

from httpdyno.advice.rules.declaration import Proposed, Seen, rule
from httpdyno.advice.rules.facts import Facts, is_said, number, where
from httpdyno.advice.rules.pool import is_told, short
from httpdyno.units import format_bytes

# Rules for gunicorn: its workers, how long they live, when they are given up.

_MANY = 10_000
_THREADS = 4
_LARGE_BYTES = 32 << 20
"""Of its own that an application has in each worker, where preloading is worth a thought."""


def _n_workers(facts: Facts) -> tuple[int | None, str]:
    """Return how many workers there are, and how that is known; None where it is not."""
    if facts.pool is not None:
        return facts.pool.n_workers, f"{facts.pool.n_workers:,} below its first process"
    reading = facts.reading("workers")
    if reading is None or not is_said(reading):
        return None, ""
    return number(reading.text), where(reading)


@rule("one-sync-worker")
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
            Proposed(knob="threads", value=_THREADS),
        ),
    )


@rule("no-timeout")
def _patient(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("timeout") if number(each.text) == 0]
    if found:
        yield Seen(
            what="a worker that hangs is never given up: `timeout` is 0",
            evidence=tuple(map(where, found)),
        )


@rule("gunicorn-short-lives")
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


@rule("no-jitter")
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


@rule("no-preload")
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


# Rules for connections that gunicorn keeps: where it keeps none, and who closes them first.
#
# Source: gunicorn's documentation of `keepalive` ("sync worker does not support persistent
# connections and will ignore this option"); gunicorn 27.0's gunicorn/config.py
# (`worker_class_str`), workers/sync.py (`resp.force_close`) and workers/gthread.py
# (`max_keepalived`).

_SYNC = frozenset({"sync", "gunicorn.workers.sync.SyncWorker"})
_THREADED = frozenset({"gthread", "gunicorn.workers.gthread.ThreadWorker"})
_TIMED = _THREADED | {
    *("gevent", "eventlet", "asgi"),
    *("uvicorn.workers.UvicornWorker", "uvicorn_worker.UvicornWorker"),
}
"""Classes that close a connection which has been idle for `keepalive`; tornado's own is longer."""
_BEYOND_S = 5
"""So much longer than a proxy: a busy worker sees late what came, and late that it was closed."""


def _class(facts: Facts) -> str:
    """Return the class that runs: sync with threads is gthread; empty where it is not known."""
    kind, threads = facts.reading("worker_class"), facts.number("threads")
    if kind is None or threads is None or not is_told(facts):
        return ""
    return "gthread" if kind.text in _SYNC and threads > 1 else kind.text


@rule("gunicorn-unread-keepalive")
def _unread(facts: Facts) -> Iterator[Seen]:
    keepalive, kind = facts.reading("keepalive"), facts.reading("worker_class")
    threads, most = facts.reading("threads"), facts.reading("worker_connections")
    if keepalive is None or kind is None or not is_said(keepalive) or not number(keepalive.text):
        return
    runs, said = _class(facts), f"`keepalive` {keepalive.text} s counts for nothing"
    if runs in _SYNC:
        yield Seen(
            what=f"{said}: sync workers close each connection after its answer",
            evidence=(where(keepalive), where(kind)),
            proposes=(Proposed(knob="threads", value=_THREADS),),
        )
    elif runs in _THREADED and threads is not None and most is not None:
        n_threads, n_most = number(threads.text), number(most.text)
        if n_threads is not None and n_most is not None and n_most <= n_threads:
            yield Seen(
                what=f"{said}: `worker_connections` {n_most:,} leaves no place for an idle one "
                f"beside {n_threads:,} threads",
                evidence=(where(keepalive), where(most), where(threads)),
                do="set `worker_connections` well above `threads`, or take `keepalive` away",
            )


@rule("gunicorn-closes-first")
def _closes_first(facts: Facts) -> Iterator[Seen]:
    keepalive = facts.reading("keepalive")
    own_s = None if keepalive is None else number(keepalive.text)
    # 0 announces the end of the connection with each answer: nobody sends on it any more.
    if keepalive is None or not own_s or _class(facts) not in _TIMED:
        return
    for front in facts.fronts:
        if own_s <= front.idle_s:
            longer = int(front.idle_s) + _BEYOND_S
            yield Seen(
                what=f"gunicorn closes a connection that is idle for {own_s} s, and {front.name} "
                f"keeps it for {front.idle_s:g} s: what {front.name} sends at that "
                "moment is lost, and a POST gets a 502",
                evidence=(where(keepalive), where(front.idle)),
                do=f"set `keepalive` to {longer}, or `keepalive_timeout` of {front.name}'s "
                f"upstream below {own_s} s",
            )


_VARIABLES = ("PYTHONDEBUG", "PYTHONASYNCIODEBUG", "PYTHONDEVMODE", "PYTHONTRACEMALLOC")


@rule("reloading")
def _reloads(facts: Facts) -> Iterator[Seen]:
    said = [each for each in facts.said("reload") if each.text.lower() == "true"]
    is_flag = "--reload" in facts.command
    if is_flag or said:
        yield Seen(
            what="it watches its source files and restarts when one changes: `--reload`",
            evidence=("its command line",) if is_flag else tuple(map(where, said)),
        )


@rule("python-debugging")
def _variables(facts: Facts) -> Iterator[Seen]:
    found = [name for name in _VARIABLES if name in (facts.environment_names or ())]
    if found:
        yield Seen(
            what=f"{' and '.join(f'`{name}`' for name in found)} "
            f"{'is' if len(found) == 1 else 'are'} set: checks and traces of the interpreter",
            evidence=("names of its environment",),
        )
