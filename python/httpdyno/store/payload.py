"""Domain types as the JSON text that is stored, and back.

Infinity is stored as `Infinity`, as Python and SQLite's own JSON functions read it: an interval
that the data bound nothing of must come back as it went in, and msgspec alone writes null.
"""

import json
from typing import TypeVar

import msgspec

from httpdyno.errors import StoreError
from httpdyno.model import Record

R = TypeVar("R", bound=Record)


def to_text(record: Record) -> str:
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
    except (ValueError, msgspec.ValidationError) as error:
        raise StoreError(
            f"{what} cannot be read: {error}",
            hint="It was stored by another version of httpdyno; measure it again.",
        ) from error
