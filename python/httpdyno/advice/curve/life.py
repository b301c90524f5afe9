"""How long a server's workers are configured to live. Pure.

Apache counts connections: of one that is kept alive it counts the first request only. gunicorn adds
a number drawn at random for each worker, up to its jitter, so none lives longer than both.

Source: Apache 2.4's mpm_common (MaxConnectionsPerChild); PHP's manual, `pm.max_requests`;
gunicorn's settings `max_requests` and `max_requests_jitter`; uvicorn's `--limit-max-requests`.
"""

import re
from typing import Literal

from httpdyno.model import Record, Survey

_JITTER = "max_requests_jitter"
_UNITS: dict[str, Literal["connections", "requests"]] = {
    "MaxConnectionsPerChild": "connections",
    "pm.max_requests": "requests",
    "max_requests": "requests",
    "limit_max_requests": "requests",
}
_NUMBER = re.compile(r"[0-9]{1,18}")


class ConfiguredLife(Record, frozen=True):
    """After how much a worker is replaced."""

    setting: str
    """`MaxConnectionsPerChild`; of one pool of several `pm.max_requests@shop`."""
    n: int | None
    """At the latest; None: never."""
    unit: Literal["connections", "requests"]


def configured_lives(survey: Survey | None) -> tuple[ConfiguredLife, ...]:
    """Return what a server's settings say of its workers' lives; empty where nothing is known."""
    if survey is None:
        return ()
    # What is said last is in force.
    said = {(each.name, each.scope): each.text for each in survey.readings}
    found = []
    for (name, scope), text in said.items():
        if name not in _UNITS or not _NUMBER.fullmatch(text):
            continue
        n, jitter = int(text), said.get((_JITTER, scope), "")
        if n and name == "max_requests" and _NUMBER.fullmatch(jitter):
            n += int(jitter)
        setting = f"{name}@{scope}" if scope else name
        found.append(ConfiguredLife(setting=setting, n=n or None, unit=_UNITS[name]))
    return tuple(found)
