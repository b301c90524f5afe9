"""How programs that would go into the background are started so that they stay. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, kw_only=True, slots=True)
class _Way:
    """What of a command line is left out, and what is put in."""

    switches: frozenset[str] = frozenset()
    with_value: frozenset[str] = frozenset()
    """Options that name the file to log to, and send it into the background by that."""
    added: tuple[str, ...] = ()


_CAPITAL = _Way(switches=frozenset({"-D", "--daemon", "--daemonize"}))
_SMALL = _Way(switches=frozenset({"-d", "--daemon", "--daemonize"}))
_WAYS = {
    **dict.fromkeys(("gunicorn", "unicorn", "rackup", "plackup", "starman", "haproxy"), _CAPITAL),
    **dict.fromkeys(("puma", "thin", "rails", "passenger", "memcached"), _SMALL),
    "uwsgi": _Way(with_value=frozenset({"-d", "--daemonize", "--daemonize2"})),
    "lighttpd": _Way(added=("-D",)),
    "hypnotoad": _Way(added=("-f",)),
    "varnishd": _Way(added=("-F",)),
    "spawn-fcgi": _Way(added=("-n",)),
}
"""By the program's name, as its own manual has it."""
_STARTED_BY = 4
"""Words of a command line among which the program may stand, behind its interpreter."""


def in_foreground(command: Sequence[str]) -> list[str]:
    """Return a command line by which its program stays in the foreground, where that is known."""
    names = [PurePosixPath(word).name for word in command[:_STARTED_BY]]
    if "caddy" in names[:1] and "start" in names:
        return ["run" if word == "start" else word for word in command]
    at, way = next(((k, _WAYS[n]) for k, n in enumerate(names) if n in _WAYS), (0, _Way()))
    words = list(command[: at + 1])
    rest = iter(command[at + 1 :])
    for word in rest:
        if word in way.with_value:
            next(rest, None)
        elif word not in way.switches and word.partition("=")[0] not in way.with_value:
            words.append(word)
    new = [word for word in way.added if word not in words]
    return [*words[: at + 1], *new, *words[at + 1 :]]
