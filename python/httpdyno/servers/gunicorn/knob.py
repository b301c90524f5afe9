"""gunicorn's settings that can be tuned. Source of all: docs.gunicorn.org, Settings."""

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
