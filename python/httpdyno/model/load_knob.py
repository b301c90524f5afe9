"""Knobs of the load instead of the server: what each of them sets in a workload; pure."""

from collections.abc import Callable, Mapping

import msgspec

from httpdyno.errors import UsageError
from httpdyno.model.base import Level
from httpdyno.model.knob import KnobInfo
from httpdyno.model.users import slow_users
from httpdyno.model.workload import Workload
from httpdyno.units import size_bytes

HEADER = "headers."
"""Then the header's name; an empty value leaves it out."""

NO_LINE = "none"
"""The level of `slow` at which nobody is on a slow line."""

_BUFFER = "slow_buffer"

LOAD_KNOBS = {
    "connections": KnobInfo(
        name="connections",
        summary="users of the closed loop, each with its connection",
        kind="integer",
        minimum=1,
        scale="log",
    ),
    "path": KnobInfo(name="path", summary="what is asked for", kind="text"),
    "objects": KnobInfo(
        name="objects",
        summary="how many of a page's objects are asked for, from the first on",
        kind="integer",
        minimum=0,
        scale="linear",
    ),
    "requests_per_connection": KnobInfo(
        name="requests_per_connection",
        summary="requests on one connection; 0 has no limit, 1 is no keep-alive",
        kind="integer",
        minimum=0,
    ),
    "slow": KnobInfo(
        name="slow", summary="the line of some users, such as 28.8kbit:20%; or none", kind="text"
    ),
    _BUFFER: KnobInfo(
        name=_BUFFER, summary="what a server can send ahead of users on a slow line", kind="text"
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
    """Return the workload with these knobs of the load set.

    Raises:
        UsageError: One of them cannot be that; most of what a load cannot be `load.check` refuses.
    """
    # The buffer last: it is that of a line, which another knob may set.
    for name, value in sorted(values.items(), key=lambda each: each[0] == _BUFFER):
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


def _objects(workload: Workload, _name: str, value: Level) -> Workload:
    n_listed = max((len(step.objects) for step in workload.steps), default=0)
    if not isinstance(value, int) or not 0 <= value <= n_listed:
        raise UsageError(
            f"a page of {value} objects, of which {n_listed} are listed",
            hint="list more `objects` in [[workload.requests]], or set fewer",
        )
    # Requests that nobody asks for now keep their places, by which results name them.
    steps = [msgspec.structs.replace(s, objects=s.objects[:value]) for s in workload.steps]
    return msgspec.structs.replace(workload, steps=tuple(steps))


def _slow(workload: Workload, _name: str, value: Level) -> Workload:
    if value == NO_LINE:
        return msgspec.structs.replace(workload, slow=None)
    slow = slow_users(str(value))
    if workload.slow is not None:
        n_bytes = workload.slow.receive_buffer_bytes
        slow = msgspec.structs.replace(slow, receive_buffer_bytes=n_bytes)
    return msgspec.structs.replace(workload, slow=slow)


def _slow_buffer(workload: Workload, _name: str, value: Level) -> Workload:
    n_bytes = size_bytes(str(value))
    if n_bytes == 0:  # for the engine: as the kernel has it
        raise UsageError(f"`{value}` is no buffer", hint="Give bytes: `4KiB`.")
    if workload.slow is None:
        return workload
    slow = msgspec.structs.replace(workload.slow, receive_buffer_bytes=n_bytes)
    return msgspec.structs.replace(workload, slow=slow)


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
    "objects": _objects,
    "requests_per_connection": _per_connection,
    "slow": _slow,
    _BUFFER: _slow_buffer,
}
