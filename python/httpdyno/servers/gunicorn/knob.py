"""gunicorn's settings that can be tuned, and their flags. Source: docs.gunicorn.org, Settings."""

from collections.abc import Mapping

from msgspec.structs import replace

from httpdyno.model import KnobInfo, Level
from httpdyno.model.rows import rows

_SOURCE = "docs.gunicorn.org/en/stable/settings.html#"


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
    name: replace(row, cost="restart", source=_SOURCE + name.replace("_", "-"))
    for name, row in rows("httpdyno.servers.gunicorn", "settings.toml", KnobInfo).items()
}
"""A change is one of the command line, which a running gunicorn does not read again. Of what stands
in its configuration file it takes most by a reload (HUP), but neither `backlog` nor what
`preload_app` has loaded."""

FLAGS = {
    "workers": "--workers",
    "worker_class": "--worker-class",
    "threads": "--threads",
    "worker_connections": "--worker-connections",
    "max_requests": "--max-requests",
    "max_requests_jitter": "--max-requests-jitter",
    "timeout": "--timeout",
    "graceful_timeout": "--graceful-timeout",
    "keepalive": "--keep-alive",
    "backlog": "--backlog",
    "worker_tmp_dir": "--worker-tmp-dir",
    "limit_request_line": "--limit-request-line",
    "limit_request_fields": "--limit-request-fields",
}
SWITCHES: dict[tuple[str, Level], str] = {
    ("preload_app", True): "--preload",
    ("reuse_port", True): "--reuse-port",
    ("sendfile", False): "--no-sendfile",
}
"""A switch and the level that its flag stands for; there is no flag for the other one."""


def flags(levels: Mapping[str, Level]) -> list[str]:
    """Return the levels as gunicorn's command line has them."""
    found: list[str] = []
    for name, value in levels.items():
        if name in FLAGS:
            found += [FLAGS[name], str(value)]
        elif switch := SWITCHES.get((name, value)):
            found.append(switch)
    return found
