"""Knobs and configurations."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal

import msgspec

from httpdyno.errors import UsageError
from httpdyno.model.base import Level, Record
from httpdyno.model.workload import Workload, slow_users
from httpdyno.model.written import DERIVED
from httpdyno.units import size_bytes

PoolRole = Literal["", "workers", "requests", "connections"]
"""What a knob sets of a pool of processes: how many work, or after how many requests or connections
one is replaced (0: never); empty where none of these."""


class KnobInfo(Record, frozen=True):
    """What a server adapter declares of a setting, once, for CLI, validation and docs."""

    name: str
    summary: str
    """What it does, in one line."""
    kind: Literal["integer", "number", "boolean", "choice", "text"]
    default: Level | None = None
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    source: str = ""
    scale: Literal["linear", "log", "choice"] = "choice"
    """How its levels lie: which one is next to which."""
    cost: Literal["", "live", "reload", "restart"] = ""
    """What it takes to apply it to a running server; empty where nobody looked."""
    effect: Literal["pure", "visible", "memory", "stale", "loss"] = "pure"
    """`pure`: only cost changes. `visible`: clients can see it. `memory`: bounded by memory.
    `stale`: answers may be out of date for a while. `loss`: log lines or data may be lost."""
    risk: str = ""
    """What may go wrong with it, in a sentence."""
    evidence: Literal["said", "seen", "read"] = "read"
    """How it is known what is in force."""
    changes_at_rest: bool = False
    """With it a server changes while nobody asks it anything, and the longer, the more."""
    pool: PoolRole = ""
    """What it sets of a pool of processes."""

    def bare(self) -> "KnobInfo":
        """Return what a knob of any server has, without what the rows of one server add to it."""
        return KnobInfo(**{name: getattr(self, name) for name in KnobInfo.__struct_fields__})

    def check(self, value: Level) -> None:
        """Refuse a value that it cannot have.

        Raises:
            ValueError: With what was expected: `at least 1`.
        """
        if self.kind in {"integer", "number"}:
            self._check_number(value)
        elif self.kind == "boolean":
            if not isinstance(value, bool):
                raise ValueError("true or false")
        elif not isinstance(value, str):
            raise ValueError("text")
        elif self.choices and value not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)}")

    def takes(self, value: Level) -> bool:
        """Whether it can have a value."""
        try:
            self.check(value)
        except ValueError:
            return False
        return True

    def _check_number(self, value: Level) -> None:
        accepted = (int,) if self.kind == "integer" else (int, float)
        if isinstance(value, bool) or not isinstance(value, accepted):
            expected = "a whole number" if self.kind == "integer" else "a number"
            raise ValueError(expected)  # noqa: TRY004 - no wrong call, but a wrong level
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"at least {self.minimum:g}")
        if self.maximum is not None and value > self.maximum:
            raise ValueError(f"at most {self.maximum:g}")


AS_FOUND = "as found"
"""The start of a site's knob that is what its files, or its server, say."""


class Knob(Record, frozen=True):
    """`[[knobs]]`: one tunable setting of a study, in ladder order."""

    name: str
    """A setting that the server knows, or one of the application that templates or variables use.
    Of a site `MEMBER:NAME[@SCOPE]`; what there is only one of may be left out."""
    start: Level = AS_FOUND
    """The value to start from. Of a site it may be left out, or be `as found`."""
    levels: tuple[Level, ...] = ()
    """What is tried, in this order. May be empty where a candidate sets the knob, or of the load.
    """
    title: str = ""
    """What it does, in a few words; of a setting that the server knows there is one already."""
    unit: str = ""
    """Of its numbers, for reports."""
    of: Literal["server", "load"] = "server"
    """`load`: it sets the workload of its side, and the server never hears of it: `connections`,
    `path` (of one request), `objects` (how many of those of one page), `requests_per_connection`,
    `slow` (a line as in `[workload]`, or `none`), `slow_buffer`, `headers.NAME` (empty: none)."""
    why: str = ""
    """Why it is worth trying."""
    cost: Annotated[Literal["", "live", "reload", "restart"], DERIVED] = ""
    """What it takes to apply it to a running server; empty where nobody said."""
    pool: Annotated[PoolRole, DERIVED] = ""
    """What it sets of a pool of processes; empty where nobody said."""
    book_ratio: tuple[float | None, ...] = ()
    """A published throughput ratio of each level, to be shown beside what is found."""


class Configuration(Record, frozen=True):
    """A value for every knob of the study, in the study's order."""

    values: dict[str, Level] = msgspec.field(default_factory=dict)

    def replaced(self, name: str, value: Level) -> "Configuration":
        """Return a copy with one value changed."""
        return Configuration(values={**self.values, name: value})

    def with_values(self, values: Mapping[str, Level]) -> "Configuration":
        """Return a copy with some values changed."""
        return Configuration(values={**self.values, **values})

    def changes(self, other: "Configuration") -> dict[str, tuple[Level, Level]]:
        """Return what differs in `other`, as name → (mine, theirs)."""
        return {
            name: (value, other.values[name])
            for name, value in self.values.items()
            if other.values[name] != value
        }

    def label(self) -> str:
        """Return `name=value, …` for messages and logs."""
        return ", ".join(f"{name}={level_text(value)}" for name, value in self.values.items())


def is_of_words(levels: Iterable[Level]) -> bool:
    """Tell whether levels are words, or true and false: nothing lies between two of them."""
    return any(isinstance(level, bool | str) for level in levels)


def level_text(value: Level) -> str:
    """Return a level as people write it: `true`, not `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


# Knobs of the load instead of the server: what each of them sets in a workload; pure.

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
