"""Domain types as the JSON text that is stored, and back.

Infinity is stored as `Infinity`, as Python and SQLite's own JSON functions read it: an interval
that the data bound nothing of must come back as it went in, and msgspec alone writes null.
"""

import json
from typing import TypeVar

import msgspec

from httpdyno.errors import StoreError

R = TypeVar("R", bound=msgspec.Struct)


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
        return msgspec.convert(json.loads(text), kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise _unreadable(what, error) from error


def part_from_text(text: str, kind: type[R], what: str) -> R:
    """Return the fields of a stored record that `kind` has too, for a fraction of the whole's cost.

    Args:
        text: As `to_text` wrote it.
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
