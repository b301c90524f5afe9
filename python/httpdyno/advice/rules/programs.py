"""Rules of what is written, and where to, whatever server does it; and of node."""

import re
from collections.abc import Iterator, Mapping

from httpdyno.advice.rules.apache_perl import states
from httpdyno.advice.rules.declaration import Proposed, Seen, rule
from httpdyno.advice.rules.facts import MEMORY, NETWORK, Facts, is_said, number, where, words
from httpdyno.advice.rules.workers import is_told, short
from httpdyno.model import Reading
from httpdyno.reason import Reason, because

# Rules for gunicorn and uvicorn: workers, kept connections, switches for development.

# Rules for gunicorn: its workers, how long they live, when they are given up.

_MANY = 10_000
_THREADS = 4
_LARGE_BYTES = 32 << 20
"""Of its own that an application has in each worker, where preloading is worth a thought."""


def _n_workers(facts: Facts) -> tuple[int | None, Reason | None]:
    """Return how many workers there are, and how that is known; None where it is not."""
    if facts.pool is not None:
        n = facts.pool.n_workers
        return n, because("advice.below_first", n=n)
    reading = facts.reading("workers")
    if reading is None or not is_said(reading):
        return None, None
    return number(reading.text), where(reading)


@rule("one-sync-worker")
def _one(facts: Facts) -> Iterator[Seen]:
    n, how = _n_workers(facts)
    kind, threads = facts.reading("worker_class"), facts.number("threads")
    n_cpus = facts.n_cpus
    if (
        n != 1
        or how is None
        or kind is None
        or kind.text != "sync"
        or threads != 1
        or not is_told(facts)
    ):
        return
    yield Seen(
        what=because("rules.one-sync-worker"),
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
            what=because("rules.no-timeout"),
            evidence=tuple(map(where, found)),
        )


