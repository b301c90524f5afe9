"""All knobs of nginx by name, as they are found in a survey and as they are asked for."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.model import KnobInfo, Level, Reading, Survey
from httpdyno.servers.nginx.bundle import BUNDLES
from httpdyno.servers.nginx.listen_knob import SOCKET_OPTIONS
from httpdyno.servers.nginx.log import LOG_BUFFER
from httpdyno.servers.nginx.quantity import level_of
from httpdyno.servers.nginx.scope import Conf
from httpdyno.servers.nginx.setting import SETTINGS
from httpdyno.servers.nginx.tunable import Tunable
from httpdyno.servers.nginx.upstream_knob import UPSTREAM_KEEPALIVE

_ALL: tuple[Tunable, ...] = (
    *SETTINGS,
    *BUNDLES,
    *SOCKET_OPTIONS,
    LOG_BUFFER,
    UPSTREAM_KEEPALIVE,
)
TUNABLES: Mapping[str, Tunable] = {each.info.name: each for each in _ALL}


def readings(conf: Conf) -> Iterator[Reading]:
    """Yield what is in force of each knob, for the whole first."""
    for each in TUNABLES.values():
        yield from each.readings(conf)


def knobs(survey: Survey) -> dict[str, KnobInfo]:
    """Return what can be set, `NAME` or `NAME@SCOPE`, with what was found as the default.

    A value that is not of the knob's kind, such as half a second, makes it no knob. Nor is an
    address that is set as the first one is: the knob without a scope is of all those.
    """
    sockets = {(each.info.name, _whole(survey, each.info.name)) for each in SOCKET_OPTIONS}
    found: dict[str, KnobInfo] = {}
    for reading in survey.readings:
        each = TUNABLES.get(reading.name)
        if each is None or (reading.scope and (reading.name, reading.text) in sockets):
            continue
        level = level_of(each.info, reading.text)
        name = f"{reading.name}@{reading.scope}" if reading.scope else reading.name
        if level is not None and not each.info.complaint(level):
            found[name] = replace(each.info, name=name, default=level)
    return found


def _whole(survey: Survey, name: str) -> str:
    reading = survey.reading(name)
    return "" if reading is None else reading.text


def asked(name: str, level: Level) -> tuple[Tunable, str]:
    """Return the knob of a name, and its scope.

    Raises:
        AdapterError: There is none of that name, or the level is none of it.
    """
    bare, _, scope = name.partition("@")
    each = TUNABLES.get(bare)
    if each is None:
        raise AdapterError(f"nginx has no knob `{bare}`", hint=f"It has {', '.join(TUNABLES)}.")
    if complaint := each.info.complaint(level):
        raise AdapterError(f"`{name}` cannot be `{level}`: {complaint}")
    return each, scope
