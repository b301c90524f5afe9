"""Rules for connections that gunicorn keeps: where it keeps none, and who closes them first.

Source: gunicorn's documentation of `keepalive` ("sync worker does not support persistent
connections and will ignore this option"); gunicorn 27.0's gunicorn/config.py (`worker_class_str`),
workers/sync.py (`resp.force_close`) and workers/gthread.py (`max_keepalived`).
"""

from collections.abc import Iterator

from httpdyno.advice.rules.declaration import GUNICORN, NGINX, Proposed, Proposes, Rule, Seen
from httpdyno.advice.rules.facts import Facts, is_said, number, where
from httpdyno.advice.rules.python_server import THREADS, VARIABLE, is_told

_KINDS = ("gunicorn",)
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
            proposes=(Proposed(knob="threads", value=THREADS),),
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


RULES = (
    Rule(
        name="gunicorn-unread-keepalive",
        kinds=_KINDS,
        severity="hint",
        checks="`keepalive` where no worker keeps a connection",
        matters="Whoever sets it believes that visitors or a proxy use connections again. A sync "
        "worker closes each one after its answer, whatever the request asks; one with threads "
        "keeps as many idle ones as `worker_connections` is above `threads`.",
        needs="`keepalive` is written and above 0. The class is sync without threads, or gthread "
        "with `worker_connections` at or below `threads`. No arguments stand in "
        f"`{VARIABLE}`.",
        do="take it away; or give the workers threads, which makes the class gthread, and that "
        "keeps connections without holding a thread for an idle one",
        risks="with threads the application has to be safe for them; without `keepalive` nothing "
        "changes",
        wrong="it stands there for another class, which the same file is used with",
        source=f"{GUNICORN}#keepalive; gunicorn 27.0, gunicorn/workers/sync.py and gthread.py",
        look=_unread,
        proposes=(Proposes(knob="threads", value=f"{THREADS}, where the class is sync"),),
    ),
    Rule(
        name="gunicorn-closes-first",
        kinds=_KINDS,
        severity="doubtful",
        checks="`keepalive` not above the time for which nginx keeps idle connections to it",
        matters="Whoever closes an idle connection should be the one that sends on it. Where "
        "gunicorn is first, a request of nginx may meet the end of the connection. nginx sends it "
        "again by another one only if that does no harm: a POST, LOCK or PATCH gets a 502, now and "
        "then and without a line in gunicorn's log. The other way round is right, by however much: "
        "a connection that nginx closes takes no place any more.",
        needs="Both run and are looked at together. nginx passes to it by an upstream with "
        "`keepalive`, as HTTP/1.1 with an empty `Connection`; `keepalive_timeout` of that "
        "upstream is 60 s where nothing sets it. gunicorn's class is one that keeps connections, "
        "its `keepalive` is above 0 (2 s where nothing sets it), and no arguments stand in "
        f"`{VARIABLE}`. Of other proxies it is not known how long they keep theirs.",
        do="set `keepalive` above `keepalive_timeout` of nginx's upstream",
        risks="each idle connection takes one of `worker_connections`",
        wrong="only GET and other requests come that may be sent twice; nginx sends all of them "
        "again (`proxy_next_upstream` with `non_idempotent`); or it is never idle for so long",
        source=f"{GUNICORN}#keepalive; "
        f"{NGINX}http/ngx_http_upstream_module.html#keepalive_timeout; "
        f"{NGINX}http/ngx_http_proxy_module.html#proxy_next_upstream; RFC 9112, section 9.3.1",
        look=_closes_first,
    ),
)
