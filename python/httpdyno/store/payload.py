"""Domain types as the JSON text that is stored, and back.

Infinity is stored as `Infinity`, as Python and SQLite's own JSON functions read it: an interval
that the data bound nothing of must come back as it went in, and msgspec alone writes null.
"""

import json
from typing import Any, TypeVar

import msgspec

from httpdyno.errors import StoreError

R = TypeVar("R", bound=msgspec.Struct)

_MAY_BE_OLD = {"plan", "study", "workload", "measurement", "sweep", "points"}
_GONE = {"busy_connection_s"}
"""What measurements had until 0.1, and nobody read: their evidence has it for each second."""


def to_text(record: msgspec.Struct) -> str:
    """Return the record as JSON."""
    return json.dumps(msgspec.to_builtins(record), ensure_ascii=False, separators=(",", ":"))


def from_text(text: str, kind: type[R], what: str) -> R:
    """Return the record that the JSON holds.

    Args:
        text: As `to_text` wrote it.
        kind: The type of the record.
        what: How a message names it: `the plan of run 12`.

    Raises:
        StoreError: It is not such a record.
    """
    try:
        return msgspec.convert(_as_of_today(json.loads(text)), kind)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _unreadable(what, error) from error


def part_from_text(text: str, kind: type[R], what: str) -> R:
    """Return the fields of a stored record that `kind` has too, for a fraction of the whole's cost.

    Args:
        text: As `to_text` wrote it; what earlier versions called otherwise is not found.
        kind: It ignores fields that it does not have.
        what: How a message names it.

    Raises:
        StoreError: Those fields are of another type.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:  # which infinity is, too
        pass
    try:
        return msgspec.convert(json.loads(text), kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise _unreadable(what, error) from error


def _unreadable(what: str, error: Exception) -> StoreError:
    return StoreError(
        f"{what} cannot be read: {error}",
        hint="It was stored by another version of httpdyno; measure it again.",
    )


def _as_of_today(document: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a document that an earlier version stored as this one would have."""
    if isinstance(document, list):
        return [_as_of_today(each) for each in document]
    if not isinstance(document, dict):
        return document
    if "throughput_low_per_s" in document:
        return _point_as_of_today(document)
    if {"keep_alive", "rate_per_s"} <= document.keys():
        return _workload_as_of_today(document)
    # A plan has a workload in its study, an outcome in its plan, and points in its sweep.
    return {
        key: _as_of_today(value) if key in _MAY_BE_OLD else value
        for key, value in document.items()
        if key not in _GONE
    }


def _point_as_of_today(stored: dict[str, Any]) -> dict[str, Any]:
    """Until 0.1 the curve of a sweep was of the throughput and nothing else."""
    point = dict(stored)
    point["low"] = point.pop("throughput_low_per_s")
    point["high"] = point.pop("throughput_high_per_s")
    return point | {"value": point["arm"]["throughput_per_s"]}


def _workload_as_of_today(stored: dict[str, Any]) -> dict[str, Any]:
    """Until 0.1 a workload was closed loop or of one rate, with keep-alive or without."""
    workload = dict(stored)
    if not workload.pop("keep_alive"):
        workload["requests_per_connection"] = 1
    rate_per_s = workload.pop("rate_per_s")
    if rate_per_s is not None:
        workload["arrival"] = {"kind": "constant", "rate_per_s": rate_per_s}
    return workload
