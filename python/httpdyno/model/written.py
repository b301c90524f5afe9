"""What a study file holds as text and its record as a number: durations, rates, sizes.

`study/complaint.py` reads fields of these types; to everyone else they are plain numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from msgspec import Meta
from msgspec import inspect as types

from httpdyno.errors import UsageError
from httpdyno.units import duration_s, duration_text, memory_bytes, rate_per_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """How the value of a field stands in a study file."""

    read: Callable[[Any], Any]
    """From what stands there to the value; raises ValueError with what was expected."""
    like: Any = str
    """The type of what stands there."""
    unit: str = ""
    """The end of the field's name that its key has not: `timeout_s` is written `timeout`."""
    text: Callable[[Any], Any] = str
    """From a value back to what stands there."""


def _some_time(text: str) -> float:
    if (seconds := _time(text)) <= 0:
        raise ValueError("expected more than zero")
    return seconds


def _time(text: str) -> float:
    try:
        return duration_s(text)
    except UsageError as error:
        raise ValueError("expected a duration such as `250ms`, `30s`, `3m`") from error


def _rate(text: str) -> float:
    try:
        return rate_per_s(text)
    except UsageError as error:
        raise ValueError("expected a rate above zero, such as `500/s`") from error


def _memory(text: str) -> int:
    try:
        return memory_bytes(text)
    except UsageError as error:
        raise ValueError("expected a size such as `512MiB`") from error


def _some(n: int) -> int:
    if n < 1:
        raise ValueError("expected at least 1")
    return n


def _cpu(cpu: float | str) -> str:
    return cpu if isinstance(cpu, str) else f"{cpu:.6f}".rstrip("0").rstrip(".")


def _lists(names: Mapping[str, str | tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {name: (one,) if isinstance(one, str) else one for name, one in names.items()}


def _meta(written: Written) -> Meta:
    return Meta(extra={"written": written})


Duration = Annotated[float, _meta(Written(read=_some_time, unit="_s", text=duration_text))]
"""Seconds, more than zero; the field's name ends in `_s`."""

DurationOrZero = Annotated[float, _meta(Written(read=_time, unit="_s", text=duration_text))]
"""Seconds; the field's name ends in `_s`."""

Rate = Annotated[float, _meta(Written(read=_rate, unit="_per_s"))]
"""Each second, more than zero; the field's name ends in `_per_s`."""

Count = Annotated[int, _meta(Written(read=_some, like=int, text=lambda n: n or None))]
"""How many; 0 where it is left out, and not to be written."""

Memory = Annotated[int, _meta(Written(read=_memory, unit="_bytes"))]
"""Bytes; the field's name ends in `_bytes`."""

Ratio = Annotated[float, _meta(Written(read=float, like=float, unit="_ratio", text=float))]
"""A share or a difference, 1 for all; the field's name ends in `_ratio`."""

Cpu = Annotated[str, _meta(Written(read=_cpu, like=float | str))]
"""CPU seconds a second: a number, or a template of one."""

Names = Annotated[
    dict[str, tuple[str, ...]],
    _meta(Written(read=_lists, like=dict[str, str | tuple[str, ...]])),
]
"""Name → its addresses, of which one may stand alone."""


DERIVED = Meta(extra={"derived": True})
"""Of a field that no study file has: the program sets it."""


def fields_of(kind: types.StructType) -> tuple[types.Field, ...]:
    """Return the fields that a study file may have, in the order in which they are declared."""
    return tuple(
        field
        for field in kind.fields
        if not (isinstance(field.type, types.Metadata) and "derived" in (field.type.extra or {}))
    )


def written_of(field: types.Field) -> Written | None:
    """Return how the value of a field is written; None where it is written as it is."""
    kinds = field.type.types if isinstance(field.type, types.UnionType) else (field.type,)
    extras = (each.extra or {} for each in kinds if isinstance(each, types.Metadata))
    found: Written | None = next((e["written"] for e in extras if "written" in e), None)
    if found is not None and isinstance(field.type, types.UnionType):
        return replace(found, like=found.like | None)
    return found


def key_of(field: types.Field) -> str:
    """Return what a field is called in a study file."""
    written = written_of(field)
    return field.encode_name.removesuffix(written.unit) if written else field.encode_name
