"""Which knobs this server has: its modules, what is set where, what no file holds. Pure."""

from collections.abc import Mapping

from msgspec.structs import replace

from httpdyno.model import KnobInfo, Level, Survey
from httpdyno.servers.apache.knob import ApacheKnob
from httpdyno.servers.apache.links import checking
from httpdyno.servers.apache.rule import SOMAXCONN
from httpdyno.servers.apache.setting import is_threaded, level_of, number_of
from httpdyno.servers.apache.spare import spare_names
from httpdyno.servers.apache.survey import is_whole
from httpdyno.servers.apache.tunable import (
    BACKLOG,
    HTACCESS,
    KNOBS,
    LINK_CHECKS,
    SPARE,
)

_WORKERS = "MaxRequestWorkers"


def split_name(name: str) -> tuple[str, str]:
    """Return directive and scope of a knob's name, `NAME` or `NAME@SCOPE`."""
    directive, _, scope = name.partition("@")
    return directive, scope


def offered(survey: Survey) -> Mapping[str, KnobInfo]:
    """Return what can be set here, with what was found as default.

    One that is set in virtual hosts or folders is a knob of each of them besides; one whose value
    is no level, or stands in no file, is none.
    """
    found: dict[str, KnobInfo] = {}
    for declared in KNOBS.values():
        if not _is_here(declared, survey):
            continue
        info = declared.info
        if info.name in {SPARE, HTACCESS, LINK_CHECKS}:
            found[info.name] = info
            continue
        for scope in _scopes(declared, survey):
            default = _default(declared, survey, scope)
            if default is not None:
                name = f"{info.name}@{scope}" if scope else info.name
                found[name] = replace(_bounded(info, survey), name=name, default=default)
    return found


def _is_here(declared: ApacheKnob, survey: Survey) -> bool:
    info = declared.info
    if declared.module and declared.module not in survey.modules:
        return False
    if declared.is_threaded is not None and declared.is_threaded != is_threaded(survey):
        return False
    if info.name == HTACCESS:
        return any(reading.name == HTACCESS for reading in survey.readings)
    if info.name == LINK_CHECKS:
        return bool(checking(survey))
    if info.name == SPARE:
        return all(_can_be_set(survey, name) for name in spare_names(survey))
    return True


def _scopes(declared: ApacheKnob, survey: Survey) -> list[str]:
    own = [r.scope for r in survey.readings if r.name == declared.info.name and r.scope]
    return ["", *own] if declared.is_scoped else [""]


def _can_be_set(survey: Survey, name: str, scope: str = "") -> bool:
    reading = survey.reading(name, scope)
    origin = reading.origin if reading is not None else None
    return origin is None or origin.start < origin.end


def _default(declared: ApacheKnob, survey: Survey, scope: str) -> Level | None:
    info = declared.info
    reading = survey.reading(info.name, scope)
    if reading is not None:
        level = level_of(info, reading.text) if _can_be_set(survey, info.name, scope) else None
        return _cut(level, survey) if info.name == _WORKERS else level
    if is_threaded(survey) and declared.threaded_default is not None:
        return declared.threaded_default
    return info.default


def _cut(level: Level | None, survey: Survey) -> Level | None:
    """Return the workers that the limit leaves: what was not read may raise that."""
    if type(level) is not int or not is_whole(survey):
        return level
    threads = number_of(survey, "ThreadsPerChild") if is_threaded(survey) else 1
    most = number_of(survey, "ServerLimit") * threads
    return min(level, most) if most > 0 else level


def _bounded(info: KnobInfo, survey: Survey) -> KnobInfo:
    """Return the knob with what the kernel allows."""
    somaxconn = survey.reading(SOMAXCONN)
    if info.name != BACKLOG or somaxconn is None or not somaxconn.text.isdecimal():
        return info
    return replace(info, maximum=int(somaxconn.text))