@rule("gunicorn-short-lives")
def _short(facts: Facts) -> Iterator[Seen]:
    for reading in facts.said("max_requests"):
        n = number(reading.text)
        found = short(facts, n)
        if n is not None and found is not None:
            yield Seen(
                what=found.costing(because("rules.gunicorn-short-lives", n=n)),
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
    if requests > 0 and number(jitter.text) == 0 and n is not None and how and n > 1:
        tenth = max(1, requests // 10)
        yield Seen(
            what=because("rules.no-jitter.together", n=n, requests=reading.text),
            evidence=(where(reading), how),
            do=because("rules.no-jitter.fix", n=tenth),
            proposes=(Proposed(knob="max_requests_jitter", value=tenth),),
        )


@rule("no-preload")
def _apart(facts: Facts) -> Iterator[Seen]:
    reading, pool = facts.reading("preload_app"), facts.pool
    if reading is None or reading.text != "false" or pool is None or not is_told(facts):
        return
    if pool.n_workers > 1 and pool.is_uniform and pool.each_bytes >= _LARGE_BYTES:
        yield Seen(
            what=because("rules.no-preload", n=pool.n_workers, each=pool.each_bytes),
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
    runs = _class(facts)
    if runs in _SYNC:
        yield Seen(
            what=because("rules.gunicorn-unread-keepalive.sync", seconds=keepalive.text),
            evidence=(where(keepalive), where(kind)),
            proposes=(Proposed(knob="threads", value=_THREADS),),
        )
    elif runs in _THREADED and threads is not None and most is not None:
        n_threads, n_most = number(threads.text), number(most.text)
        if n_threads is not None and n_most is not None and n_most <= n_threads:
            yield Seen(
                what=because(
                    "rules.gunicorn-unread-keepalive.threads",
                    seconds=keepalive.text,
                    n=n_most,
                    threads=n_threads,
                ),
                evidence=(where(keepalive), where(most), where(threads)),
                do=because("rules.gunicorn-unread-keepalive.fix"),
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
                what=because(
                    "rules.gunicorn-closes-first.lost",
                    own=own_s,
                    front=front.name,
                    seconds=front.idle_s,
                ),
                evidence=(where(keepalive), where(front.idle)),
                do=because(
                    "rules.gunicorn-closes-first.fix", longer=longer, front=front.name, own=own_s
                ),
            )


_VARIABLES = ("PYTHONDEBUG", "PYTHONASYNCIODEBUG", "PYTHONDEVMODE", "PYTHONTRACEMALLOC")


@rule("reloading")
def _reloads(facts: Facts) -> Iterator[Seen]:
    said = [each for each in facts.said("reload") if each.text.lower() == "true"]
    is_flag = "--reload" in facts.command
    if is_flag or said:
        yield Seen(
            what=because("rules.reloading"),
            evidence=(because("advice.command_line"),) if is_flag else tuple(map(where, said)),
        )


@rule("python-debugging")
def _variables(facts: Facts) -> Iterator[Seen]:
    found = [name for name in _VARIABLES if name in (facts.environment_names or ())]
    if found:
        yield Seen(
            what=because(
                "rules.python-debugging.one"
                if len(found) == 1
                else "rules.python-debugging.several",
                names=[f"`{name}`" for name in found],
            ),
            evidence=(because("advice.environment_names"),),
        )


_LOUD = re.compile(r"(?:[\w.]+:)?(debug|trace[1-8]?)", re.IGNORECASE)
_LEVELS: Mapping[str, str] = {
    "apache": "LogLevel",
    "nginx": "error_log",
    "php-fpm": "log_level",
    "gunicorn": "loglevel",
    "uvicorn": "log_level",
}
"""Kind → the reading."""
_CALM: Mapping[str, str] = {"apache": "warn", "uvicorn": "info"}
"""Kind whose level is a knob → what it proposes. Above info uvicorn writes no access log either,
which would be another question."""
_PYTHON = ("gunicorn", "uvicorn")
_NGINX_DEBUG = "--with-debug"
"""Of its build: else it writes no more at that level."""


@rule("debug-log")
def _logs(facts: Facts) -> Iterator[Seen]:
    if facts.kind == "nginx" and not facts.has_module(_NGINX_DEBUG):
        return
    found = [each for each in facts.said(_LEVELS[facts.kind]) if _is_loud(each, facts.kind)]
    places: tuple[Reason, ...] = tuple(map(where, found))
    flag = facts.flag("--log-level") if facts.kind in _PYTHON else ""
    if flag:
        # It counts before the file.
        given = because("rules.debug-log.flag", level=flag)
        places = (given,) if _LOUD.fullmatch(flag) else ()
    if places:
        calm = _CALM.get(facts.kind)
        yield Seen(
            what=because("rules.debug-log.writes"),
            evidence=places,
            proposes=(Proposed(knob=_LEVELS[facts.kind], value=calm),) if calm else (),
        )


def _is_loud(reading: Reading, kind: str) -> bool:
    given = words(reading.text)
    # The first word of nginx's is a path.
    return any(_LOUD.fullmatch(word) for word in (given[1:] if kind == "nginx" else given))


@rule("node-environment")
def _node(facts: Facts) -> Iterator[Seen]:
    names = facts.environment_names
    # Where nothing is known of the environment, or the command line sets it, nothing is said.
    if not names or facts.pool is None:
        return
    if "NODE_ENV" not in names and not any("NODE_ENV" in word for word in facts.command):
        yield Seen(
            what=because("rules.node-environment.unset"),
            evidence=(because("rules.node-environment.names", n=len(names)),),
        )


# What is written for each request, and the file system that it is written to.

_FILES = "files"
_SESSIONS, _HANDLER = "session.save_path", "session.save_handler"
_HEARTBEATS = "worker_tmp_dir"
_SETTINGS = frozenset({_SESSIONS, _HEARTBEATS})


def folders_of(facts: Facts) -> tuple[str, ...]:
    """Return the folders whose file systems rules ask for."""
    found = [each for each in facts.survey.readings if each.name in _SETTINGS and is_said(each)]
    found += [reading for _, reading in _of_mod_php(facts, _SESSIONS)]
    told = [folder for each in found if (folder := _folder(each))]
    return tuple(dict.fromkeys([*told, *(each.folder for each in states(facts))]))


def _folder(reading: Reading) -> str:
    # `N;MODE;/path` of PHP is a path, too; of `php_value` it is the second word.
    text = words(reading.text)[-1] if reading.name.lower().startswith("php_") else reading.text
    folder = text.rpartition(";")[2].strip("\"'")
    return folder if folder.startswith("/") else ""


def _of_mod_php(facts: Facts, name: str) -> Iterator[tuple[str, Reading]]:
    """Yield value and directive of a setting of PHP that stands in an Apache's configuration."""
    for directive in ("php_value", "php_admin_value"):
        for reading in facts.said(directive):
            given, *value = words(reading.text) or [""]
            if given == name and value:
                yield value[0], reading


def _handlers(facts: Facts) -> list[tuple[str, str]]:
    """Return scope and name of each handler of sessions that is set."""
    said = facts.said(_HANDLER)
    found = [(each.scope, each.text) for each in said]
    return [*found, *((each.scope, value) for value, each in _of_mod_php(facts, _HANDLER))]


@rule("sessions-on-network")
def _sessions(facts: Facts) -> Iterator[Seen]:
    inside = (reading for _, reading in _of_mod_php(facts, _SESSIONS))
    for reading in (*facts.said(_SESSIONS), *inside):
        handlers = [name for scope, name in _handlers(facts) if scope in ("", reading.scope)]
        kind = facts.filesystems.get(_folder(reading), "")
        if kind in NETWORK and all(each == _FILES for each in handlers):
            yield Seen(
                what=because("rules.sessions-on-network", kind=kind),
                evidence=(
                    where(reading),
                    because("advice.folder_is", folder=_folder(reading), kind=kind),
                ),
            )


@rule("heartbeat-on-disk")
def _heartbeat(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading(_HEARTBEATS)
    if reading is None or not is_said(reading):
        return
    kind = facts.filesystems.get(_folder(reading), "")
    if kind and kind not in MEMORY:
        yield Seen(
            what=because("rules.heartbeat-on-disk", kind=kind),
            evidence=(
                where(reading),
                because("advice.folder_is", folder=_folder(reading), kind=kind),
            ),
            severity="doubtful" if kind in NETWORK else None,
        )
