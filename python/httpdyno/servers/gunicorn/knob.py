"""gunicorn's settings that can be tuned. Source of all: docs.gunicorn.org, Settings."""

from collections.abc import Mapping

from msgspec.structs import replace

from httpdyno.model import KnobInfo, Level

_SOURCE = "docs.gunicorn.org/en/stable/settings.html#"

_DECLARED = (
    KnobInfo(
        name="workers",
        summary="processes that answer requests",
        kind="integer",
        default=1,
        minimum=1,
        maximum=1024,
        effect="memory",
        risk="what a process keeps in memory is not shared",
        pool="workers",
    ),
    KnobInfo(
        name="worker_class",
        summary="how a worker answers: one request at a time, threads, or greenlets",
        kind="choice",
        default="sync",
        choices=(
            *("sync", "gthread", "gevent", "eventlet", "tornado", "asgi"),
            *("uvicorn.workers.UvicornWorker", "uvicorn_worker.UvicornWorker"),
        ),
        effect="visible",
        risk="the application has to be safe for threads, or for greenlets",
    ),
    KnobInfo(
        name="threads",
        summary="threads of each worker; more than 1 makes the class gthread",
        kind="integer",
        default=1,
        minimum=1,
        maximum=1024,
        effect="memory",
        risk="the application has to be safe for threads",
    ),
    KnobInfo(
        name="worker_connections",
        summary="connections that a gthread or gevent worker holds at once",
        kind="integer",
        default=1000,
        minimum=1,
        maximum=1_000_000,
        effect="memory",
    ),
    KnobInfo(
        name="max_requests",
        summary="requests after which a worker is replaced; 0 is never",
        kind="integer",
        default=0,
        unit="requests",
        minimum=0,
        maximum=1_000_000_000,
        risk="0 lets a leak grow",
        pool="requests",
    ),
    KnobInfo(
        name="max_requests_jitter",
        summary="so many requests more at random, so that not all workers are replaced at once",
        kind="integer",
        default=0,
        unit="requests",
        minimum=0,
        maximum=1_000_000_000,
    ),
    KnobInfo(
        name="timeout",
        summary="a worker silent for so long is killed; 0 is never",
        kind="integer",
        default=30,
        unit="s",
        minimum=0,
        maximum=86_400,
        risk="it ends workers that hang; longer, they hold their place longer",
    ),
    KnobInfo(
        name="graceful_timeout",
        summary="time that a worker has to finish its requests on restart",
        kind="integer",
        default=30,
        unit="s",
        minimum=0,
        maximum=86_400,
        risk="shorter, requests under way are cut off on restart",
    ),
    KnobInfo(
        name="keepalive",
        summary="how long an idle connection is kept; sync workers never keep any",
        kind="integer",
        default=2,
        unit="s",
        minimum=0,
        maximum=3600,
        effect="visible",
        risk="below a proxy's own idle time the proxy sees resets",
    ),
    KnobInfo(
        name="backlog",
        summary="connections that may wait in the kernel to be accepted",
        kind="integer",
        default=2048,
        minimum=1,
        maximum=65_535,
    ),
    KnobInfo(
        name="preload_app",
        summary="load the application before forking, so that workers share its memory",
        kind="boolean",
        default=False,
        effect="memory",
        risk="what is opened at import is shared, and a reload loads no new code",
    ),
    KnobInfo(
        name="worker_tmp_dir",
        summary="where workers touch their heartbeat file: `disk`, `memory` or a folder",
        kind="text",
    ),
    KnobInfo(
        name="sendfile",
        summary="send files by the kernel's sendfile",
        kind="boolean",
    ),
    KnobInfo(
        name="reuse_port",
        summary="each worker listens on a socket of its own (SO_REUSEPORT)",
        kind="boolean",
        default=False,
        risk="connections that wait at a worker which ends are reset",
    ),
    KnobInfo(
        name="limit_request_line",
        summary="longest request line; 0 is no limit",
        kind="integer",
        default=4094,
        unit="bytes",
        minimum=0,
        maximum=8190,
        effect="visible",
        risk="longer lines are refused; it protects",
    ),
    KnobInfo(
        name="limit_request_fields",
        summary="most header fields of a request",
        kind="integer",
        default=100,
        minimum=1,
        maximum=32_768,
        effect="visible",
        risk="more fields are refused; it protects",
    ),
)


def as_understood(asked: Mapping[str, Level], threads: int) -> dict[str, Level]:
    """Return the settings that were asked for as gunicorn takes them.

    The sync class has no threads: with more than one, gunicorn runs gthread in its place, and that
    is what was asked for, not a setting that was ignored.

    Args:
        asked: Settings by name.
        threads: Of each worker, whoever set them.

    Source: gunicorn/config.py, `Config.worker_class_str` (gunicorn 27.0).
    """
    is_threaded = asked.get("worker_class") == "sync" and threads > 1
    return {**asked, "worker_class": "gthread"} if is_threaded else dict(asked)


KNOBS = {
    knob.name: replace(knob, cost="restart", source=_SOURCE + knob.name.replace("_", "-"))
    for knob in _DECLARED
}
"""A change is one of the command line, which a running gunicorn does not read again. Of what stands
in its configuration file it takes most by a reload (HUP), but neither `backlog` nor what
`preload_app` has loaded."""
