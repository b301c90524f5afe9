"""Knobs of the load instead of the server: what each of them sets in a workload; pure."""

from collections.abc import Callable, Mapping

import msgspec

from httpdyno.model.base import Level
from httpdyno.model.knob import KnobInfo
from httpdyno.model.workload import Workload

HEADER = "headers."
"""Then the header's name; an empty value leaves it out."""

LOAD_KNOBS = {
    "connections": KnobInfo(
        name="connections",
        summary="users of the closed loop, each with its connection",
        kind="integer",
        minimum=1,
        scale="log",
    ),
    "path": KnobInfo(name="path", summary="what is asked for", kind="text"),
    "requests_per_connection": KnobInfo(
        name="requests_per_connection",
        summary="requests on one connection; 0 has no limit, 1 is no keep-alive",
        kind="integer",
        minimum=0,
    ),
}
"""By name; beside them `headers.NAME`."""


def load_knob_info(name: str) -> KnobInfo | None:
    """Return what a knob of the load is; None where there is none of that name."""
    if name.startswith(HEADER) and name != HEADER:
        header = name.removeprefix(HEADER)
        return KnobInfo(name=name, summary=f"the request header {header}", kind="text")
    return LOAD_KNOBS.get(name)


def with_load_knobs(workload: Workload, values: Mapping[str, Level]) -> Workload:
    """Return the workload with these knobs of the load set."""
    for name, value in values.items():
        setting = _header if name.startswith(HEADER) else _SET[name]
        workload = setting(workload, name, value)
    return workload


def _connections(workload: Workload, _name: str, value: Level) -> Workload:
    return msgspec.structs.replace(workload, connections=value)


def _per_connection(workload: Workload, _name: str, value: Level) -> Workload:
    return msgspec.structs.replace(workload, requests_per_connection=value)


def _path(workload: Workload, _name: str, value: Level) -> Workload:
    requests = tuple(msgspec.structs.replace(each, path=value) for each in workload.requests)
    return msgspec.structs.replace(workload, requests=requests)


def _header(workload: Workload, name: str, value: Level) -> Workload:
    header = name.removeprefix(HEADER)
    requests = []
    for each in workload.requests:
        kept = [(n, v) for n, v in each.headers if n.lower() != header.lower()]
        if value != "":
            kept.append((header, str(value)))
        requests.append(msgspec.structs.replace(each, headers=tuple(kept)))
    return msgspec.structs.replace(workload, requests=tuple(requests))


_SET: Mapping[str, Callable[[Workload, str, Level], Workload]] = {
    "connections": _connections,
    "path": _path,
    "requests_per_connection": _per_connection,
}
